package check

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/internal/view"
)

// Store reports each violated invariant of one store, in the state that r shows. It stops as soon as report
// returns false; stopped reports whether it did. It verifies that the keys of the store correspond one to
// one:
//
//	message (m) <-> body (b)
//	active message <-> an entry for receivers (r, or q), one for the reaper (w or x; no dead letter)
//	scheduled message <-> an entry by its due time (t)
//	session's first active message <-> its head (h); message id (i) <-> the time it was seen (j)
//	message with a stored lock (k) <-> an entry by its end (u), or by its session (y), and none in r, q, w, x
//	session with a stored lock (g) <-> an entry by its end (v)
//
// It also verifies that the counters equal the messages counted. It returns an error only if it cannot read.
func Store(ctx context.Context, r engine.Reader, s *view.MessageStore,
	report func(error) bool) (stopped bool, err error) {
	k := storeChecker{MessageStore: s, ctx: ctx, r: r, report: report}
	err = k.run()
	return k.stopped, err
}

// storeChecker checks the keys of one message store (a queue, a subscription or one of their sub-queues) in
// one snapshot of the engine.
type storeChecker struct {
	*view.MessageStore
	ctx     context.Context
	r       engine.Reader
	report  func(error) bool
	stopped bool

	n       layout.MessageStoreCounters // counted from the messages
	entries map[byte]int64              // the expected number of keys per family
}

func (k *storeChecker) fault(format string, args ...any) {
	if !k.stopped {
		k.stopped = !k.report(fmt.Errorf(k.Name()+": "+format, args...))
	}
}

func (k *storeChecker) run() error {
	want, err := k.ReadCounters(k.r)
	if err != nil {
		return err
	}
	k.entries = map[byte]int64{layout.FamilyCounters: 1}
	err = k.EachHeader(k.ctx, k.r, 0, func(seq int64, h layout.MessageHeader) (bool, error) {
		err := k.message(seq, &h, want)
		return !k.stopped, err
	})
	if err != nil || k.stopped {
		return err
	}
	if want.Active != k.n.Active || want.Scheduled != k.n.Scheduled || want.Bytes != k.n.Bytes {
		k.fault("the counters are %+v, what is there has %+v", want, k.n)
	}
	if err := k.heads(); err != nil {
		return err
	}
	if err := k.ids(want); err != nil {
		return err
	}
	if err := k.sessionLocks(want); err != nil {
		return err
	}
	return k.families()
}

