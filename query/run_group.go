package query

import (
	"bytes"
	"github.com/mayflydb/mayfly/query/internal/fault"
)

func (x *execution) runGroup(n *groupNode, in int, row func() bool) bool {
	if n.paged {
		return x.groupPage(n, in, row)
	}
	g := newGrouper(n.rs, x.f, new(int))
	done, err := x.groupsFromIndex(n, g)
	if err != nil {
		x.run.Fail(err)
		return false
	}
	if !done {
		g.close()
		g = newGrouper(n.rs, x.f, new(int))
	}
	defer g.close()
	return (done || x.rowsOf(in, g.add)) && g.each(row)
}

// groupsFromIndex feeds a grouper from indexes alone. It is false where that cannot be done.
func (x *execution) groupsFromIndex(n *groupNode, g *grouper) (done bool, err error) {
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

// groupPage makes the groups of one page.
func (x *execution) groupPage(n *groupNode, in int, row func() bool) bool {
	g := newGrouper(n.rs, x.f, new(int))
	g.from, g.paged = x.from.key, true
	defer g.close()
	x.done = bookmark{form: grouping, offset: x.from.offset, limit: x.from.limit, key: x.from.key}
	if x.spilled != nil {
		x.done.rows = x.from.rows
		return x.moreGroups(g, func() bool { return x.passGroup(g, row) })
	}
	done, err := x.groupsFromIndex(n, g)
	if err != nil {
		x.run.Fail(err)
	}
	if err != nil || !done && !x.rowsOf(in, g.add) {
		return false
	}
	if n.byTurn && !x.from.begun && x.eachInTurn(g, row) {
		return x.run.Err == nil && x.done.limit != 0
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
		x.run.Fail(&fault.MemoryError{Clause: "GROUP BY", Max: maxGroups})
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
