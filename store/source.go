package store

import (
	"bytes"
	"context"
	"math"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// view runs fn over one snapshot of the container, with the state that it was made under and its moment.
// Where the state has changed until the snapshot exists it begins anew: a state that lets a query rely on an
// index, and documents that are not in that index yet, or not any more, must not meet. Its walks end with
// ctx.
func (c *Container) view(ctx context.Context,
	fn func(st *containerState, now int64, r engine.Reader) error) error {
	return c.viewFor(&work.Stopwatch{Ctx: ctx}, fn)
}

// viewFor is view for walks that end with a stopwatch.
func (c *Container) viewFor(w *work.Stopwatch,
	fn func(st *containerState, now int64, r engine.Reader) error) error {
	first := func(st *containerState) ([]*partition, error) { return st.ranges[:1], nil }
	return c.viewOf(w, first, func(st *containerState, now int64, r engine.Reader,
		_ []engine.Position) error {
		return fn(st, now, r)
	})
}

// viewOf is viewFor of the ranges that pick chooses, with how far each of them has come.
func (c *Container) viewOf(w *work.Stopwatch, pick func(*containerState) ([]*partition, error),
	fn func(st *containerState, now int64, r engine.Reader, at []engine.Position) error) error {
	ctx := w.Ctx
	for {
		st, now, at, err := c.look(ctx)
		if err != nil {
			return err
		}
		ranges, err := pick(st)
		if err != nil && c.outdated(ctx, st) {
			continue
		}
		if err != nil {
			return err
		}
		scopes := make([][]byte, len(ranges))
		for i, s := range ranges {
			scopes[i] = s.scope
		}
		same := true
		err = work.ViewUnder(w, c.ds.eng, func(r engine.Reader) error {
			positions, err := r.Positions(scopes) // it makes the snapshot
			if err != nil {
				return err
			}
			if same = c.gate.Still(at); !same {
				return nil
			}
			for _, p := range positions {
				if err := st.current(p.Mark); err != nil {
					return err
				}
			}
			return fn(st, now, r, positions)
		})
		again := false
		if same {
			again, err = c.refreshed(ctx, err)
		}
		if same && !again {
			return err
		}
	}
}

// source shows a query what lies in one slot, as far as it is in the query's scope.
type source struct {
	c   *Container
	st  *containerState
	s   *partition
	sp  *span
	r   engine.Reader
	now int64
	// watch bounds what is read through r.
	watch *work.Stopwatch

	at      engine.Position // how far the slot has come for this snapshot
	seen    uint64          // the highest LSN that it has told of, where that matters; see DB.settle
	items   engine.Iterator // of Fetch; nil before the first
	entries engine.Iterator // of Value; nil before the first
	fetched row
	key     []byte // scratch
	scratch []byte
	err     error // of an iterator that could not say it itself
}

var (
	_ query.Source  = (*source)(nil)
	_ query.Counter = (*source)(nil)
	_ query.Shapes  = (*source)(nil)
	_ query.Values  = (*source)(nil)
	_ query.Finder  = (*source)(nil)
	_ query.Census  = (*source)(nil)

	_ query.Versioned = (*source)(nil)

	_ query.Partitioned = (*source)(nil)

	_ query.Prefetcher = (*source)(nil)
)

// withSources runs fn with the sources of a scope, one for each partition range in their order, over one
// snapshot. What fn has seen is durable when withSources returns.
func (c *Container) withSources(ctx context.Context, scope Scope, fn func(span, []*source) error) error {
	var sources []*source
	watch := c.ds.pageWatch(ctx)
	var sp span
	pick := func(st *containerState) (_ []*partition, err error) {
		sp, err = c.scope(st, scope)
		return sp.ranges, err
	}
	err := c.viewOf(watch, pick, func(st *containerState, now int64, r engine.Reader,
		at []engine.Position) error {
		sources = make([]*source, len(sp.ranges))
		for i, s := range sp.ranges {
			sources[i] = &source{c: c, st: st, s: s, sp: &sp, r: r, now: now, watch: watch, at: at[i]}
		}
		err := fn(sp, sources)
		for _, src := range sources {
			if cerr := src.close(); err == nil {
				err = cerr
			}
		}
		return err
	})
	for _, src := range sources {
		if err == nil {
			_, err = c.settled(ctx, src.s, src.at, src.seen)
		}
	}
	return classify.ToFault(err)
}

func (s *source) close() error {
	for _, it := range []*engine.Iterator{&s.items, &s.entries} {
		if *it == nil {
			continue
		}
		if err := (*it).Close(); s.err == nil {
			s.err = err
		}
		*it = nil
	}
	return s.err
}

// Index is what the documents are indexed by.
func (s *source) Index() *index.Indexer { return s.st.terms }

// queryTime is the moment of the container's clock, to the fraction of a second that the clock has. Which
// items are alive is a question of whole seconds, which a query asks once.
func (c *Container) queryTime() time.Time { return c.d.clock.Time().UTC() }

// Computed are the container's computed properties.
func (s *source) Computed() []definition.ComputedProperty { return s.st.spec.ComputedProperties }

// row is a document as a query sees it.
type row struct {
	c    *Container
	rid  uint64
	head layout.Header
	body []byte
}

// RID implements query.Document.
func (r *row) RID() uint64 { return r.rid }

// Body implements query.Document.
func (r *row) Body() []byte { return r.body }

// TS is _ts alone, for queries that ask for no other system property.
func (r *row) TS() int64 { return r.head.Life.TS }

// System implements query.Document.
func (r *row) System() jsondoc.System {
	return Item{c: r.c, rid: r.rid, head: r.head}.system()
}

// take fills a row with an item that is alive and in the scope; false where it is not. listed reports that
// the posting of the scope's partition key has led to it.
func (s *source) take(r *row, rid uint64, value []byte, listed bool) (bool, error) {
	h, body, err := layout.DecodeItem(value)
	if err != nil {
		return false, err
	}
	if !s.sp.wants(h.EPK) || s.st.expired(&h, body, s.now) {
		return false, nil
	}
	if s.sp.prefix != nil && !listed && !s.inPartition(h, body) {
		return false, nil
	}
	if s.st.tombstoned(h, func() []byte { return s.c.def.Extract(body).AppendOrdered(nil) }) {
		return false, nil
	}
	r.c, r.rid, r.head, r.body = s.c, rid, h, body
	return true, nil
}

// inPartition reports whether an item has the partition key of the scope, or begins with it: the hash first,
// which is different for nearly all that do not, then the values.
func (s *source) inPartition(h layout.Header, body []byte) bool {
	if !bytes.HasPrefix(h.EPK, s.sp.epk) {
		return false
	}
	s.scratch = s.scratch[:0]
	for _, p := range s.c.def.ParsedPaths()[:s.sp.levels] {
		v := jsondoc.Get(body, p)
		if v.Kind() >= jsondoc.Array {
			v = jsondoc.Value{}
		}
		s.scratch = jsondoc.AppendOrdered(s.scratch, v)
	}
	return bytes.Equal(s.sp.pk, s.scratch)
}

// maxPrefetch is how many documents are brought ahead at a time.
const maxPrefetch = 128

// ahead is what brings keys ahead; nil where the engine is at hand.
func (s *source) ahead() engine.Ahead {
	r := s.r
	if w, ok := r.(work.Watched); ok {
		r = w.Reader
	}
	far, _ := r.(engine.Ahead)
	return far
}

// Prefetches implements query.Prefetcher.
func (s *source) Prefetches() int {
	if s.ahead() != nil {
		return maxPrefetch
	}
	return 0
}

// Prefetch implements query.Prefetcher.
func (s *source) Prefetch(rids []uint64) {
	if far := s.ahead(); far != nil {
		keys := make([][]byte, len(rids))
		for i, rid := range rids {
			keys[i] = layout.AppendSlotKey(nil, s.s.scope, layout.FamilyItem, rid)
		}
		far.Bring(keys)
	}
}

// Fetch implements query.Source.
func (s *source) Fetch(rid uint64) (query.Document, bool, error) {
	if s.items == nil {
		s.items = s.r.Scan(layout.SlotFamily(s.s.scope, layout.FamilyItem), false)
	}
	return s.fetch(s.items, &s.fetched, rid, false)
}

func (s *source) fetch(items engine.Iterator, r *row, rid uint64, listed bool) (query.Document, bool, error) {
	s.key = layout.AppendSlotKey(s.key[:0], s.s.scope, layout.FamilyItem, rid)
	if !items.SeekGE(s.key) || !bytes.Equal(items.Key(), s.key) {
		return nil, false, nil
	}
	ok, err := s.take(r, rid, items.Value(), listed)
	return r, ok, err
}

// Find implements query.Finder.
func (s *source) Find(rid uint64) (query.Document, bool, error) {
	for _, other := range s.st.ranges {
		v, err := s.r.Get(layout.AppendSlotKey(nil, other.scope, layout.FamilyItem, rid))
		if isAbsent(err) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		item, err := s.c.decode(rid, v)
		if err != nil {
			return nil, false, err
		}
		t := tx{st: s.st, now: s.now}
		return &row{c: s.c, rid: rid, head: item.head, body: item.body}, t.live(item), nil
	}
	return nil, false, nil
}

// Scan implements query.Source.
func (s *source) Scan(after uint64) query.Documents { return s.scan(after) }

func (s *source) scan(after uint64) *documents {
	d := &documents{s: s}
	if after == math.MaxUint64 {
		return d
	}
	rg := layout.SlotFamily(s.s.scope, layout.FamilyItem)
	if s.sp.prefix != nil {
		d.posting, _ = s.Partition()
		d.from = after + 1
	} else {
		rg.Start = layout.AppendSlotKey(nil, s.s.scope, layout.FamilyItem, after+1)
	}
	d.items = s.r.Scan(rg, false)
	return d
}
