package store

import (
	"bytes"
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// A clock that is set back would bring back what has died since, where the reaper has not been there yet. So
// it goes no further back than the last death, purged (see marks) or not: the answer does not depend on the
// reaper's pace.

// diedSince is the latest second in which an item died that was alive in second to and is not purged; 0 where
// there is none. The caller holds the container's gate.
func (c *Container) diedSince(ctx context.Context, to int64) (died int64, err error) {
	w := deaths{st: c.state.Load(), to: to, now: c.moment()}
	inherit, due := w.st.policy().Cutoffs(w.now)
	err = c.ds.view(ctx, func(r engine.Reader) (err error) {
		for _, s := range w.st.ranges {
			w.items = r.Scan(layout.SlotFamily(s.scope, layout.FamilyItem), false)
			if !w.st.lives.Settled() {
				err = w.all(ctx)
			} else if err = w.walk(ctx, r, s, layout.FamilyWritten, inherit); err == nil {
				err = w.walk(ctx, r, s, layout.FamilyDeadline, due)
			}
			if cerr := w.items.Close(); err == nil {
				err = cerr
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return w.died, classify.ToFault(err)
}

// deaths looks for the last death between two seconds.
type deaths struct {
	st      *containerState
	to, now int64
	items   engine.Iterator // of the slot
	died    int64
}

// walk looks at the items whose entries in one family lie at or below the cutoff. An old entry may be of a
// late death: a lease keeps an item.
func (w *deaths) walk(ctx context.Context, r engine.Reader, s *partition, family byte, cutoff int64) error {
	prefix := layout.TimePrefix(s.scope, family)
	return host.EachDue(r, prefix, cutoff, func(e host.Entry) (more bool, err error) {
		if err = ctx.Err(); err == nil {
			err = w.judge(s, e.ID)
		}
		return true, err
	})
}

func (w *deaths) judge(s *partition, rid uint64) error {
	key := layout.AppendSlotKey(nil, s.scope, layout.FamilyItem, rid)
	if !w.items.SeekGE(key) || !bytes.Equal(w.items.Key(), key) {
		return engine.ErrCorrupt
	}
	return w.look()
}

// all looks at every item: the index of expiry does not stand by the lives that they have now.
func (w *deaths) all(ctx context.Context) (err error) {
	for err == nil && w.items.Next() {
		if err = ctx.Err(); err == nil {
			err = w.look()
		}
	}
	return err
}

// look judges the item at which items stands.
func (w *deaths) look() error {
	h, body, err := layout.DecodeItem(w.items.Value())
	if err != nil {
		return err
	}
	p, l := w.st.policy(), w.st.lives.Of(&h, body)
	if p.Expired(l, w.now) && !p.Expired(l, w.to) {
		at, _ := p.ExpiresAt(l)
		w.died = max(w.died, min(at, w.now))
	}
	return nil
}
