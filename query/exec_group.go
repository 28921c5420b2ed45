package query

import (
	"bytes"
	"slices"
	"strings"
)

// maxGroups is how many bytes the groups of one page may take. Where there are more, those with the lowest
// keys are made first, and the others by later pages.
const maxGroups = 32 << 20

// grouped runs the form in which rows are groups, which come in the order of their keys. A page goes through
// all documents and makes the groups behind those of the page before, as many as fit.
func (x *execution) grouped() error {
	rs := x.plan.rows
	held := 0
	g := newGrouper(rs, x.f, &held)
	g.from, g.paged = x.from.key, true
	defer g.close()
	if x.takeLeft(); x.run.err == nil && x.left != nil {
		return x.moreGroups(g)
	}
	done, failed := x.onlyFrom(g)
	if failed != nil {
		return failed
	}
	if !done {
		if feed := x.feed(x.plan.top, rs, &failed); !feed(g.add) || failed != nil {
			return failed
		}
	}
	x.done = bookmark{form: grouping, offset: x.from.offset, limit: x.from.limit, key: x.from.key}
	skip := 0
	more := x.eachGroup(g, func() bool {
		key := cutKey([]byte(g.current))
		switch same := bytes.Equal(key, x.done.key); {
		case same && skip < x.from.rows && x.done.rows < x.from.rows: // an earlier page has given it out
			skip++
			x.done.rows++
			return true
		case same:
			return x.putGroup(key, x.done.rows+1)
		}
		return x.putGroup(key, 1)
	})
	if failed == nil {
		failed = x.run.err
	}
	if x.more = x.more || more && g.bound != ""; x.more && x.from.begun && x.done.rows == x.from.rows &&
		bytes.Equal(x.done.key, x.from.key) {
		// keys that begin alike for longer than a cursor tells them apart
		return &MemoryError{Clause: "GROUP BY", Max: maxGroups}
	}
	return failed
}

// putGroup gives out the row of a group, the rows-th whose key begins so. It is false where the page has
// ended.
func (x *execution) putGroup(key []byte, rows int) bool {
	row, defined := x.plan.rows.project(x.f, x.scratch[:0])
	x.scratch = row[:0]
	switch {
	case x.run.err != nil:
		return false
	case !defined:
	case x.done.offset > 0:
		x.done.offset--
	case x.isFull(row):
		x.more = true
		return false
	default:
		x.addRow(row)
		if x.done.limit > 0 {
			x.done.limit--
		}
	}
	x.done.key, x.done.rows = key, rows
	return x.done.limit != 0
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
	if !g.paged {
		return
	}
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

func (g *grouper) sortByKey() {
	slices.SortFunc(g.groups, func(a, b *bucket) int {
		if !g.f.run.spend(16 + min(len(a.key), len(b.key))) {
			return 0
		}
		return strings.Compare(a.key, b.key)
	})
}
