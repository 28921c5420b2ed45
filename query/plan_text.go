package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/query/syntax"
)

func (n *projectNode) String() string { return "project " + projectionText(n.of) }

// projectionText is the select list as text.
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

func (n *filterNode) String() string {
	list := n.of.first
	if n.ofItems && n.rs.ofItem() {
		list = slices.Concat(list, n.of.steps[0].filter)
	}
	if len(list) == 0 {
		return ""
	}
	return "filter " + n.plan.conditionsText(list)
}

func (n *eachNode) String() string {
	name, text := "", ""
	if a := n.step.alias; a != nil && a.name != "" {
		name = " " + a.name
	}
	switch n.step.kind {
	case stepBind:
		text = "bind" + name + " to " + syntax.PrintExpr(n.step.x)
	case stepElements:
		text = "for each" + name + " in " + syntax.PrintExpr(n.step.x)
	case stepFlatten:
		text = "for each" + name + " in the rows of a subquery"
	default:
		text = "for each row" + name + " of a subquery"
	}
	if len(n.step.filter) > 0 {
		text += ", filter " + n.plan.conditionsText(n.step.filter)
	}
	return text
}

func (n *orderNode) String() string {
	keys := make([]string, len(n.plan.top.order))
	for i, k := range n.plan.top.order {
		if keys[i] = syntax.PrintExpr(k.x); k.desc {
			keys[i] += " DESC"
		}
	}
	text, o := strings.Join(keys, ", "), n.plan.order
	if o.walk != nil || o.vectors != nil || o.texts != nil {
		return "in the order of " + text
	}
	return "sort by " + text + ", keeping one page"
}

func (n *rankNode) String() string {
	if parts := len(n.plan.rank); parts > 1 {
		return fmt.Sprintf("rank by %d scores, fused", parts)
	}
	return "rank by score"
}

// conditionsText prints conditions with the values of their parameters.
func (p *planned) conditionsText(list []syntax.Expr) string {
	texts := make([]string, len(list))
	for i, e := range list {
		if texts[i] = oneLine(syntax.PrintExpr(p.valued(e))); len(texts[i]) > 200 {
			texts[i] = strings.ToValidUTF8(texts[i][:200], "") + "..."
		}
	}
	return strings.Join(texts, " AND ")
}

// valued is an expression with the values of its parameters in their places.
func (p *planned) valued(e syntax.Expr) syntax.Expr {
	if param, ok := e.(*syntax.Parameter); ok && p.shape != nil {
		return &syntax.Literal{Value: p.given[p.shape.params[param.Name]]}
	}
	if e == nil {
		return nil
	}
	return syntax.Map(e, p.valued)
}

// oneLine joins the lines that a subquery is printed on.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// String says how the documents are found.
func (n *documentsNode) String() string {
	p := n.plan
	switch {
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
	case p.streams():
		return "the best by " + rankText(p.rank)
	}
	return p.waysText()
}

// waysText says how the documents are found that the conditions leave.
func (p *planned) waysText() string {
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
