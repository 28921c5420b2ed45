package query

import (
	"time"

	"github.com/mayflydb/mayfly/doc"
)

// rowsOf runs a node of the plan, and notes what it takes if somebody wants to know.
func (x *execution) rowsOf(i int, row func() bool) bool {
	n := x.plan.nodes[i]
	if x.page.Stats.nodes == nil || ofDocuments(n) {
		return x.runNode(i, row)
	}
	seen := &x.page.Stats.nodes[i]
	from, above := x.elapsed(), time.Duration(0)
	more := x.runNode(i, func() bool {
		seen.rows++
		left := x.elapsed()
		more := row()
		above += x.elapsed() - left
		return more
	})
	seen.took += x.elapsed() - from - above
	return more
}

// runNode calls row with the frame at each row that the i-th node makes of the rows of the node behind it. It
// is false where row has been, or where the run has failed.
func (x *execution) runNode(i int, row func() bool) bool {
	in := i + 1
	switch n := x.plan.nodes[i].(type) {
	case *pageNode:
		return x.runPage(in)
	case distinctSet:
		return x.runDistinctSet(in, row)
	case distinctNeighbours:
		return x.runDistinctNeighbours(in, row)
	case distinctPages:
		return x.runDistinctPages(in, row)
	case *projectNode:
		return x.runProject(n, in, row)
	case *groupNode:
		return x.runGroup(n, in, row)
	case rowsNode:
		return x.runRows(in, row)
	case *eachNode:
		return x.runEach(n, in, row)
	case *filterNode:
		return x.runFilter(n, in, row)
	case *orderNode:
		return x.runOrder(row)
	case *rankNode:
		return x.runRank(row)
	case *documentsNode:
		return x.runDocuments(row)
	case oneRow:
		return row()
	}
	return true // nothing
}

// Elapsed is how long the request has taken; 0 where nobody measures.
func (x *execution) elapsed() time.Duration {
	if x.run.env.Elapsed == nil {
		return 0
	}
	return x.run.env.Elapsed()
}

func (x *execution) runFilter(n *filterNode, in int, row func() bool) bool {
	if n.ofItems {
		return x.rowsOf(in, func() bool { return !x.passes(n.rs) || row() })
	}
	return x.rowsOf(in, func() bool { return !n.rs.admits(x.f) || row() })
}

func (x *execution) runRows(in int, row func() bool) bool {
	return x.rowsOf(in, func() bool {
		x.page.Stats.Joined++
		return row()
	})
}

func (x *execution) runEach(n *eachNode, in int, row func() bool) bool {
	if n.derived {
		return x.rowsOf(in, func() bool { return n.rs.bindTo(x.f, n.i, x.value, row) })
	}
	return x.rowsOf(in, func() bool { return n.rs.bind(x.f, n.i, row) })
}

func (x *execution) runProject(n *projectNode, in int, row func() bool) bool {
	if n.values {
		return x.rowsOf(in, func() bool {
			x.value = n.rs.value(x.f)
			return x.value.Kind() == doc.Undefined || row()
		})
	}
	return x.rowsOf(in, func() bool {
		out, defined := n.rs.project(x.f, x.scratch[:0])
		x.scratch, x.out = out[:0], out
		if !defined {
			return true
		}
		x.rowInDoc++
		return row()
	})
}
