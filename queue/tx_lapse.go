package queue

import (
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// advance makes the changes of a store that are due: locks lapse and scheduled messages become active. It
// returns the counters afterwards; last is the due time of the last activated message, or 0.
func (w *messageTx) advance(s *inMemoryMessageStoreState) (c layout.MessageStoreCounters, last int64,
	err error) {
	p, err := w.partOf(s)
	if err != nil {
		return c, 0, err
	}
	if p.Next == 0 || p.Next > w.now {
		return p.MessageStoreCounters, 0, nil
	}
	p.dirty, p.Next = true, 0
	if p.e.kind != entity.Topic {
		if err := w.lapseMessages(p); err != nil {
			return c, 0, err
		}
		if err := w.lapseSessions(p); err != nil {
			return c, 0, err
		}
	}
	due, last, err := w.activate(s)
	if err != nil {
		return c, 0, err
	}
	p.Wake(due)
	return p.MessageStoreCounters, last, nil
}

// lapseMessages ends lapsed locks of messages, at most maxLapse.
func (w *messageTx) lapseMessages(p *messageStoreTransactionPart) error {
	var list []host.DeadlineIndexEntry
	next := int64(host.Never)
	it := engine.Expect(w.Scan(engine.Prefix(p.Keys.Family(layout.FamilyLapse)), false), maxLapse+1)
	for next == host.Never && it.Next() {
		e, err := host.ParseEntry(layout.StorePrefixLen+1, it.Key())
		if err != nil {
			it.Close()
			return err
		}
		if e.At > w.now || len(list) == maxLapse {
			next = e.At
			break
		}
		list = append(list, e)
	}
	if err := it.Close(); err != nil {
		return err
	}
	p.Wake(next)
	seqs := make([]int64, len(list))
	for i, e := range list {
		seqs[i] = int64(e.ID)
	}
	w.bringLocks(p, seqs)
	for i, e := range list {
		if w.moved >= maxMoved {
			p.Wake(e.At)
			return nil
		}
		l, ok, err := p.LockOf(w, seqs[i])
		if err == nil && !ok {
			err = p.Corrupt(seqs[i], "has no lock, and is to be unlocked")
		}
		if err == nil {
			err = w.lapseStored(p, seqs[i], &l, l.Until)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lapseSessions ends the locks of sessions whose time is over, at most maxLapse of them. The remaining ones
// are ended by a later call.
func (w *messageTx) lapseSessions(p *messageStoreTransactionPart) error {
	if p.Sub != entity.Main {
		return nil
	}
	var ids []string
	next := int64(host.Never)
	prefix := p.Keys.Family(layout.FamilySessionLapse)
	it := engine.Expect(w.Scan(engine.Prefix(prefix), false), maxLapse+1)
	for next == host.Never && it.Next() {
		if len(it.Key()) < len(prefix)+8 {
			it.Close()
			return fmt.Errorf("%w: key %x", engine.ErrCorrupt, it.Key())
		}
		if at := layout.SeqOf(it.Key()[:len(prefix)+8]); at > w.now || len(ids) == maxLapse {
			next = at
			break
		}
		ids = append(ids, string(it.Value()))
	}
	if err := it.Close(); err != nil {
		return err
	}
	p.Wake(next)
	for _, id := range ids {
		l, ok, err := p.SessionLockOf(w, id)
		if err == nil && !ok {
			err = fmt.Errorf("%w: the session %q of %s has no lock", engine.ErrCorrupt, id, p.Name())
		}
		if err != nil {
			return err
		}
		done, err := w.endSession(p, id, &l, true)
		if err != nil {
			return err
		}
		if !done {
			p.Wake(l.Until)
			return nil
		}
	}
	return nil
}
