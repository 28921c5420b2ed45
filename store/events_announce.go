package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
)

// announceExpired puts the deaths of items into the log of expiries that the reaper may not purge yet.
func (c *Container) announceExpired(ctx context.Context, st *containerState, s *slot, now int64,
	limit int) (more bool, next int64, err error) {
	l := newLook(st.policy(), s, &s.announcing, now, limit)
	if err := l.take(ctx, c.db.eng); err != nil {
		return false, never, err
	}
	var survivors []candidate
	for items := l.items; len(items) > 0 && err == nil; {
		var judged int
		judged, survivors, err = c.announceBatch(ctx, s, items, survivors)
		items = items[judged:]
	}
	more = l.finish(survivors)
	return more, l.next, err
}

// announceBatch is announceExpired in one transaction. judged is how many candidates it came to; those that
// are alive are appended to survivors.
func (c *Container) announceBatch(ctx context.Context, s *slot, batch, survivors []candidate) (judged int,
	alive []candidate, err error) {
	st, _, err := c.enter(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer c.leave()
	var t tx
	_, err = c.db.eng.Update(ctx, [][]byte{s.scope}, func(txn engine.Txn) error {
		if err := t.begin(txn, c, st, s); err != nil {
			return err
		}
		alive = survivors
		var ghosts []*stored
		var err error
		if judged, ghosts, err = t.judge(batch, &alive); err != nil {
			return err
		}
		for _, g := range ghosts {
			if st.logsExpiryOf(g) && !st.fenced(g.head, func() []byte { return g.pk }) {
				t.announce(g)
			}
		}
		if len(t.expiries) > 0 {
			t.setSwept()
		}
		t.finish()
		t.Relax()
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	t.committed()
	return judged, alive, nil
}
