package eval

import (
	"slices"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/spill"
)

// Grouper gathers rows into groups, in the order in which the groups turn up, or in that of ORDER BY, or,
// where they are a page's, in that of their keys, as an index has them. Without keys there is one group from
// the beginning, so that COUNT over nothing is 0.
type Grouper struct {
	Rs     *Rowset
	f      *Frame
	held   *int // bytes
	Groups []*Bucket
	byKey  map[string]*Bucket
	key    []byte

	Runs    *spill.Sorter // of groups that did not fit in memory; nil: all do
	started uint64        // groups so far
	record  []byte        // scratch

	Paged   bool   // groups of a page: behind from, and below bound if that is set
	From    []byte // as a cursor holds it
	Bound   string
	Current string // key of the group in the frame
}

// Bucket is one group: its key and the states of its aggregates.
type Bucket struct {
	key   string
	turn  uint64 // in which it turned up
	gone  bool   // it is in a file
	size  int    // bytes
	keys  []jsondoc.Value
	State []lang.Aggregate
}

// NewGrouper returns a grouper of the rows of rs; held counts the bytes that it keeps.
func NewGrouper(rs *Rowset, f *Frame, held *int) *Grouper {
	g := &Grouper{Rs: rs, f: f, held: held}
	if len(rs.GroupBy) == 0 {
		g.start(nil)
	} else {
		g.byKey = map[string]*Bucket{}
	}
	return g
}

func (g *Grouper) start(keys []jsondoc.Value) *Bucket {
	one := g.empty()
	one.keys, one.turn = keys, g.started
	g.started++
	g.Groups = append(g.Groups, one)
	return one
}

// empty makes a group of no rows.
func (g *Grouper) empty() *Bucket {
	one := &Bucket{State: make([]lang.Aggregate, len(g.Rs.Aggs))}
	for i, a := range g.Rs.Aggs {
		one.State[i] = lang.NewAggregate(a.Name)
		if sum, ok := one.State[i].(*lang.Adder); ok {
			sum.Lists = g.Runs != nil
		}
	}
	return one
}

// Add adds the row that the frame is at.
func (g *Grouper) Add() bool {
	one := g.groupOf()
	if one == nil {
		return true
	}
	for i, a := range g.Rs.Aggs {
		before := one.State[i].Size()
		one.State[i].Add(a.arg(g.f))
		grown := one.State[i].Size() - before
		one.size += grown
		g.f.Run.Hold(g.held, grown, a.Name)
	}
	g.makeRoom()
	return g.f.Run.Err == nil
}

// groupOf returns the group of the row; nil where another page makes it.
func (g *Grouper) groupOf() *Bucket {
	if g.byKey == nil {
		return g.Groups[0]
	}
	g.key = g.key[:0]
	for _, x := range g.Rs.GroupBy {
		g.key = jsondoc.AppendOrdered(g.key, x(g.f))
	}
	if one, ok := g.byKey[string(g.key)]; ok {
		return one
	}
	if !g.Takes(g.key) {
		return nil
	}
	keys := make([]jsondoc.Value, len(g.Rs.GroupBy), len(g.Rs.GroupBy)+1)
	for i, x := range g.Rs.GroupBy {
		keys[i] = x(g.f).Clone()
	}
	if g.Rs.carried != nil {
		keys = append(keys, g.Rs.carried(g.f).Clone())
	}
	return g.Enter(keys)
}

// Enter adds a group at the key that was made last.
func (g *Grouper) Enter(keys []jsondoc.Value) *Bucket {
	one := g.start(keys)
	one.key, one.size = string(g.key), 2*len(g.key)+2*SetEntry*(1+len(one.State))
	g.f.Run.Hold(g.held, one.size, "GROUP BY")
	g.byKey[one.key] = one
	return one
}

// GroupAt is groupOf for rows that have a value as the only key, and are not there.
func (g *Grouper) GroupAt(v jsondoc.Value) *Bucket {
	g.key = jsondoc.AppendOrdered(g.key[:0], v)
	if one, ok := g.byKey[string(g.key)]; ok {
		return one
	}
	if !g.Takes(g.key) {
		return nil
	}
	return g.Enter([]jsondoc.Value{v.Clone()})
}

// AddValue adds a row to a group of GroupAt: all aggregates are of the value, or of what all rows have.
func (g *Grouper) AddValue(one *Bucket, v jsondoc.Value) {
	for _, state := range one.State {
		before := state.Size()
		if c, ok := state.(*lang.Counter); ok {
			c.N++
		} else {
			state.Add(v)
		}
		grown := state.Size() - before
		one.size += grown
		g.f.Run.Hold(g.held, grown, "GROUP BY")
	}
	g.makeRoom()
}

// CountValue adds another row with the same value, and returns its group.
func (g *Grouper) CountValue(one *Bucket) *Bucket {
	if one.gone {
		g.key = append(g.key[:0], one.key...)
		one = g.Enter(one.keys)
	}
	for _, state := range one.State {
		if c, ok := state.(*lang.Counter); ok {
			c.N++
		}
	}
	return one
}

// Each puts the results of each group into the frame and calls fn, until that returns false.
func (g *Grouper) Each(fn func() bool) bool {
	switch {
	case g.Runs != nil:
		return g.eachSpilled(fn)
	case g.Paged:
		g.sortByKey()
	default:
		g.sort()
	}
	for i, one := range g.Groups {
		if g.Show(one); !fn() {
			g.Groups = g.Groups[i:]
			return false
		}
	}
	return true
}

// Show puts the results of a group into the frame.
func (g *Grouper) Show(one *Bucket) {
	g.Current = one.key
	copy(g.f.keys[g.Rs.firstKey:], one.keys)
	for i, a := range g.Rs.Aggs {
		g.f.aggs[a.id] = one.State[i].Result()
	}
}

// sort puts the groups in the order of the query. Equal ones stay as they turned up.
func (g *Grouper) sort() {
	if len(g.Rs.order) == 0 {
		return
	}
	keys := make(map[*Bucket][]byte, len(g.Groups))
	for _, one := range g.Groups {
		key := g.orderKey(nil, one)
		keys[one] = key
		g.f.Run.Hold(g.held, len(key)+SetEntry, "ORDER BY")
	}
	slices.SortStableFunc(g.Groups, func(a, b *Bucket) int { return g.f.Run.Compare(keys[a], keys[b]) })
}

// OrderKey appends what a group is ordered by.
func (g *Grouper) orderKey(dst []byte, one *Bucket) []byte {
	copy(g.f.keys[g.Rs.firstKey:], one.keys)
	for i, x := range g.Rs.order {
		dst = AppendKey(g.Rs.orderBy[i], dst, OrderedBy(x(g.f)))
	}
	return dst
}
