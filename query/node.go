package query

import (
	"fmt"
	"strings"
)

// A plan is a chain of nodes: the page that is given out comes first, the documents last. Each makes its rows
// of those of the node behind it. What runs is the chain, and String and Explain print the same chain.
//
//	page ◄ distinct ◄ project ◄ group ◄ rows ◄ each ... ◄ order or rank ◄ filter ◄ documents
//
// A plan whose FROM has a subquery over all items has two such chains, one behind the other. A node holds no
// state. Where the state of a run is not a local variable of the node, it is in the execution.
//
// Up to the filter, documents are pulled: iterators of sources, of indexes and of sorted files have a Next.
// From there on rows are handed up by calls, since one document can have many of them, and the frame is at
// one row at a time. A call that returns false ends the page, whoever says so.

// node is one operator of a plan.
type node interface {
	// String is the line that stands for it; empty where it does nothing that is worth one.
	fmt.Stringer
}

// ofDocuments tells of a node that its figures are those of the page.
func ofDocuments(n node) bool {
	switch n := n.(type) {
	case *documentsNode:
		return true
	case *filterNode:
		return n.ofItems
	}
	return false
}

// chain makes the nodes of a plan whose rows are compiled.
func (p *planned) chain() {
	p.nodes = append(p.nodes[:0], &pageNode{of: p.top})
	p.chainBlock(p.top, p.rows)
}

func (p *planned) add(n node) { p.nodes = append(p.nodes, n) }

func (p *planned) chainBlock(bl *block, rs *rowset) {
	values := bl != p.top || p.form == blocking && len(p.rank) == 0
	if bl.distinct {
		switch {
		case values:
			p.add(distinctSet{})
		case p.form == sorting:
			p.add(distinctNeighbours{})
		default:
			p.add(distinctPages{})
		}
	}
	p.add(&projectNode{of: bl, rs: rs, values: values})
	if bl.grouped {
		n := &groupNode{of: bl, rs: rs}
		if bl == p.top && !p.never {
			n.only, n.counts = p.only, p.counts
		}
		n.paged, n.byTurn = p.form == grouping, p.byTurn
		p.add(n)
	}
	p.chainSources(bl, rs)
}

func (p *planned) chainSources(bl *block, rs *rowset) {
	sub := bl.derived()
	if bl.container && sub == nil {
		p.add(rowsNode{})
	}
	for i := len(bl.steps) - 1; i >= 0; i-- {
		if i > 0 || !rs.ofItem() {
			p.add(&eachNode{plan: p, step: bl.steps[i], rs: rs, i: i, derived: i == 0 && sub != nil})
		}
	}
	switch {
	case sub != nil:
		p.add(&filterNode{plan: p, of: bl, rs: rs})
		p.chainBlock(sub, rs.clauses[0].sub)
		return
	case !bl.container:
		p.add(&filterNode{plan: p, of: bl, rs: rs})
		p.add(oneRow{})
		return
	case p.never:
		p.add(&filterNode{plan: p, of: bl, rs: rs, ofItems: true})
		p.add(nothing{})
		return
	case bl == p.top && len(p.rank) > 0:
		p.add(&rankNode{plan: p})
	case bl == p.top && len(bl.order) > 0:
		p.add(&orderNode{plan: p})
	}
	p.add(&filterNode{plan: p, of: bl, rs: rs, ofItems: true})
	p.add(&documentsNode{plan: p})
}

// String returns the plan as text, one line a node, each indented under the one that takes its rows. The last
// line says how the documents are found.
func (p *planned) String() string { return p.text(func(int) string { return "" }) }

// Text prints the nodes, each with what tell says of it.
func (p *planned) text(tell func(i int) string) string {
	var b strings.Builder
	depth := 0
	for i, n := range p.nodes {
		if line := n.String(); line != "" {
			b.WriteString(strings.Repeat("  ", depth) + line + tell(i) + "\n")
			depth++
		}
	}
	return b.String()
}

// oneRow is the source of a query that reads nothing.
type oneRow struct{}

func (oneRow) String() string { return "one row" }

// nothing is the source where no document can fulfil the conditions.
type nothing struct{}

func (nothing) String() string { return "nothing" }

// filterNode drops rows for which the conditions do not hold that need no other source than what is behind
// it.
type filterNode struct {
	plan *planned
	of   *block
	rs   *rowset
	// the rows are documents; those that an order is made of are put to the filter by that
	ofItems bool
}

// rowsNode counts the rows that documents make.
type rowsNode struct{}

func (rowsNode) String() string { return "" }

// eachNode makes a row of each value that a source of FROM or JOIN has for a row.
type eachNode struct {
	plan    *planned
	step    *step
	rs      *rowset
	i       int  // of the source
	derived bool // its values are those of the node behind it
}

// projectNode makes what a row shows: the text that is given out, or a value.
type projectNode struct {
	of     *block
	rs     *rowset
	values bool
}
