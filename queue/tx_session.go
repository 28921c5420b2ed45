package queue

import (
	"encoding/binary"

	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// setOwnState sets the state of the session whose lock a receiver holds.
func (w *messageTx) setOwnState(r *Receiver, state []byte) error {
	if err := w.holdsSession(r.s, r.lock); err != nil {
		return err
	}
	return w.setState(r.s, r.lock.id, state)
}

// setState sets the state of a session. An empty state clears it.
func (w *messageTx) setState(s *inMemoryMessageStoreState, id string, state []byte) error {
	p, err := w.partOf(s)
	if err != nil {
		return err
	}
	p.dirty = true
	key := s.Keys.TextKey(layout.FamilyState, id)
	if len(state) == 0 {
		w.Delete(key)
		return nil
	}
	w.Set(key, append(binary.BigEndian.AppendUint64(nil, uint64(w.now)), state...))
	return nil
}
