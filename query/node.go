package query

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/doc"
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
	// run calls row with the frame at each row that the node makes of the rows of another, the in-th of the
	// plan. It is false where row has been, or where the run has failed.
	run(x *execution, in int, row func() bool) bool
}

// rowsOf runs a node of the plan, and notes what it takes if somebody wants to know.
func (x *execution) rowsOf(i int, row func() bool) bool {
	n := x.plan.nodes[i]
	if x.page.Stats.nodes == nil || ofDocuments(n) {
		return n.run(x, i+1, row)
	}
	seen := &x.page.Stats.nodes[i]
	from, above := x.elapsed(), time.Duration(0)
	more := n.run(x, i+1, func() bool {
		seen.rows++
		left := x.elapsed()
		more := row()
		above += x.elapsed() - left
		return more
	})
	seen.took += x.elapsed() - from - above
	return more
}

// elapsed is how long the request has taken; 0 where nobody measures.
func (x *execution) elapsed() time.Duration {
	if x.run.env.Elapsed == nil {
		return 0
	}
	return x.run.env.Elapsed()
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

// nodeFigures are what a traced run tells of one node.
type nodeFigures struct {
	rows int64         // that it has made
	took time.Duration // with the nodes behind it
}

// chain makes the nodes of a plan whose rows are compiled.
func (p *Plan) chain() {
	p.nodes = append(p.nodes[:0], &pageNode{of: p.top})
	p.chainBlock(p.top, p.rows)
}

func (p *Plan) add(n node) { p.nodes = append(p.nodes, n) }

func (p *Plan) chainBlock(bl *block, rs *rowset) {
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

func (p *Plan) chainSources(bl *block, rs *rowset) {
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
func (p *Plan) String() string { return p.text(func(int) string { return "" }) }

// text prints the nodes, each with what tell says of it.
func (p *Plan) text(tell func(i int) string) string {
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

// Explain returns the plan as text with the figures of a run: how many documents or rows came out of each
// node and, where the run was traced, how long it took by itself. What goes into a node is what comes out of
// the one below it. What was chosen among several ways follows, with what was counted of those that were not,
// and last the composite index that would help, if there is one.
func (p *Plan) Explain(s Stats) string {
	first := true
	text := p.text(func(i int) string {
		if first {
			first = false
			return figures(s.Output, p.tookAt(i, s)) + fmt.Sprintf(" (%d bytes)", s.OutputBytes)
		}
		switch n := p.nodes[i].(type) {
		case *documentsNode:
			return figures(s.Loaded, s.Load) + fmt.Sprintf(" (%d index entries, %d bytes)",
				s.IndexEntries, s.LoadedBytes)
		case *filterNode:
			if n.ofItems {
				return figures(s.Matched, s.Filter)
			}
		}
		if len(s.nodes) != len(p.nodes) {
			return ""
		}
		return figures(s.nodes[i].rows, p.tookAt(i, s))
	})
	depth := strings.Count(text, "\n")
	for _, c := range s.choices {
		text += strings.Repeat("  ", depth) + c.String() + "\n"
	}
	if s.Elapsed > 0 {
		text += "in " + s.Elapsed.String() + "\n"
	}
	for _, spec := range p.use.PotentialComposite {
		text += "a composite index would help: (" + strings.Join(spec, ", ") + ")\n"
	}
	for _, spec := range p.use.PotentialSingle {
		text += "not indexed: " + spec + "\n"
	}
	return text
}

// tookAt is the time that a node took without those behind it, as far as it was measured.
func (p *Plan) tookAt(i int, s Stats) time.Duration {
	if len(s.nodes) != len(p.nodes) {
		return 0
	}
	behind := time.Duration(0)
	if i+1 < len(p.nodes) {
		if behind = s.nodes[i+1].took; ofDocuments(p.nodes[i+1]) {
			behind = s.Load + s.Filter
		}
	}
	return max(s.nodes[i].took-behind, 0)
}

func figures(n int64, took time.Duration) string {
	text := " -> " + strconv.FormatInt(n, 10)
	if took > 0 {
		text += " in " + took.String()
	}
	return text
}

// oneRow is the source of a query that reads nothing.
type oneRow struct{}

func (oneRow) String() string                                { return "one row" }
func (oneRow) run(_ *execution, _ int, row func() bool) bool { return row() }

// nothing is the source where no document can fulfil the conditions.
type nothing struct{}

func (nothing) String() string                        { return "nothing" }
func (nothing) run(*execution, int, func() bool) bool { return true }

// filterNode drops rows for which the conditions do not hold that need no other source than what is behind
// it.
type filterNode struct {
	plan *Plan
	of   *block
	rs   *rowset
	// the rows are documents; those that an order is made of are put to the filter by that
	ofItems bool
}

func (n *filterNode) run(x *execution, in int, row func() bool) bool {
	if n.ofItems {
		return x.rowsOf(in, func() bool { return !x.passes(n.rs) || row() })
	}
	return x.rowsOf(in, func() bool { return !n.rs.admits(x.f) || row() })
}

// rowsNode counts the rows that documents make.
type rowsNode struct{}

func (rowsNode) String() string { return "" }

func (rowsNode) run(x *execution, in int, row func() bool) bool {
	return x.rowsOf(in, func() bool {
		x.page.Stats.Joined++
		return row()
	})
}

// eachNode makes a row of each value that a source of FROM or JOIN has for a row.
type eachNode struct {
	plan    *Plan
	step    *step
	rs      *rowset
	i       int  // of the source
	derived bool // its values are those of the node behind it
}

func (n *eachNode) run(x *execution, in int, row func() bool) bool {
	if n.derived {
		return x.rowsOf(in, func() bool { return n.rs.bindTo(x.f, n.i, x.value, row) })
	}
	return x.rowsOf(in, func() bool { return n.rs.bind(x.f, n.i, row) })
}

// projectNode makes what a row shows: the text that is given out, or a value.
type projectNode struct {
	of     *block
	rs     *rowset
	values bool
}

func (n *projectNode) run(x *execution, in int, row func() bool) bool {
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
