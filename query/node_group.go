package query

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/syntax"
)

// maxGroups is how many bytes the groups of one page may take. Where there are more, those with the lowest
// keys are made first, and the others by later pages.
const maxGroups = 32 << 20

// groupNode makes groups of rows and aggregates of them, of what indexes say alone where that is enough. In
// the form grouping the groups come in the order of their keys: a page makes those behind the groups of the
// page before, as many as fit. Those that fit in one page may come as they turn up.
type groupNode struct {
	of     *block
	rs     *rowset
	only   *indexOnly  // how an index makes the groups; nil: none does
	counts *textCounts // the same of the index of words
	paged  bool
	byTurn bool // see Plan
}

func (n *groupNode) String() string {
	texts := make([]string, len(n.of.aggs))
	for i, a := range n.of.aggs {
		texts[i] = a.name + "(" + syntax.PrintExpr(a.arg) + ")"
	}
	aggregates := strings.Join(texts, ", ")
	if len(n.of.groupBy) == 0 {
		return "aggregate " + aggregates
	}
	keys := make([]string, len(n.of.groupBy))
	for i, e := range n.of.groupBy {
		keys[i] = syntax.PrintExpr(e)
	}
	text := "group by " + strings.Join(keys, ", ")
	if aggregates != "" {
		text += " with " + aggregates
	}
	for i, k := range n.of.sorted {
		text += []string{", sorted by ", ", "}[min(i, 1)] + syntax.PrintExpr(k.x)
		if k.desc {
			text += " DESC"
		}
	}
	return text
}

func (n *groupNode) run(x *execution, in int, row func() bool) bool {
	if n.paged {
		return n.page(x, in, row)
	}
	g := newGrouper(n.rs, x.f, new(int))
	done, err := n.fromIndex(x, g)
	if err != nil {
		x.run.fail(err)
		return false
	}
	if !done {
		g.close()
		g = newGrouper(n.rs, x.f, new(int))
	}
	defer g.close()
	return (done || x.rowsOf(in, g.add)) && g.each(row)
}

// fromIndex feeds a grouper from indexes alone. It is false where that cannot be done.
func (n *groupNode) fromIndex(x *execution, g *grouper) (done bool, err error) {
	if n.only != nil {
		if done, err = x.onlyFrom(g); done || err != nil {
			return done, err
		}
	}
	if n.counts != nil {
		return x.countTexts(g)
	}
	return false, nil
}

// page makes the groups of one page.
func (n *groupNode) page(x *execution, in int, row func() bool) bool {
	g := newGrouper(n.rs, x.f, new(int))
	g.from, g.paged = x.from.key, true
	defer g.close()
	x.done = bookmark{form: grouping, offset: x.from.offset, limit: x.from.limit, key: x.from.key}
	if x.left != nil {
		x.done.rows = x.from.rows
		return x.moreGroups(g, func() bool { return x.passGroup(g, row) })
	}
	done, err := n.fromIndex(x, g)
	if err != nil {
		x.run.fail(err)
	}
	if err != nil || !done && !x.rowsOf(in, g.add) {
		return false
	}
	if n.byTurn && !x.from.begun && x.eachInTurn(g, row) {
		return x.run.err == nil && x.done.limit != 0
	}
	skip := 0
	more := x.eachGroup(g, func() bool {
		if skip < x.from.rows && x.done.rows < x.from.rows &&
			bytes.Equal(cutKey([]byte(g.current)), x.done.key) {
			skip++
			x.done.rows++ // an earlier page has given it out
			return true
		}
		return x.passGroup(g, row)
	})
	if x.more = x.more || more && g.bound != ""; x.more && x.from.begun && x.done.rows == x.from.rows &&
		bytes.Equal(x.done.key, x.from.key) {
		// keys that begin alike for longer than a cursor tells them apart
		x.run.fail(&MemoryError{Clause: "GROUP BY", Max: maxGroups})
	}
	return more
}

// eachInTurn calls row for the groups as they have turned up. It is false where one page does not have them
// all: then nothing has been given out, and the groups come by their keys, by which pages go on.
func (x *execution) eachInTurn(g *grouper, row func() bool) bool {
	if g.bound != "" || g.runs != nil {
		return false
	}
	before, figures := x.done, x.page.Stats
	for _, one := range g.groups {
		if g.show(one); !row() {
			break
		}
	}
	if x.more {
		x.more, x.done, x.page.Stats, x.page.Rows = false, before, figures, nil
		return false
	}
	return true
}

// passGroup gives out a group and moves the position behind it: the rows-th whose key begins so.
func (x *execution) passGroup(g *grouper, row func() bool) bool {
	if !row() {
		return false
	}
	key := cutKey([]byte(g.current))
	if !bytes.Equal(key, x.done.key) {
		x.done.key, x.done.rows = key, 0
	}
	x.done.rows++
	return true
}

// cutKey is what a cursor holds of the key of a group.
func cutKey(key []byte) []byte { return key[:min(len(key), maxCursorKey)] }

// takes tells whether the page makes the group of a key.
func (g *grouper) takes(key []byte) bool {
	return !g.paged || bytes.Compare(cutKey(key), g.from) >= 0 && (g.bound == "" || string(key) < g.bound)
}

// shed makes room where the groups take too much: it puts them into a file. Where there is none, it leaves
// the upper half of them to a later page.
func (g *grouper) shed() {
	if *g.held <= min(maxGroups, g.f.run.limitHeld()/2) || len(g.groups) < 2 {
		return
	}
	if g.f.run.env.Temp != nil {
		g.spill()
		return
	}
	if g.paged {
		g.halve()
	}
}

// halve leaves the upper half of the groups to a later page.
func (g *grouper) halve() {
	g.sortByKey()
	half := len(g.groups) / 2
	g.bound = g.groups[half].key
	for _, one := range g.groups[half:] {
		*g.held -= one.size
		g.f.run.used -= one.size
		delete(g.byKey, one.key)
	}
	clear(g.groups[half:])
	g.groups = g.groups[:half]
}

// closes tells a walk that comes by the order of keys whether the page makes no group at a value, nor behind
// it. Where the first source has as many groups as a page is made of, the page ends before the next one;
// other sources have groups among those.
func (g *grouper) closes(v doc.Value, most int, first bool) bool {
	if !g.paged || g.bound == "" && (len(g.groups) < most || g.runs != nil) {
		return false
	}
	g.key = doc.AppendOrdered(g.key[:0], v)
	if g.bound == "" && first {
		g.bound = string(g.key)
	} else if g.bound == "" || len(g.groups) >= 2*most {
		g.halve()
	}
	return string(g.key) >= g.bound
}

func (g *grouper) sortByKey() {
	slices.SortFunc(g.groups, func(a, b *bucket) int {
		if !g.f.run.spend(16 + min(len(a.key), len(b.key))) {
			return 0
		}
		return strings.Compare(a.key, b.key)
	})
}
