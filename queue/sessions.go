package queue

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// Sessions returns the ids of the sessions that have active messages or a state, in order. If changed is
// set, it returns only sessions whose state has changed after that time. It skips the first skip sessions
// and returns at most top.
func (q *Queues) Sessions(ctx context.Context, a entity.Address, changed *time.Time,
	skip, top int) (ids []string, err error) {
	s, err := q.store(ctx, a)
	if err != nil {
		return nil, err
	}
	if err := s.readable(); err != nil {
		return nil, err
	}
	if !s.bySession() {
		return nil, s.notAllowed("The entity does not require sessions.")
	}
	s.e.recordUse(s.now())
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) (err error) {
		ids, err = s.listSessions(ctx, r, changed, skip, top)
		return err
	})
	if err == nil {
		err = s.e.m.in.Engine().Settle(ctx, s.e.scope, 0)
	}
	return ids, wrap(err)
}

func (s *messageStore) listSessions(ctx context.Context, r engine.Reader, changed *time.Time,
	skip, top int) (ids []string, err error) {
	walks := []*sessionWalk{s.walkSessions(r, layout.FamilyState)}
	if changed == nil {
		walks = append(walks, s.walkSessions(r, layout.FamilySession))
		if s.e.m.shared { // locked messages
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
		if looked%maxLook == 0 && ctx.Err() != nil {
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
			wanted = moment(at).After(*changed)
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

// sessionWalk iterates over the sessions that have keys in a family, each once, in order.
type sessionWalk struct {
	it     engine.Iterator
	prefix []byte
	more   bool
}

func (s *messageStore) walkSessions(r engine.Reader, family byte) *sessionWalk {
	w := &sessionWalk{prefix: s.keys.Family(family)}
	w.it = r.Scan(engine.Prefix(w.prefix), false)
	w.more = w.it.Next()
	return w
}

// id returns the session at the current position; ok is false at the end.
func (w *sessionWalk) id() (id string, ok bool, err error) {
	if !w.more {
		return "", false, nil
	}
	raw, _, err := jsondoc.DecodeEscaped(bytes.Clone(w.it.Key()[len(w.prefix):]))
	if err != nil {
		return "", false, fmt.Errorf("%w: key %x", engine.ErrCorrupt, w.it.Key())
	}
	return string(raw), true, nil
}

// pass moves the walk behind a session.
func (w *sessionWalk) pass(id string) {
	if w.more {
		behind := engine.Prefix(jsondoc.AppendEscaped(w.prefix[:len(w.prefix):len(w.prefix)], []byte(id))).End
		if bytes.Compare(w.it.Key(), behind) < 0 {
			w.more = w.it.SeekGE(behind)
		}
	}
}
