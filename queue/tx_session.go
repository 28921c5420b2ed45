package queue

import "encoding/binary"

// setState sets the state of a session; nil clears it.
func (w *work) setState(s *messageStore, id string, state []byte) error {
	p, err := w.in(s)
	if err != nil {
		return err
	}
	p.dirty = true
	key := s.textKey(familyState, id)
	if state == nil {
		w.Delete(key)
		return nil
	}
	w.Set(key, append(binary.BigEndian.AppendUint64(nil, uint64(w.now)), state...))
	return nil
}

// deferMessage sets a message aside for who asks for its number.
func (w *work) deferMessage(p *part, seq int64, h *header) error {
	if h.State == active {
		if err := w.unlink(p, seq, h); err != nil {
			return err
		}
	}
	h.State = deferred
	w.rewrite(p, seq, h)
	return nil
}
