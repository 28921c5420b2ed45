package queue

import (
	"bytes"
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// work is a transaction on messages. Its methods compose: a move is a remove and an insert. Only files named
// tx*.go write keys.
type work struct {
	engine.Txn
	m     *dataset
	now   int64
	moved int64 // bytes of messages that it has written
	parts []*part
}

// part is the share of a transaction that concerns one message store.
type part struct {
	*messageStore
	layout.Counters
	dirty  bool    // something was written
	events []event // for those who wait, once it is durable
}

// event is something that a store is told when the work is durable.
type event struct {
	kind   eventKind
	seq    int64
	header layout.Header // of what has arrived
	due    int64
}

type eventKind uint8

const (
	arrived eventKind = iota // an active message
	awaits                   // a message is due at a moment
)

// update runs one transaction over messages in scopes. fn may run more than once, each time with new work.
// When it returns all is durable, and those have been woken who wait for what has arrived. Errors are fn's,
// and an *Error of CodeStorage or CodeCancelled.
func (m *dataset) update(ctx context.Context, scopes [][]byte, fn func(w *work) error) error {
	w, err := m.transact(ctx, scopes, fn)
	if err == nil {
		m.forward(ctx, w.sources())
	}
	return err
}

// transact is update that leaves what has arrived where it is, whether that forwards it or not.
func (m *dataset) transact(ctx context.Context, scopes [][]byte, fn func(w *work) error) (*work, error) {
	if err := m.gate.Share(ctx); err != nil {
		return nil, wrap(err)
	}
	defer m.gate.Leave()
	var last *work
	_, err := m.in.Engine().Update(ctx, scopes, func(t engine.Txn) error {
		last = m.begin(t)
		if err := fn(last); err != nil {
			return err
		}
		last.finish()
		return nil
	})
	if err != nil {
		return nil, wrap(err)
	}
	last.tell()
	return last, nil
}

// begin begins work in a transaction, which is over the scopes of all stores that it concerns.
func (m *dataset) begin(t engine.Txn) *work {
	t.Enlarge() // for messages of 100 MB
	return &work{Txn: t, m: m, now: m.in.Clock().Millis()}
}

// in is the work's part in a store: CodeEntityNotFound where that is gone.
func (w *work) in(s *messageStore) (*part, error) {
	for _, p := range w.parts {
		if p.messageStore == s {
			return p, nil
		}
	}
	c, err := s.read(w)
	if err != nil {
		return nil, err
	}
	p := &part{messageStore: s, Counters: c}
	w.parts = append(w.parts, p)
	return p, nil
}

// finish stores the counters of all stores that the work has changed, and takes one LSN of each scope for
// that.
func (w *work) finish() {
	var last []byte
	for _, p := range w.parts {
		if p.dirty {
			if scope := p.e.scope; !bytes.Equal(scope, last) {
				w.NextLSN(scope)
				last = scope
			}
			p.Counters.Latest = max(p.Counters.Latest, w.now)
			w.Set(p.keys.Family(layout.FamilyCounters), p.Counters.Encode())
		}
	}
}

// tell tells the stores what has happened.
func (w *work) tell() {
	for _, p := range w.parts {
		if p.dirty {
			p.date(w.now)
			p.size.Store(p.Bytes)
			p.applyEvents(p.events)
			p.e.changes.Notify()
		}
	}
}

// read reads the counters of the store: CodeEntityNotFound where it is gone.
func (s *messageStore) read(r engine.Reader) (c layout.Counters, err error) {
	v, err := r.Get(s.keys.Family(layout.FamilyCounters))
	if errors.Is(err, engine.ErrNotFound) {
		return c, s.notFound()
	}
	if err != nil {
		return c, err
	}
	return layout.DecodeCounters(v)
}

// createStores writes the counters of an entity's stores: a store is there as long as they are.
func createStores(t engine.Txn, number uint32, kind entity.Kind) {
	for _, sub := range storesOf(kind) {
		t.Set(layout.StoreKeysOf(number, sub).Family(layout.FamilyCounters), (&layout.Counters{}).Encode())
	}
}

// dropStores deletes all that lies in an entity's stores.
func dropStores(t engine.Txn, number uint32) {
	t.DeleteRange(engine.Prefix(layout.EntityPrefix(number)))
}

// header reads the header of a message; ok is false where there is none.
func (s *messageStore) header(r engine.Reader, seq int64) (h layout.Header, ok bool, err error) {
	v, err := r.Get(s.keys.Key(layout.FamilyMessage, seq))
	if errors.Is(err, engine.ErrNotFound) {
		return h, false, nil
	}
	if err == nil {
		h, err = layout.DecodeHeader(v)
	}
	return h, err == nil, err
}

// put stores a message under a number, with all its entries.
func (w *work) put(p *part, seq int64, h *layout.Header, body []byte) error {
	h.Size = int64(len(body))
	w.Set(p.keys.Key(layout.FamilyBody, seq), body)
	w.moved += h.Size
	p.Bytes += h.Size
	p.Count(h.State, 1)
	p.Last = max(p.Last, seq)
	w.rewrite(p, seq, h)
	switch h.State {
	case layout.Active:
		return w.link(p, seq, h)
	case layout.Scheduled:
		w.Set(p.keys.MomentKey(layout.FamilyDue, h.Due, seq), nil)
		p.events = append(p.events, event{kind: awaits, due: h.Due})
	}
	return nil
}

// rewrite stores a message's header. Its entries stay what they are.
func (w *work) rewrite(p *part, seq int64, h *layout.Header) {
	p.dirty = true
	w.Set(p.keys.Key(layout.FamilyMessage, seq), h.Encode())
}

// take deletes a message and its entries.
func (w *work) take(p *part, seq int64, h *layout.Header) error {
	p.dirty = true
	w.Delete(p.keys.Key(layout.FamilyBody, seq))
	w.Delete(p.keys.Key(layout.FamilyMessage, seq))
	p.Bytes -= h.Size
	p.Count(h.State, -1)
	switch h.State {
	case layout.Active:
		return w.unlink(p, seq, h)
	case layout.Scheduled:
		w.Delete(p.keys.MomentKey(layout.FamilyDue, h.Due, seq))
	}
	return nil
}

// link makes the entries of an active message: what receivers walk along, and what the reaper does. In a
// session no message arrives before another one.
func (w *work) link(p *part, seq int64, h *layout.Header) error {
	if p.bySession() {
		first, err := firstOf(w, p.readyPrefix(h.Session), 0)
		if err != nil {
			return err
		}
		if first == 0 {
			w.Set(p.keys.Key(layout.FamilyHead, seq), []byte(h.Session))
		}
	}
	w.Set(p.readyKey(h.Session, seq), nil)
	if p.sub == entity.Main {
		w.Set(p.expiryKey(seq, h), nil)
	}
	p.events = append(p.events, event{kind: arrived, seq: seq, header: *h})
	return nil
}

// unlink deletes them.
func (w *work) unlink(p *part, seq int64, h *layout.Header) error {
	w.Delete(p.readyKey(h.Session, seq))
	if p.sub == entity.Main {
		w.Delete(p.expiryKey(seq, h))
	}
	if !p.bySession() {
		return nil
	}
	head := p.keys.Key(layout.FamilyHead, seq)
	if _, err := w.Get(head); errors.Is(err, engine.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	w.Delete(head)
	next, err := firstOf(w, p.readyPrefix(h.Session), seq)
	if err == nil && next > 0 {
		w.Set(p.keys.Key(layout.FamilyHead, next), []byte(h.Session))
	}
	return err
}

// expiryKey is a message's entry in the order of deadlines, or of the moments in which they were enqueued.
func (s *messageStore) expiryKey(seq int64, h *layout.Header) []byte {
	if h.TTL == layout.NoTTL {
		return s.keys.MomentKey(layout.FamilyEnqueued, h.Enqueued, seq)
	}
	return s.keys.MomentKey(layout.FamilyDeadline, h.Deadline(host.Never), seq)
}

// firstOf is the first number from one on among the keys below a prefix; 0: none.
func firstOf(r engine.Reader, prefix []byte, from int64) (seq int64, err error) {
	rg := engine.Prefix(prefix)
	rg.Start = layout.AppendSeq(prefix, from)
	it := engine.Expect(r.Scan(rg, false), 1)
	if it.Next() {
		seq = layout.SeqOf(it.Key())
	}
	return seq, it.Close()
}
