package exec

import (
	"bytes"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
)

func (x *Execution) runGroup(n *plan.GroupNode, in int, row func() bool) bool {
	if n.Paged {
		return x.groupPage(n, in, row)
	}
	g := eval.NewGrouper(n.Rowset, x.f, new(int))
	done, err := x.groupsFromIndex(n, g)
	if err != nil {
		x.Run.Fail(err)
		return false
	}
	if !done {
		g.Close()
		g = eval.NewGrouper(n.Rowset, x.f, new(int))
	}
	defer g.Close()
	return (done || x.rowsOf(in, g.Add)) && g.Each(row)
}

// groupsFromIndex computes the groups or aggregates of n from the indexes alone, without reading documents.
// done is false if that is not possible, or if reading the documents is cheaper.
func (x *Execution) groupsFromIndex(n *plan.GroupNode, g *eval.Grouper) (done bool, err error) {
	if n.IndexOnly != nil {
		if done, err = x.onlyFrom(g); done || err != nil {
			return done, err
		}
	}
	if n.Counts != nil {
		return x.countTexts(g)
	}
	return false, nil
}

// groupPage makes the groups of one page from the rows of the plan node with the index in, and calls row
// for each group. It returns false if the page has ended, or the run has failed.
func (x *Execution) groupPage(n *plan.GroupNode, in int, row func() bool) bool {
	g := eval.NewGrouper(n.Rowset, x.f, new(int))
	g.From, g.Paged = x.from.Key, true
	defer g.Close()
	x.done = cursor.PagePosition{Form: cursor.Grouping, Offset: x.from.Offset, Limit: x.from.Limit,
		Key: x.from.Key}
	if x.spilled != nil {
		x.done.Rows = x.from.Rows
		return x.moreGroups(g, func() bool { return x.passGroup(g, row) })
	}
	done, err := x.groupsFromIndex(n, g)
	if err != nil {
		x.Run.Fail(err)
	}
	if err != nil || !done && !x.rowsOf(in, g.Add) {
		return false
	}
	if n.ByTurn && !x.from.Begun && x.eachInTurn(g, row) {
		return x.Run.Err == nil && x.done.Limit != 0
	}
	skip := 0
	more := x.eachGroup(g, func() bool {
		if skip < x.from.Rows && x.done.Rows < x.from.Rows &&
			bytes.Equal(eval.CutKey([]byte(g.Current)), x.done.Key) {
			skip++
			x.done.Rows++ // an earlier page has returned it
			return true
		}
		return x.passGroup(g, row)
	})
	if x.more = x.more || more && g.Bound != ""; x.more && x.from.Begun && x.done.Rows == x.from.Rows &&
		bytes.Equal(x.done.Key, x.from.Key) {
		// too many keys share a beginning that is longer than the part of a key that a cursor holds
		x.Run.Fail(&queryerror.MemoryError{Clause: "GROUP BY", Max: eval.MaxGroups})
	}
	return more
}

// eachInTurn calls row for the groups in the order in which they were found. It returns false if they do not
// fit in one page. In this case it has returned none of them, and the groups are made in the order of their
// keys, in which pages can be resumed.
func (x *Execution) eachInTurn(g *eval.Grouper, row func() bool) bool {
	if g.Bound != "" || g.Runs != nil {
		return false
	}
	before, figures := x.done, x.page.Stats
	for _, one := range g.Groups {
		if g.LoadResults(one); !row() {
			break
		}
	}
	if x.more {
		x.more, x.done, x.page.Stats, x.page.Rows = false, before, figures, nil
		return false
	}
	return true
}

// passGroup returns the current group as a row, and records that the next page begins after it. A
// continuation token holds only the beginning of a long key, so passGroup also counts the returned groups
// whose keys have the same beginning: the next page skips that many. It returns false if row has returned
// false.
func (x *Execution) passGroup(g *eval.Grouper, row func() bool) bool {
	if !row() {
		return false
	}
	key := eval.CutKey([]byte(g.Current))
	if !bytes.Equal(key, x.done.Key) {
		x.done.Key, x.done.Rows = key, 0
	}
	x.done.Rows++
	return true
}
