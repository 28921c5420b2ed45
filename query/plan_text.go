package query

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/query/syntax"
)

// node is one line of a plan. The rows of a node come from the one below it.
type node struct {
	text string
	role role
}

// role tells which figures belong to a node.
type role uint8

const (
	noFigures role = iota
	loads          // reads documents
	filters        // drops documents by conditions on the item
	joins          // makes rows of documents
	outputs        // gives out rows
)

// String returns the plan as text, one line a node, each indented under the one that takes its rows. The last
// line says how the documents are found.
func (p *Plan) String() string { return p.text(func(n node) string { return n.text }) }

func (p *Plan) text(line func(node) string) string {
	var b strings.Builder
	for i, n := range p.nodes() {
		b.WriteString(strings.Repeat("  ", i) + line(n) + "\n")
	}
	return b.String()
}

// Explain returns the plan as text with the figures of a run: how many documents or rows came out of a node
// and, where the run was traced, how long it took. Last it names the composite index that would help, if
// there is one.
func (p *Plan) Explain(s Stats) string {
	text := p.text(func(n node) string {
		switch n.role {
		case loads:
			return n.text + figures(s.Loaded, s.Load) + fmt.Sprintf(" (%d index entries, %d bytes)",
				s.IndexEntries, s.LoadedBytes)
		case filters:
			return n.text + figures(s.Matched, s.Filter)
		case joins:
			return n.text + figures(s.Joined, 0)
		case outputs:
			return n.text + figures(s.Output, 0) + fmt.Sprintf(" (%d bytes)", s.OutputBytes)
		}
		return n.text
	})
	for _, c := range s.choices {
		text += strings.Repeat("  ", len(p.nodes())) + c.String() + "\n"
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

func figures(n int64, took time.Duration) string {
	text := " -> " + strconv.FormatInt(n, 10)
	if took > 0 {
		text += " in " + took.String()
	}
	return text
}

// nodes lists the plan from its result down to the documents.
func (p *Plan) nodes() []node {
	t := p.top
	var list []node
	if t.offset > 0 || t.limit >= 0 {
		list = append(list, node{text: limitText(t)})
	}
	list = append(list, node{text: "project " + projectionText(t), role: outputs})
	if t.distinct {
		list = append(list, node{text: p.distinctText()})
	}
	list = append(list, groupNodes(t)...)
	list = append(list, p.orderNodes()...)
	return append(list, p.sourceNodes(t)...)
}

func limitText(t *block) string {
	text := "limit"
	if t.limit >= 0 {
		text += " " + strconv.FormatInt(t.limit, 10)
	}
	if t.offset > 0 {
		text += " offset " + strconv.FormatInt(t.offset, 10)
	}
	return text
}

func (p *Plan) distinctText() string {
	if p.order != nil && p.order.distinct > 0 {
		return "distinct from the row before"
	}
	return "distinct"
}

func projectionText(t *block) string {
	switch {
	case t.star:
		return "*"
	case t.value != nil:
		return "value " + syntax.PrintExpr(t.value)
	}
	texts := make([]string, len(t.items))
	for i, item := range t.items {
		texts[i] = item.name + ": " + syntax.PrintExpr(item.x)
	}
	return strings.Join(texts, ", ")
}

func groupNodes(t *block) []node {
	if !t.grouped {
		return nil
	}
	texts := make([]string, len(t.aggs))
	for i, a := range t.aggs {
		texts[i] = a.name + "(" + syntax.PrintExpr(a.arg) + ")"
	}
	aggregates := strings.Join(texts, ", ")
	if len(t.groupBy) == 0 {
		return []node{{text: "aggregate " + aggregates}}
	}
	keys := make([]string, len(t.groupBy))
	for i, e := range t.groupBy {
		keys[i] = syntax.PrintExpr(e)
	}
	text := "group by " + strings.Join(keys, ", ")
	if aggregates != "" {
		text += " with " + aggregates
	}
	for i, k := range t.sorted {
		text += []string{", sorted by ", ", "}[min(i, 1)] + syntax.PrintExpr(k.x)
		if k.desc {
			text += " DESC"
		}
	}
	return []node{{text: text}}
}

func (p *Plan) orderNodes() []node {
	t := p.top
	switch {
	case len(t.rank) == 1:
		return []node{{text: "rank by score"}}
	case len(t.rank) > 1:
		return []node{{text: fmt.Sprintf("rank by %d scores, fused", len(t.rank))}}
	case len(t.order) == 0 || p.order == nil:
		return nil
	}
	keys := make([]string, len(t.order))
	for i, k := range t.order {
		if keys[i] = syntax.PrintExpr(k.x); k.desc {
			keys[i] += " DESC"
		}
	}
	text := strings.Join(keys, ", ")
	switch {
	case p.order.walk != nil:
		return []node{{text: "in the order of " + text}}
	case p.order.vectors != nil, p.order.texts != nil:
		return []node{{text: "in the order of " + text}}
	}
	return []node{{text: "sort by " + text + ", keeping one page"}}
}

// sourceNodes lists the sources of a block, the last one first, with the conditions that are decided there.
func (p *Plan) sourceNodes(t *block) []node {
	var list []node
	if len(t.steps) > 1 {
		list = append(list, node{text: "rows", role: joins})
	}
	for i := len(t.steps) - 1; i >= 0; i-- {
		st := t.steps[i]
		if len(st.filter) > 0 {
			n := node{text: "filter " + conditionsText(st.filter)}
			if st.kind == stepItem {
				n.role = filters
			}
			list = append(list, n)
		}
		if st.kind != stepItem {
			list = append(list, node{text: st.text()})
		}
		if sub := t.derived(); i == 0 && sub != nil {
			inner := append([]node{{text: "project " + projectionText(sub)}}, groupNodes(sub)...)
			if sub.distinct {
				inner = append(inner, node{text: "distinct"})
			}
			return append(append(list, inner...), p.sourceNodes(sub)...)
		}
	}
	if len(t.first) > 0 {
		list = append(list, node{text: "filter " + conditionsText(t.first)})
	}
	return append(list, node{text: p.accessText(), role: loads})
}

func conditionsText(list []syntax.Expr) string {
	texts := make([]string, len(list))
	for i, e := range list {
		if texts[i] = oneLine(syntax.PrintExpr(e)); len(texts[i]) > 200 {
			texts[i] = strings.ToValidUTF8(texts[i][:200], "") + "..."
		}
	}
	return strings.Join(texts, " AND ")
}

// oneLine joins the lines that a subquery is printed on.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (st *step) text() string {
	name := ""
	if st.alias != nil && st.alias.name != "" {
		name = " " + st.alias.name
	}
	switch st.kind {
	case stepBind:
		return "bind" + name + " to " + syntax.PrintExpr(st.x)
	case stepElements:
		return "for each" + name + " in " + syntax.PrintExpr(st.x)
	case stepFlatten:
		return "for each" + name + " in the rows of a subquery"
	}
	return "for each row" + name + " of a subquery"
}

// accessText says how the documents are found.
func (p *Plan) accessText() string {
	switch {
	case !p.top.container:
		return "one row"
	case p.never:
		return "nothing"
	case p.only != nil:
		return p.only.String()
	case p.order != nil && p.order.walk != nil:
		text := "index " + p.order.walk.String()
		if ways := p.waysBeside(p.order.walk); len(ways) > 0 {
			text += ", or sort the fewest of (" + joined(ways) + ")"
		}
		return text
	case p.order != nil && p.order.vectors != nil:
		return p.order.vectors.String()
	case p.order != nil && p.order.texts != nil:
		return "words of " + p.order.texts.path.String()
	case p.counts != nil:
		return p.counts.String()
	case p.streams(p.rank):
		return "the best by " + rankText(p.rank)
	}
	return p.waysText()
}

// waysText says how the documents are found that the conditions leave.
func (p *Plan) waysText() string {
	lists := len(p.ways) > 0
	for _, a := range p.ways {
		lists = lists && a.lists()
	}
	switch {
	case len(p.ways) == 0:
		return "scan"
	case lists && len(p.ways) == 1:
		return "index " + p.ways[0].String()
	case lists:
		return "index intersect (" + joined(p.ways) + ")"
	case len(p.ways) == 1:
		return "index " + p.ways[0].String() + ", if it is few; else scan"
	}
	return "index, the fewest of (" + joined(p.ways) + ")"
}
