package exec

import (
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/plan"
)

// rowsOf runs the i-th node of the plan: it calls row for each row that the node makes. It returns false if
// row has returned false or the run has failed. If the run is traced, it also measures the time of the node.
func (x *Execution) rowsOf(i int, row func() bool) bool {
	n := x.Plan.Nodes[i]
	if x.page.Stats.nodes == nil || plan.OfDocuments(n) {
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

// runNode runs the i-th node of the plan: it makes each row of the node the current one and calls row. The
// input of a node is the rows of the next node in the list. runNode returns false if row has returned false
// or the run has failed.
func (x *Execution) runNode(i int, row func() bool) bool {
	in := i + 1
	switch n := x.Plan.Nodes[i].(type) {
	case *plan.LimitNode:
		return x.runPage(in)
	case plan.DistinctSetNode:
		return x.runDistinctSet(in, row)
	case plan.DistinctAdjacentNode:
		return x.runDistinctNeighbours(in, row)
	case plan.DistinctAcrossPagesNode:
		return x.runDistinctPages(in, row)
	case *plan.ProjectNode:
		return x.runProject(n, in, row)
	case *plan.GroupNode:
		return x.runGroup(n, in, row)
	case plan.ExecutionStatsRowNode:
		return x.runRows(in, row)
	case *plan.JoinNode:
		return x.runEach(n, in, row)
	case *plan.FilterNode:
		return x.runFilter(n, in, row)
	case *plan.OrderNode:
		return x.runOrder(row)
	case *plan.RankNode:
		return x.runRank(row)
	case *plan.CandidateDocumentsNode:
		return x.runDocuments(row)
	case plan.OneRowNode:
		return row()
	}
	return true // no rows
}

// elapsed returns how long the request has taken; 0 if that is not measured.
func (x *Execution) elapsed() time.Duration {
	if x.Run.Env.Elapsed == nil {
		return 0
	}
	return x.Run.Env.Elapsed()
}

func (x *Execution) runFilter(n *plan.FilterNode, in int, row func() bool) bool {
	if n.OfItems {
		return x.rowsOf(in, func() bool { return !x.passes(n.Rowset) || row() })
	}
	return x.rowsOf(in, func() bool { return !n.Rowset.Admits(x.f) || row() })
}

func (x *Execution) runRows(in int, row func() bool) bool {
	return x.rowsOf(in, func() bool {
		x.page.Stats.Joined++
		return row()
	})
}

func (x *Execution) runEach(n *plan.JoinNode, in int, row func() bool) bool {
	if n.Derived {
		return x.rowsOf(in, func() bool { return n.Rowset.BindTo(x.f, n.I, x.value, row) })
	}
	return x.rowsOf(in, func() bool { return n.Rowset.Bind(x.f, n.I, row) })
}

func (x *Execution) runProject(n *plan.ProjectNode, in int, row func() bool) bool {
	if n.Values {
		return x.rowsOf(in, func() bool {
			x.value = n.Rowset.Value(x.f)
			return x.value.Kind() == jsondoc.Undefined || row()
		})
	}
	write := func(dst []byte) ([]byte, bool) { return n.Rowset.Project(x.f, dst) }
	return x.rowsOf(in, func() bool {
		if !x.makeRow(write) {
			return true
		}
		x.rowInDoc++
		return row()
	})
}
