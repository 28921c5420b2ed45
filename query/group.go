package query

import (
	"slices"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/spill"
)

// grouper gathers rows into groups, in the order in which the groups turn up, or in that of ORDER BY, or,
// where they are a page's, in that of their keys, as an index has them. Without keys there is one group from
// the beginning, so that COUNT over nothing is 0.
type grouper struct {
	rs     *rowset
	f      *frame
	held   *int // bytes
	groups []*bucket
	byKey  map[string]*bucket
	key    []byte

	runs    *spill.Sorter // of groups that did not fit in memory; nil: all do
	started uint64        // groups so far
	record  []byte        // scratch

	paged   bool   // groups of a page: behind from, and below bound if that is set
	from    []byte // as a cursor holds it
	bound   string
	current string // key of the group in the frame
}

type bucket struct {
	key   string
	turn  uint64 // in which it turned up
	gone  bool   // it is in a file
	size  int    // bytes
	keys  []doc.Value
	state []lang.Aggregate
}

func newGrouper(rs *rowset, f *frame, held *int) *grouper {
	g := &grouper{rs: rs, f: f, held: held}
	if len(rs.groupBy) == 0 {
		g.start(nil)
	} else {
		g.byKey = map[string]*bucket{}
	}
	return g
}

func (g *grouper) start(keys []doc.Value) *bucket {
	one := g.empty()
	one.keys, one.turn = keys, g.started
	g.started++
	g.groups = append(g.groups, one)
	return one
}

// empty makes a group of no rows.
func (g *grouper) empty() *bucket {
	one := &bucket{state: make([]lang.Aggregate, len(g.rs.aggs))}
	for i, a := range g.rs.aggs {
		one.state[i] = lang.NewAggregate(a.name)
		if sum, ok := one.state[i].(*lang.Adder); ok {
			sum.Lists = g.runs != nil
		}
	}
	return one
}

// Add adds the row that the frame is at.
func (g *grouper) add() bool {
	one := g.groupOf()
	if one == nil {
		return true
	}
	for i, a := range g.rs.aggs {
		before := one.state[i].Size()
		one.state[i].Add(a.arg(g.f))
		grown := one.state[i].Size() - before
		one.size += grown
		g.f.run.Hold(g.held, grown, a.name)
	}
	g.shed()
	return g.f.run.Err == nil
}

// groupOf returns the group of the row; nil where another page makes it.
func (g *grouper) groupOf() *bucket {
	if g.byKey == nil {
		return g.groups[0]
	}
	g.key = g.key[:0]
	for _, x := range g.rs.groupBy {
		g.key = doc.AppendOrdered(g.key, x(g.f))
	}
	if one, ok := g.byKey[string(g.key)]; ok {
		return one
	}
	if !g.takes(g.key) {
		return nil
	}
	keys := make([]doc.Value, len(g.rs.groupBy), len(g.rs.groupBy)+1)
	for i, x := range g.rs.groupBy {
		keys[i] = x(g.f).Clone()
	}
	if g.rs.carried != nil {
		keys = append(keys, g.rs.carried(g.f).Clone())
	}
	return g.enter(keys)
}

// enter adds a group at the key that was made last.
func (g *grouper) enter(keys []doc.Value) *bucket {
	one := g.start(keys)
	one.key, one.size = string(g.key), 2*len(g.key)+2*setEntry*(1+len(one.state))
	g.f.run.Hold(g.held, one.size, "GROUP BY")
	g.byKey[one.key] = one
	return one
}

// groupAt is groupOf for rows that have a value as the only key, and are not there.
func (g *grouper) groupAt(v doc.Value) *bucket {
	g.key = doc.AppendOrdered(g.key[:0], v)
	if one, ok := g.byKey[string(g.key)]; ok {
		return one
	}
	if !g.takes(g.key) {
		return nil
	}
	return g.enter([]doc.Value{v.Clone()})
}

// addValue adds a row to a group of groupAt: all aggregates are of the value, or of what all rows have.
func (g *grouper) addValue(one *bucket, v doc.Value) {
	for _, state := range one.state {
		before := state.Size()
		if c, ok := state.(*lang.Counter); ok {
			c.N++
		} else {
			state.Add(v)
		}
		grown := state.Size() - before
		one.size += grown
		g.f.run.Hold(g.held, grown, "GROUP BY")
	}
	g.shed()
}

// countValue adds another row with the same value, and returns its group.
func (g *grouper) countValue(one *bucket) *bucket {
	if one.gone {
		g.key = append(g.key[:0], one.key...)
		one = g.enter(one.keys)
	}
	for _, state := range one.state {
		if c, ok := state.(*lang.Counter); ok {
			c.N++
		}
	}
	return one
}

// each puts the results of each group into the frame and calls fn, until that returns false.
func (g *grouper) each(fn func() bool) bool {
	switch {
	case g.runs != nil:
		return g.eachSpilled(fn)
	case g.paged:
		g.sortByKey()
	default:
		g.sort()
	}
	for i, one := range g.groups {
		if g.show(one); !fn() {
			g.groups = g.groups[i:]
			return false
		}
	}
	return true
}

// show puts the results of a group into the frame.
func (g *grouper) show(one *bucket) {
	g.current = one.key
	copy(g.f.keys[g.rs.firstKey:], one.keys)
	for i, a := range g.rs.aggs {
		g.f.aggs[a.id] = one.state[i].Result()
	}
}

// sort puts the groups in the order of the query. Equal ones stay as they turned up.
func (g *grouper) sort() {
	if len(g.rs.order) == 0 {
		return
	}
	keys := make(map[*bucket][]byte, len(g.groups))
	for _, one := range g.groups {
		key := g.orderKey(nil, one)
		keys[one] = key
		g.f.run.Hold(g.held, len(key)+setEntry, "ORDER BY")
	}
	slices.SortStableFunc(g.groups, func(a, b *bucket) int { return g.f.run.Compare(keys[a], keys[b]) })
}

// orderKey appends what a group is ordered by.
func (g *grouper) orderKey(dst []byte, one *bucket) []byte {
	copy(g.f.keys[g.rs.firstKey:], one.keys)
	for i, x := range g.rs.order {
		dst = appendKey(g.rs.orderBy[i], dst, OrderedBy(x(g.f)))
	}
	return dst
}
