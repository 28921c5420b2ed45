package plan

import (
	"fmt"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"strings"
)

// A plan is a chain of nodes. The first node returns the page, the last one reads the documents. Each node
// makes its rows from those of the node after it in the chain. String and Explain print the same chain that
// runs.
//
//	page ◄ distinct ◄ project ◄ group ◄ rows ◄ each ... ◄ order or rank ◄ filter ◄ documents
//
// A plan whose FROM has a subquery over all items has two such chains, one after the other. A node holds no
// state. The state of a run is in local variables of the node's function, or in the execution.
//
// Up to the filter, documents are pulled: iterators of sources, of indexes and of sorted files have a Next
// method. From there on each node calls a function with its rows, since one document can have many of them,
// and the frame (package eval) holds the values of one row at a time. If any of these calls returns false,
// the page ends.

// node is one operator of a query plan, such as a filter or a join. It reads rows from the next node and
// returns rows.
type node interface {
	// String returns the node's line in the plan; empty if it needs none.
	fmt.Stringer
}

// OfDocuments reports whether the rows that a node returns are whole documents, as before a JOIN or a
// SELECT list. A page counts and times these documents anyway (exec.Stats: Loaded, Matched, Load, Filter),
// so a traced run does not measure such a node by itself.
func OfDocuments(n node) bool {
	switch n := n.(type) {
	case *CandidateDocumentsNode:
		return true
	case *FilterNode:
		return n.OfItems
	}
	return false
}

// chain builds the list of the plan's nodes, from the one that returns rows to the one that reads
// documents. The expressions that compute rows must have been compiled before.
func (p *Plan) chain() {
	p.Nodes = append(p.Nodes[:0], &LimitNode{of: p.Top})
	p.chainBlock(p.Top, p.Rows)
}

func (p *Plan) add(n node) { p.Nodes = append(p.Nodes, n) }

func (p *Plan) chainBlock(bl *bind.QueryBlock, rs *eval.CompiledSelect) {
	values := bl != p.Top || p.Form == cursor.Blocking && len(p.Rank) == 0
	if bl.Distinct {
		switch {
		case values:
			p.add(DistinctSetNode{})
		case p.Form == cursor.Sorting:
			p.add(DistinctAdjacentNode{})
		default:
			p.add(DistinctAcrossPagesNode{})
		}
	}
	p.add(&ProjectNode{of: bl, Rowset: rs, Values: values})
	if bl.Grouped {
		n := &GroupNode{of: bl, Rowset: rs}
		if bl == p.Top && !p.Never {
			n.IndexOnly, n.Counts = p.IndexOnly, p.Counts
		}
		n.Paged, n.ByTurn = p.Form == cursor.Grouping, p.ByTurn
		p.add(n)
	}
	p.chainSources(bl, rs)
}

func (p *Plan) chainSources(bl *bind.QueryBlock, rs *eval.CompiledSelect) {
	sub := bl.Derived()
	if bl.Container && sub == nil {
		p.add(ExecutionStatsRowNode{})
	}
	for i := len(bl.Steps) - 1; i >= 0; i-- {
		if i > 0 || !rs.OfItem() {
			p.add(&JoinNode{plan: p, step: bl.Steps[i], Rowset: rs, I: i, Derived: i == 0 && sub != nil})
		}
	}
	switch {
	case sub != nil:
		p.add(&FilterNode{plan: p, of: bl, Rowset: rs})
		p.chainBlock(sub, rs.Clauses[0].Sub)
		return
	case !bl.Container:
		p.add(&FilterNode{plan: p, of: bl, Rowset: rs})
		p.add(OneRowNode{})
		return
	case p.Never:
		p.add(&FilterNode{plan: p, of: bl, Rowset: rs, OfItems: true})
		p.add(emptyNode{})
		return
	case bl == p.Top && len(p.Rank) > 0:
		p.add(&RankNode{plan: p})
	case bl == p.Top && len(bl.Order) > 0:
		p.add(&OrderNode{plan: p})
	}
	p.add(&FilterNode{plan: p, of: bl, Rowset: rs, OfItems: true})
	p.add(&CandidateDocumentsNode{plan: p})
}

// String returns the plan as text, one node a line, each indented under the node that reads its rows. The
// last line says how the documents are found.
func (p *Plan) String() string { return p.Text(func(int) string { return "" }) }

// Text returns the nodes of the plan as text, one a line. Each line is followed by the text that tell
// returns for the position of the node in Plan.Nodes.
func (p *Plan) Text(tell func(i int) string) string {
	var b strings.Builder
	depth := 0
	for i, n := range p.Nodes {
		if line := n.String(); line != "" {
			b.WriteString(strings.Repeat("  ", depth) + line + tell(i) + "\n")
			depth++
		}
	}
	return b.String()
}

// OneRowNode is the source of rows in a query without FROM, such as SELECT 1: it returns one empty row.
type OneRowNode struct{}

// String returns the line of the node in the output of a plan.
func (OneRowNode) String() string { return "one row" }

// emptyNode is the source of rows in a query whose conditions no document can match: it returns no row.
type emptyNode struct{}

func (emptyNode) String() string { return "nothing" }

// FilterNode drops rows for which the conditions do not hold. Its conditions use only names that are bound by
// the nodes from which it gets its rows.
type FilterNode struct {
	plan   *Plan
	of     *bind.QueryBlock
	Rowset *eval.CompiledSelect
	// the rows are documents; an OrderNode that reads them applies the filter itself
	OfItems bool
}

// ExecutionStatsRowNode counts the rows that are made from documents, for the statistics of the execution.
type ExecutionStatsRowNode struct{}

// String returns the line of the node in the output of a plan.
func (ExecutionStatsRowNode) String() string { return "" }

// JoinNode makes, for each of its input rows, one row for each value of a FROM or JOIN source.
type JoinNode struct {
	plan    *Plan
	step    *bind.FromSource
	Rowset  *eval.CompiledSelect
	I       int  // of the source
	Derived bool // the values are the rows of the node after it
}

// ProjectNode computes the result of a row: the JSON text to return, or a value.
type ProjectNode struct {
	of     *bind.QueryBlock
	Rowset *eval.CompiledSelect
	Values bool
}
