package view

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// SessionState reads the state of a session, or nil if it has none.
func (s *MessageStore) SessionState(r engine.Reader, id string) ([]byte, error) {
	raw, err := r.Get(s.Keys.TextKey(layout.FamilyState, id))
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, state, err := decodeState(raw)
	return bytes.Clone(state), err
}

// decodeState decodes the state of a session and the millisecond in which it was set.
func decodeState(raw []byte) (changed int64, state []byte, err error) {
	if len(raw) < 8 {
		return 0, nil, fmt.Errorf("%w: the state of a session has %d bytes", engine.ErrCorrupt, len(raw))
	}
	return int64(binary.BigEndian.Uint64(raw)), raw[8:], nil
}

// ListSessions returns the ids of the sessions that have active messages or a state, in order. If changed is
// set, it returns only sessions whose state has changed after that time. It skips the first skip sessions
// and returns at most top.
func (s *MessageStore) ListSessions(ctx context.Context, r engine.Reader, changed *time.Time,
	skip, top int) (ids []string, err error) {
	walks := []*sessionIterator{s.walkSessions(r, layout.FamilyState)}
	if changed == nil {
		walks = append(walks, s.walkSessions(r, layout.FamilySession))
		if s.Shared { // locked messages
			walks = append(walks, s.walkSessions(r, layout.FamilyHeld))
		}
	}
	defer func() {
		for _, w := range walks {
			if cerr := w.it.Close(); err == nil {
				err = cerr
			}
		}
	}()
	for looked := 1; len(ids) < top; looked++ {
		if looked%lookEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		id, wanted, found := "", true, false
		for _, w := range walks {
			at, ok, err := w.id()
			if err != nil {
				return nil, err
			}
			if ok && (!found || at < id) {
				id, found = at, true
			}
		}
		if !found {
			break
		}
		if changed != nil {
			at, _, err := decodeState(walks[0].it.Value())
			if err != nil {
				return nil, err
			}
			wanted = time.UnixMilli(at).After(*changed)
		}
		for _, w := range walks {
			w.pass(id)
		}
		switch {
		case !wanted:
		case skip > 0:
			skip--
		default:
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// sessionIterator iterates over the sessions that have keys of one kind (a family), each session once, in
// order.
type sessionIterator struct {
	it     engine.Iterator
	prefix []byte
	more   bool
}

func (s *MessageStore) walkSessions(r engine.Reader, family byte) *sessionIterator {
	w := &sessionIterator{prefix: s.Keys.Family(family)}
	w.it = r.Scan(engine.Prefix(w.prefix), false)
	w.more = w.it.Next()
	return w
}

// id returns the session that the iterator has reached; ok is false at the end.
func (w *sessionIterator) id() (id string, ok bool, err error) {
	if !w.more {
		return "", false, nil
	}
	raw, _, err := jsondoc.DecodeEscaped(bytes.Clone(w.it.Key()[len(w.prefix):]))
	if err != nil {
		return "", false, fmt.Errorf("%w: key %x", engine.ErrCorrupt, w.it.Key())
	}
	return string(raw), true, nil
}

// pass moves the iterator past all keys of the session id.
func (w *sessionIterator) pass(id string) {
	if w.more {
		behind := engine.Prefix(jsondoc.AppendEscaped(w.prefix[:len(w.prefix):len(w.prefix)], []byte(id))).End
		if bytes.Compare(w.it.Key(), behind) < 0 {
			w.more = w.it.SeekGE(behind)
		}
	}
}

// CountActive returns the number of active messages of a session, locked ones included. It counts at most
// most messages.
func (s *MessageStore) CountActive(ctx context.Context, r engine.Reader, id string, most int) (n int,
	err error) {
	if n, err = s.countReady(ctx, r, id, most); err != nil || !s.Shared {
		return n, err
	}
	var keys [][]byte
	it := r.Scan(engine.Prefix(s.Keys.HeldPrefix(id)), false)
	for n+len(keys) < most && it.Next() {
		keys = append(keys, s.Keys.Key(layout.FamilyMessage, layout.SeqOf(it.Key())))
	}
	if err := it.Close(); err != nil {
		return n, err
	}
	return n, engine.GetEach(r, keys, func(_ int, v []byte) (bool, error) {
		h, err := layout.DecodeHeader(v)
		if err == nil && h.State == layout.Active {
			n++
		}
		return true, err
	})
}

// countReady returns the number of active messages of a session that have no stored lock. It counts at most
// most messages.
func (s *MessageStore) countReady(ctx context.Context, r engine.Reader, id string, most int) (n int,
	err error) {
	it := r.Scan(engine.Prefix(s.Keys.SessionPrefix(id)), false)
	for n < most && it.Next() {
		if n++; n%lookEvery == 0 && ctx.Err() != nil {
			err = ctx.Err()
			break
		}
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return n, err
}
