package queue

import (
	"bytes"
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/internal/view"
)

// messageTx is a transaction on messages. Its methods can be combined: a move is a remove and an insert. Only
// files named tx*.go write keys.
type messageTx struct {
	engine.Txn
	m      *loadedEntities
	now    int64
	moved  int64 // bytes of messages written so far
	parts  []*messageStoreTransactionPart
	scopes []transactionScopeLSN // scopes in use; only if the engine is not shared
	keyBuf []byte                // see key
}

// messageStoreTransactionPart is the part of a transaction that concerns one message store.
type messageStoreTransactionPart struct {
	*inMemoryMessageStoreState
	layout.MessageStoreCounters
	dirty  bool                         // a key of the store was written
	events []inMemoryMessageStoreChange // applied to the store once the transaction is durable
	// unlinked is the set of messages whose lock was ended and that have no index entries; nil: none.
	unlinked map[int64]bool
	// firsts holds the first active message of each session for which it is known; 0: the session has none.
	// nil: none is known.
	firsts map[string]int64
}

// inMemoryMessageStoreChange is a change of a store's state in memory that a transaction makes once it is
// durable.
type inMemoryMessageStoreChange struct {
	kind   inMemoryMessageStoreChangeKind
	seq    int64
	header layout.MessageHeader // of an arrived message
	due    int64
}

// inMemoryMessageStoreChangeKind says what an inMemoryMessageStoreChange changes.
type inMemoryMessageStoreChangeKind uint8

const (
	arrived inMemoryMessageStoreChangeKind = iota // a message has become active
	awaits                                        // a message is scheduled
)

// update runs one transaction on messages in the given engine scopes: those of the queues and topics that fn
// changes. fn may be called more than once, each time with a new messageTx. When update returns, the changes
// are durable, waiting receivers have been woken, and messages that have arrived in forwarding stores have
// been forwarded. Errors are those of fn, and *entity.Error with CodeStorage or CodeCancelled.
func (m *loadedEntities) update(ctx context.Context, scopes [][]byte, fn func(w *messageTx) error,
	ahead ...[]byte) error {
	w, err := m.transact(ctx, scopes, fn, ahead...)
	if err == nil {
		m.forward(ctx, w.sources())
	}
	return err
}

// transact runs fn as one transaction that changes messages in the given engine scopes. Unlike update, it
// does not forward messages that have arrived in entities with ForwardTo.
func (m *loadedEntities) transact(ctx context.Context, scopes [][]byte, fn func(w *messageTx) error,
	ahead ...[]byte) (*messageTx, error) {
	if err := m.gate.Share(ctx); err != nil {
		return nil, wrap(err)
	}
	defer m.gate.Leave()
	var last *messageTx
	run := func(t engine.Txn) error {
		last = m.begin(t)
		if err := m.current(t, scopes); err != nil {
			return err
		}
		if err := fn(last); err != nil {
			return err
		}
		last.finish()
		return nil
	}
	for {
		_, err := m.in.Engine().Update(ctx, scopes, run, ahead...)
		if errors.Is(err, errOutdated) {
			if err = m.refresh(ctx); err == nil {
				continue
			}
		}
		if err != nil && m.shared && entity.ErrorCodeOf(err) == entity.CodeEntityNotFound {
			m.watcher.WakeUp() // another server may have deleted the entity and created it again
		}
		if err != nil {
			return nil, wrap(err)
		}
		break
	}
	last.tell()
	return last, nil
}

// begin returns a messageTx for the engine's transaction t, whose engine scopes must include those of all
// stores that it changes.
func (m *loadedEntities) begin(t engine.Txn) *messageTx {
	t.Enlarge() // for messages of 100 MB
	return &messageTx{Txn: t, m: m, now: m.in.Clock().Millis()}
}