// message checks one message: its header against want, the stored counters, and its body, its lock and the
// keys that exist because of it. It adds the message to the counts that the store must have.
func (k *storeChecker) message(seq int64, h *layout.MessageHeader, want layout.MessageStoreCounters) error {
	if seq < 1 || seq > want.Last {
		k.fault("message %d, and the last number is %d", seq, want.Last)
	}
	if h.Enqueued > want.Latest {
		k.fault("message %d is of %d, and the last moment that is stored is %d", seq, h.Enqueued, want.Latest)
	}
	k.n.Count(h.State, 1)
	k.n.Bytes += h.Size
	k.entries[layout.FamilyMessage]++
	k.entries[layout.FamilyBody]++
	body, err := k.r.Get(k.Keys.Key(layout.FamilyBody, seq))
	switch {
	case errors.Is(err, engine.ErrNotFound):
		k.fault("message %d has no body", seq)
	case err != nil:
		return err
	case int64(len(body)) != h.Size:
		k.fault("the body of message %d has %d bytes, not %d", seq, len(body), h.Size)
	}
	keys := k.keysOf(seq, h)
	l, locked, err := k.LockOf(k.r, seq)
	if err != nil {
		return err
	}
	if locked {
		keys = [][]byte{k.Keys.Key(layout.FamilyLock, seq), k.LockIndex(seq, &l)}
		k.wakes(want, &l)
	}
	for _, key := range keys {
		k.entries[key[layout.StorePrefixLen]]++
		_, err := k.r.Get(key)
		if errors.Is(err, engine.ErrNotFound) {
			k.fault("message %d, in state %d, has no entry %x", seq, h.State, key)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// wakes checks that Counters.Next, the time of the store's next wake-up, is not later than the end of the
// lock. A later wake-up would end the lock too late.
func (k *storeChecker) wakes(want layout.MessageStoreCounters, l *layout.Lock) {
	if !l.Covered && l.Lapses() < host.Never && (want.Next == 0 || want.Next > l.Lapses()) {
		k.fault("a lock lapses at %d, and the next change is due at %d", l.Lapses(), want.Next)
	}
}

// sessionLocks checks that each stored session lock has its index entry by end time, and that the store's
// next wake-up is not later than the end of the lock.
func (k *storeChecker) sessionLocks(want layout.MessageStoreCounters) error {
	prefix := k.Keys.Family(layout.FamilySessionLock)
	it := k.r.Scan(engine.Prefix(prefix), false)
	for it.Next() && k.ctx.Err() == nil && !k.stopped {
		k.entries[layout.FamilySessionLock]++
		k.entries[layout.FamilySessionLapse]++
		id, _, err := jsondoc.DecodeEscaped(bytes.Clone(it.Key()[len(prefix):]))
		var l layout.Lock
		if err == nil {
			l, err = layout.DecodeLock(it.Value())
		}
		if err != nil {
			it.Close()
			return err
		}
		k.wakes(want, &l)
		if v, err := k.r.Get(k.Keys.SessionLapseKey(l.Until, string(id))); err != nil || !bytes.Equal(v, id) {
			k.fault("the lock of the session %q has no entry: %q, %v", id, v, err)
		}
	}
	return it.Close()
}

// keysOf returns the index entries that the stored message with this header must have.
func (k *storeChecker) keysOf(seq int64, h *layout.MessageHeader) [][]byte {
	switch {
	case h.State == layout.Scheduled:
		return [][]byte{k.Keys.MomentKey(layout.FamilyDue, h.Due, seq)}
	case h.State == layout.Active && k.Sub == entity.Main:
		return [][]byte{k.ReadyKey(h.Session, seq), k.ExpiryKey(seq, h)}
	case h.State == layout.Active:
		return [][]byte{k.ReadyKey(h.Session, seq)}
	}
	return nil
}

// heads checks the head entries of a store, one for each session with active messages: each must name the
// session's first active message.
func (k *storeChecker) heads() error {
	prefix := k.Keys.Family(layout.FamilySession)
	it := k.r.Scan(engine.Prefix(prefix), false)
	for more := it.Next(); more && k.ctx.Err() == nil && !k.stopped; {
		id, _, err := jsondoc.DecodeEscaped(bytes.Clone(it.Key()[len(prefix):]))
		if err != nil {
			it.Close()
			return fmt.Errorf("%w: key %x", engine.ErrCorrupt, it.Key())
		}
		k.entries[layout.FamilyHead]++
		head, err := k.r.Get(k.Keys.Key(layout.FamilyHead, layout.SeqOf(it.Key())))
		if err != nil || !bytes.Equal(head, id) {
			k.fault("the session %q has no head %d: %q, %v", id, layout.SeqOf(it.Key()), head, err)
		}
		more = it.SeekGE(engine.Prefix(jsondoc.AppendEscaped(prefix[:len(prefix):len(prefix)], id)).End)
	}
	return it.Close()
}

// ids checks the message ids kept for duplicate detection: each id has an entry by the time it was seen, and
// the reverse.
func (k *storeChecker) ids(want layout.MessageStoreCounters) error {
	prefix := k.Keys.Family(layout.FamilySeenAt)
	it := k.r.Scan(engine.Prefix(prefix), false)
	for it.Next() && k.ctx.Err() == nil && !k.stopped {
		k.entries[layout.FamilySeenAt]++
		k.entries[layout.FamilySeen]++
		e, err := host.ParseEntry(len(prefix), it.Key())
		if err != nil {
			it.Close()
			return err
		}
		if int64(e.ID) > want.Seen || e.At > want.Latest {
			k.fault("the id %q is number %d of %d", it.Value(), e.ID, e.At)
		}
		v, err := k.r.Get(k.Keys.TextKey(layout.FamilySeen, string(it.Value())))
		if err != nil || len(v) != 16 || binary.BigEndian.Uint64(v) != uint64(e.At) ||
			binary.BigEndian.Uint64(v[8:]) != e.ID {
			k.fault("the id %q was seen at %d, number %d: %x, %v", it.Value(), e.At, e.ID, v, err)
		}
	}
	return it.Close()
}

// families checks the number of keys in each family, which is a kind of key. All expected keys have been
// found before, so if the numbers are equal there are no other keys.
func (k *storeChecker) families() error {
	there := make(map[byte]int64)
	it := k.r.Scan(engine.Prefix(k.Keys), false)
	for it.Next() && k.ctx.Err() == nil {
		there[it.Key()[layout.StorePrefixLen]]++
	}
	if err := errors.Join(it.Close(), k.ctx.Err()); err != nil {
		return err
	}
	if k.BySession {
		delete(there, layout.FamilyState) // the state of a session belongs to no message
	}
	delete(there, layout.FamilyAccessed)
	for f, n := range there {
		if n != k.entries[f] {
			k.fault("%d keys in family %c, not %d", n, f, k.entries[f])
		}
	}
	return nil
}

// Strays reports the keys of messages that belong to none of the given stores. It ends if report returns
// false.
func Strays(ctx context.Context, r engine.Reader, stores []*view.MessageStore,
	report func(error) bool) error {
	known := make(map[string]bool)
	for _, s := range stores {
		known[string(s.Keys)] = true
	}
	it := r.Scan(engine.Range{Start: []byte{0x40}, End: []byte{0x80}}, false)
	for more := it.Next(); more && ctx.Err() == nil; {
		key := it.Key()
		switch {
		case len(key) > layout.StorePrefixLen && known[string(key[:layout.StorePrefixLen])]:
			more = it.SeekGE(engine.Prefix(bytes.Clone(key[:layout.StorePrefixLen])).End)
			continue
		case len(key) == layout.StorePrefixLen &&
			(bytes.Equal(key, engine.CeilingKey(key[:layout.StorePrefixLen-1])) ||
				bytes.Equal(key, engine.MarkKey(key[:layout.StorePrefixLen-1]))):
			// This key belongs to the engine. Its scope may have been deleted.
		default:
			if !report(fmt.Errorf("key %x belongs to no message store", key)) {
				return it.Close()
			}
		}
		more = it.Next()
	}
	return errors.Join(it.Close(), ctx.Err())
}
