package eval

import (
	"slices"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/spill"
)

// Grouper collects rows into groups. It returns the groups in the order in which they were found, in the
// order of ORDER BY, or, if each page makes its own groups, in the order of their keys, as in an index.
// Without keys there is one group from the beginning, so that COUNT over no rows is 0.
type Grouper struct {
	Rowset *CompiledSelect
	f      *Frame
	held   *int // in bytes
	Groups []*GroupState
	byKey  map[string]*GroupState
	key    []byte

	Runs    *spill.Sorter // groups that did not fit in memory; nil: all did
	started uint64        // number of groups so far
	record  []byte        // scratch

	Paged   bool   // makes the groups of one page only: those after From and, if bound is set, below bound
	From    []byte // in the form of a cursor
	Bound   string
	Current string // key of the group in the frame
}

// GroupState is one group: its key and the states of its aggregates.
type GroupState struct {
	key     string
	number  uint64 // position in the order in which the groups were found
	spilled bool   // it has been moved to a file
	size    int    // in bytes
	keys    []jsondoc.Value
	State   []lang.AggregateState
}

// NewGrouper returns a grouper of the rows of rs; held counts the bytes that it keeps.
func NewGrouper(rs *CompiledSelect, f *Frame, held *int) *Grouper {
	g := &Grouper{Rowset: rs, f: f, held: held}
	if len(rs.GroupBy) == 0 {
		g.start(nil)
	} else {
		g.byKey = map[string]*GroupState{}
	}
	return g
}

func (g *Grouper) start(keys []jsondoc.Value) *GroupState {
	one := g.empty()
	one.keys, one.number = keys, g.started
	g.started++
	g.Groups = append(g.Groups, one)
	return one
}

// empty returns a new group without rows.
func (g *Grouper) empty() *GroupState {
	one := &GroupState{State: make([]lang.AggregateState, len(g.Rowset.Aggs))}
	for i, a := range g.Rowset.Aggs {
		one.State[i] = lang.NewAggregate(a.Name)
		if sum, ok := one.State[i].(*lang.SumAverageAggregate); ok {
			sum.Lists = g.Runs != nil
		}
	}
	return one
}

// Add adds the row that is in the frame to its group. It returns false if the run has ended.
func (g *Grouper) Add() bool {
	one := g.groupOf()
	if one == nil {
		return true
	}
	for i, a := range g.Rowset.Aggs {
		before := one.State[i].Size()
		one.State[i].Add(a.arg(g.f))
		grown := one.State[i].Size() - before
		one.size += grown
		g.f.Run.Hold(g.held, grown, a.Name)
	}
	g.makeRoom()
	return g.f.Run.Err == nil
}

// groupOf returns the group of the current row, or nil if the group belongs to another page.
func (g *Grouper) groupOf() *GroupState {
	if g.byKey == nil {
		return g.Groups[0]
	}
	g.key = g.key[:0]
	for _, x := range g.Rowset.GroupBy {
		g.key = jsondoc.AppendOrdered(g.key, x(g.f))
	}
	if one, ok := g.byKey[string(g.key)]; ok {
		return one
	}
	if !g.InPage(g.key) {
		return nil
	}
	keys := make([]jsondoc.Value, len(g.Rowset.GroupBy), len(g.Rowset.GroupBy)+1)
	for i, x := range g.Rowset.GroupBy {
		keys[i] = x(g.f).Clone()
	}
	if g.Rowset.carried != nil {
		keys = append(keys, g.Rowset.carried(g.f).Clone())
	}
	return g.Enter(keys)
}

// Enter adds an empty group with the given values of the GROUP BY keys. The encoding of these values must be
// in g.key.
func (g *Grouper) Enter(keys []jsondoc.Value) *GroupState {
	one := g.start(keys)
	one.key, one.size = string(g.key), 2*len(g.key)+2*SetEntry*(1+len(one.State))
	g.f.Run.Hold(g.held, one.size, "GROUP BY")
	g.byKey[one.key] = one
	return one
}

// GroupAt returns the group of a row that has v as its only GROUP BY key, or nil if the group belongs to
// another page. Unlike groupOf it does not read the key from the frame.
func (g *Grouper) GroupAt(v jsondoc.Value) *GroupState {
	g.key = jsondoc.AppendOrdered(g.key[:0], v)
	if one, ok := g.byKey[string(g.key)]; ok {
		return one
	}
	if !g.InPage(g.key) {
		return nil
	}
	return g.Enter([]jsondoc.Value{v.Clone()})
}

// AddValue adds a row to a group that GroupAt has returned. It may be used only if the argument of every
// aggregate of the query is v, or is the same value in all rows.
func (g *Grouper) AddValue(one *GroupState, v jsondoc.Value) {
	for _, state := range one.State {
		before := state.Size()
		if c, ok := state.(*lang.CountAggregate); ok {
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

// CountValues adds n to every COUNT of a group, for n further rows that belong to it. It returns the
// group, or a new part of it if the group has been written to a file.
func (g *Grouper) CountValues(one *GroupState, n int64) *GroupState {
	if one.spilled {
		g.key = append(g.key[:0], one.key...)
		one = g.Enter(one.keys)
	}
	for _, state := range one.State {
		if c, ok := state.(*lang.CountAggregate); ok {
			c.N += n
		}
	}
	return one
}

// Each calls fn for each group, after it has stored the group's keys and aggregate results in the frame, from
// which expressions read them. It stops if fn returns false, and reports whether all groups were visited.
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
		if g.LoadResults(one); !fn() {
			g.Groups = g.Groups[i:]
			return false
		}
	}
	return true
}

// LoadResults makes a group the current one: it stores the group's keys and the results of its aggregates in
// the frame, from which expressions read them.
func (g *Grouper) LoadResults(one *GroupState) {
	g.Current = one.key
	copy(g.f.keys[g.Rowset.firstKey:], one.keys)
	for i, a := range g.Rowset.Aggs {
		g.f.aggs[a.id] = one.State[i].Result()
	}
}

// sort sorts the groups in the order of the query. Groups that are equal in this order stay in the order in
// which they were found.
func (g *Grouper) sort() {
	if len(g.Rowset.order) == 0 {
		return
	}
	keys := make(map[*GroupState][]byte, len(g.Groups))
	for _, one := range g.Groups {
		key := g.orderKey(nil, one)
		keys[one] = key
		g.f.Run.Hold(g.held, len(key)+SetEntry, "ORDER BY")
	}
	slices.SortStableFunc(g.Groups, func(a, b *GroupState) int { return g.f.Run.Compare(keys[a], keys[b]) })
}

// orderKey appends the ORDER BY key of a group.
func (g *Grouper) orderKey(dst []byte, one *GroupState) []byte {
	copy(g.f.keys[g.Rowset.firstKey:], one.keys)
	for i, x := range g.Rowset.order {
		dst = AppendKey(g.Rowset.orderBy[i], dst, OrderedBy(x(g.f)))
	}
	return dst
}