// partOf returns the part of the transaction that concerns a store. It fails with CodeEntityNotFound if the
// store no longer exists.
func (w *messageTx) partOf(s *inMemoryMessageStoreState) (*messageStoreTransactionPart, error) {
	for _, p := range w.parts {
		if p.inMemoryMessageStoreState == s {
			return p, nil
		}
	}
	c, err := w.counters(s)
	if err != nil {
		return nil, err
	}
	if c.Latest > w.now { // the clock of another server is ahead
		w.now = c.Latest
		s.recordTime(w.now)
	}
	p := &messageStoreTransactionPart{inMemoryMessageStoreState: s, MessageStoreCounters: c}
	w.parts = append(w.parts, p)
	return p, nil
}

// setFirst remembers for the rest of the transaction which message is the first active one of a session; 0:
// there is none.
func (p *messageStoreTransactionPart) setFirst(session string, seq int64) {
	if p.firsts == nil {
		p.firsts = make(map[string]int64)
	}
	p.firsts[session] = seq
}

// setUnlinked remembers for the rest of the transaction that a message has no index entries.
func (p *messageStoreTransactionPart) setUnlinked(seq int64) {
	if p.unlinked == nil {
		p.unlinked = make(map[int64]bool)
	}
	p.unlinked[seq] = true
}

// finish writes the counters of all changed stores. If several servers share the engine, it also takes one
// LSN in the engine scope of each.
func (w *messageTx) finish() {
	var last []byte
	for _, p := range w.parts {
		if !p.dirty {
			continue
		}
		if scope := p.e.scope; w.m.shared && !bytes.Equal(scope, last) {
			w.NextLSN(scope)
			last = scope
		}
		p.MessageStoreCounters.Latest = max(p.MessageStoreCounters.Latest, w.now)
		w.Set(p.Keys.Family(layout.FamilyCounters), p.MessageStoreCounters.Encode())
		w.keepCounters(p)
		w.keepScopes()
	}
}

// tell updates the state in memory of the message stores that a transaction has changed, and wakes those that
// wait for changes. It is called when the transaction is durable.
func (w *messageTx) tell() {
	for _, p := range w.parts {
		if p.dirty {
			p.recordTime(w.now)
			p.size.Store(p.Bytes)
			p.scheduled.Store(p.Scheduled)
			p.applyEvents(p.events)
			if w.m.shared {
				p.noteCounters(&p.MessageStoreCounters)
			}
			p.e.changes.Notify()
			p.e.m.q.changes.Notify()
		}
	}
}

// createStores writes the counters of an entity's stores. A store exists as long as its counters do.
func createStores(t engine.Txn, number uint32, kind entity.Kind) {
	for _, sub := range storesOf(kind) {
		t.Set(layout.MessageStoreKeysOf(number, sub).Family(layout.FamilyCounters),
			(&layout.MessageStoreCounters{}).Encode())
	}
}

// dropStores deletes all keys of an entity's stores.
func dropStores(t engine.Txn, number uint32) {
	t.DeleteRange(engine.Prefix(layout.EntityPrefix(number)))
}

// put stores a message under a sequence number, with its index entries.
func (w *messageTx) put(p *messageStoreTransactionPart, seq int64, h *layout.MessageHeader,
	body []byte) error {
	h.Size = int64(len(body))
	w.Set(w.key(p, layout.FamilyBody, seq), body)
	w.moved += h.Size
	p.Bytes += h.Size
	p.Count(h.State, 1)
	p.Last = max(p.Last, seq)
	w.rewrite(p, seq, h)
	switch h.State {
	case layout.Active:
		return w.link(p, seq, h)
	case layout.Scheduled:
		w.Set(p.Keys.MomentKey(layout.FamilyDue, h.Due, seq), nil)
		if w.m.shared {
			p.Wake(h.Due)
		}
		p.events = append(p.events, inMemoryMessageStoreChange{kind: awaits, due: h.Due})
	}
	return nil
}

// key returns the key of a family for the message seq of a store of messages. It is valid until the next call
// of key.
func (w *messageTx) key(p *messageStoreTransactionPart, family byte, seq int64) []byte {
	w.keyBuf = p.Keys.AppendKey(w.keyBuf[:0], family, seq)
	return w.keyBuf
}

