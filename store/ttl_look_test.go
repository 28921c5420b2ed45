package store_test

import (
	"context"
	"fmt"
	"strconv"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// expectedVisibleItem is what reads must return of a live item: its _ts and the values "ttl" and "v" of its
// document; 0 means that there is none.
type expectedVisibleItem struct{ ts, ttl, v int64 }

// allReadsVisibilityCheck reads a container by every kind of read. Each must return exactly the items in
// want. keys are the items that are also read one by one.
type allReadsVisibilityCheck struct {
	ctx  context.Context
	c    *store.Container
	keys []metamorphic.ItemKey
	want map[metamorphic.ItemKey]expectedVisibleItem
	got  map[metamorphic.ItemKey]bool // by the way that is under way
}

func lookAt(ctx context.Context, c *store.Container, keys []metamorphic.ItemKey,
	want map[metamorphic.ItemKey]expectedVisibleItem) error {
	l := allReadsVisibilityCheck{ctx: ctx, c: c, keys: keys, want: want}
	for _, way := range []struct {
		name string
		look func() error
	}{{"point reads", l.points}, {"list", l.list}, {"query", l.query}, {"count", l.count}, {"latest feed",
		l.feed}} {
		l.got = make(map[metamorphic.ItemKey]bool, len(want))
		if err := way.look(); err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
	}
	return nil
}

// see records an item that a read has returned, and fails if it is not expected, differs or is returned
// twice.
func (l *allReadsVisibilityCheck) see(body jsondoc.Value, ts int64) error {
	k := metamorphic.ItemKey{ID: body.Member("id").Str(), Partition: body.Member("pk").Str()}
	want, alive := l.want[k]
	switch got := (expectedVisibleItem{ts, int64(body.Member("ttl").Num()), int64(body.Member("v").Num())}); {
	case !alive:
		return fmt.Errorf("%s is dead, and shows as %+v", k, got)
	case got != want:
		return fmt.Errorf("%s shows as %+v, not %+v", k, got, want)
	case l.got[k]:
		return fmt.Errorf("%s shows twice", k)
	}
	l.got[k] = true
	return nil
}

// all fails if the read has not returned all items in want.
func (l *allReadsVisibilityCheck) all() error {
	for k, it := range l.want {
		if !l.got[k] {
			return fmt.Errorf("%s is alive as %+v, and does not show", k, it)
		}
	}
	return nil
}

func (l *allReadsVisibilityCheck) points() error {
	for _, k := range l.keys {
		it, _, err := l.c.Read(l.ctx, pk(k.Partition), k.ID, store.ReadOptions{})
		if err == nil {
			err = l.see(jsondoc.Of(it.Body()), it.Timestamp())
		} else if is(err, fault.CodeNotFound) {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return l.all()
}

func (l *allReadsVisibilityCheck) list() error {
	o := store.ListOptions{MaxItems: -1}
	for {
		page, _, err := l.c.List(l.ctx, o)
		if err != nil {
			return err
		}
		for _, it := range page.Items {
			if err := l.see(jsondoc.Of(it.Body()), it.Timestamp()); err != nil {
				return err
			}
		}
		if o.Continuation = page.Continuation; o.Continuation == "" {
			return l.all()
		}
	}
}

func (l *allReadsVisibilityCheck) query() error {
	for row, err := range l.c.Rows(l.ctx, store.QueryRequest{Text: `SELECT * FROM c WHERE c.v >= 0`}) {
		if err == nil {
			body := jsondoc.Of(row)
			err = l.see(body, int64(body.Member("_ts").Num()))
		}
		if err != nil {
			return err
		}
	}
	return l.all()
}

func (l *allReadsVisibilityCheck) count() error {
	page, _, err := l.c.Query(l.ctx, store.QueryRequest{Text: `SELECT VALUE COUNT(1) FROM c`})
	if want := strconv.Itoa(len(l.want)); err == nil &&
		(len(page.Rows) != 1 || string(page.Rows[0]) != want) {
		err = fmt.Errorf("%s, not %s", page.Rows, want)
	}
	return err
}

func (l *allReadsVisibilityCheck) feed() error {
	req := store.ChangesRequest{MaxItems: -1}
	for {
		page, _, err := l.c.Changes(l.ctx, req)
		if err != nil {
			return err
		}
		if len(page.Changes) == 0 {
			return l.all()
		}
		for _, ch := range page.Changes {
			if err := l.see(jsondoc.Of(ch.Item.Body()), ch.Item.Timestamp()); err != nil {
				return err
			}
		}
		req.Start.After = page.Position
	}
}

func (s *timelineTestFixture) releaseIndexer() {
	if s.release != nil {
		s.release()
		s.release = nil
	}
}
