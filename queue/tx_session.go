package queue

import "github.com/mayflydb/mayfly/queue/internal/layout"
import "encoding/binary"

// setState sets the state of a session; an empty one clears it.
func (w *work) setState(s *messageStore, id string, state []byte) error {
	p, err := w.in(s)
	if err != nil {
		return err
	}
	p.dirty = true
	key := s.keys.TextKey(layout.FamilyState, id)
	if len(state) == 0 {
		w.Delete(key)
		return nil
	}
	w.Set(key, append(binary.BigEndian.AppendUint64(nil, uint64(w.now)), state...))
	return nil
}