// rewrite stores a message's header without changing its index entries.
func (w *messageTx) rewrite(p *messageStoreTransactionPart, seq int64, h *layout.MessageHeader) {
	p.dirty = true
	w.Set(w.key(p, layout.FamilyMessage, seq), h.Encode())
}

// take removes a message and its index entries.
func (w *messageTx) take(p *messageStoreTransactionPart, seq int64, h *layout.MessageHeader) error {
	p.dirty = true
	w.Delete(w.key(p, layout.FamilyBody, seq))
	w.Delete(w.key(p, layout.FamilyMessage, seq))
	p.Bytes -= h.Size
	p.Count(h.State, -1)
	switch h.State {
	case layout.Active:
		return w.unlink(p, seq, h)
	case layout.Scheduled:
		w.Delete(p.Keys.MomentKey(layout.FamilyDue, h.Due, seq))
	}
	return nil
}

// link writes the index entries of an active message: the one for receivers, the one for the reaper and, if
// the message is now the first one of its session, that of the session's head. A message can become the first
// one before others only if it was locked until now.
func (w *messageTx) link(p *messageStoreTransactionPart, seq int64, h *layout.MessageHeader) error {
	if p.BySession {
		first, known := p.firsts[h.Session]
		if !known {
			var err error
			if first, err = view.FirstOf(w, p.ReadyPrefix(h.Session), 0); err != nil {
				return err
			}
		}
		if p.setFirst(h.Session, first); first == 0 || seq < first {
			w.Set(p.Keys.Key(layout.FamilyHead, seq), []byte(h.Session))
			p.setFirst(h.Session, seq)
		}
		if seq < first {
			w.Delete(p.Keys.Key(layout.FamilyHead, first))
		}
	}
	delete(p.unlinked, seq)
	w.Set(p.ReadyKey(h.Session, seq), nil)
	if p.Sub == entity.Main {
		w.Set(p.ExpiryKey(seq, h), nil)
	}
	p.events = append(p.events, inMemoryMessageStoreChange{kind: arrived, seq: seq, header: *h})
	return nil
}

// unlink deletes the index entries of an active message, by which receivers and the reaper find it. The
// message itself remains.
func (w *messageTx) unlink(p *messageStoreTransactionPart, seq int64, h *layout.MessageHeader) error {
	if p.unlinked[seq] {
		return nil
	}
	delete(p.firsts, h.Session)
	w.Delete(p.ReadyKey(h.Session, seq))
	if p.Sub == entity.Main {
		w.Delete(p.ExpiryKey(seq, h))
	}
	if !p.BySession {
		return nil
	}
	head := p.Keys.Key(layout.FamilyHead, seq)
	if _, err := w.Get(head); errors.Is(err, engine.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	w.Delete(head)
	next, err := view.FirstOf(w, p.ReadyPrefix(h.Session), seq)
	if err == nil && next > 0 {
		w.Set(p.Keys.Key(layout.FamilyHead, next), []byte(h.Session))
	}
	return err
}

// unlinkAll deletes the index entries of several active messages of one store, for a receive. It then looks
// for the new first message of each session concerned, once per session, while unlink does so after each
// message.
func (w *messageTx) unlinkAll(p *messageStoreTransactionPart, list []storedMessage) error {
	ids := make(map[string]bool)
	for i := range list {
		h := &list[i].MessageHeader
		if h.State != layout.Active {
			continue
		}
		w.Delete(p.ReadyKey(h.Session, list[i].seq))
		if p.Sub == entity.Main {
			w.Delete(p.ExpiryKey(list[i].seq, h))
		}
		if p.BySession {
			w.Delete(p.Keys.Key(layout.FamilyHead, list[i].seq))
			ids[h.Session] = true
		}
		p.setUnlinked(list[i].seq)
	}
	for id := range ids {
		first, err := view.FirstOf(w, p.ReadyPrefix(id), 0)
		if err != nil {
			return err
		}
		if p.setFirst(id, first); first > 0 {
			w.Set(p.Keys.Key(layout.FamilyHead, first), []byte(id))
		}
	}
	return nil
}
