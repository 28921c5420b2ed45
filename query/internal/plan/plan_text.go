package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/syntax"
)

// String returns the line of the node in the output of a plan.
func (n *ProjectNode) String() string { return "project " + projectionText(n.of) }

// projectionText returns the select list as text.
func projectionText(t *bind.QueryBlock) string {
	switch {
	case t.Star:
		return "*"
	case t.Value != nil:
		return "value " + syntax.PrintExpr(t.Value)
	}
	texts := make([]string, len(t.Items))
	for i, item := range t.Items {
		texts[i] = item.Name + ": " + syntax.PrintExpr(item.X)
	}
	return strings.Join(texts, ", ")
}

// String returns the line of the node in the output of a plan.
func (n *FilterNode) String() string {
	list := n.of.First
	if n.OfItems && n.Rowset.OfItem() {
		list = slices.Concat(list, n.of.Steps[0].Filter)
	}
	if len(list) == 0 {
		return ""
	}
	return "filter " + n.plan.ConditionsText(list)
}

// String returns the line of the node in the output of a plan.
func (n *JoinNode) String() string {
	name, text := "", ""
	if a := n.step.Alias; a != nil && a.Name != "" {
		name = " " + a.Name
	}
	switch n.step.Kind {
	case bind.StepBind:
		text = "bind" + name + " to " + syntax.PrintExpr(n.step.X)
	case bind.StepElements:
		text = "for each" + name + " in " + syntax.PrintExpr(n.step.X)
	case bind.StepFlatten:
		text = "for each" + name + " in the rows of a subquery"
	default:
		text = "for each row" + name + " of a subquery"
	}
	if len(n.step.Filter) > 0 {
		text += ", filter " + n.plan.ConditionsText(n.step.Filter)
	}
	return text
}

// String returns the line of the node in the output of a plan.
func (n *OrderNode) String() string {
	keys := make([]string, len(n.plan.Top.Order))
	for i, k := range n.plan.Top.Order {
		if keys[i] = syntax.PrintExpr(k.X); k.Desc {
			keys[i] += " DESC"
		}
	}
	text, o := strings.Join(keys, ", "), n.plan.Order
	if o.Walk != nil || o.Vectors != nil || o.Texts != nil {
		return "in the order of " + text
	}
	return "sort by " + text + ", keeping one page"
}

// String returns the line of the node in the output of a plan.
func (n *RankNode) String() string {
	if parts := len(n.plan.Rank); parts > 1 {
		return fmt.Sprintf("rank by %d scores, fused", parts)
	}
	return "rank by score"
}

// ConditionsText prints conditions with the values of their parameters.
func (p *Plan) ConditionsText(list []syntax.Expr) string {
	texts := make([]string, len(list))
	for i, e := range list {
		if texts[i] = OneLine(syntax.PrintExpr(p.valued(e))); len(texts[i]) > 200 {
			texts[i] = strings.ToValidUTF8(texts[i][:200], "") + "..."
		}
	}
	return strings.Join(texts, " AND ")
}

// valued returns an expression with its parameters replaced by their values.
func (p *Plan) valued(e syntax.Expr) syntax.Expr {
	if param, ok := e.(*syntax.Parameter); ok && p.Shape != nil {
		return &syntax.Literal{Value: p.Params[p.Shape.Params[param.Name]]}
	}
	if e == nil {
		return nil
	}
	return syntax.Map(e, p.valued)
}

// OneLine joins the lines of a printed subquery to one line.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// String returns the line of the node in the output of a plan: it describes how the documents are found.
func (n *CandidateDocumentsNode) String() string {
	p := n.plan
	switch {
	case p.IndexOnly != nil:
		return p.IndexOnly.String()
	case p.Order != nil && p.Order.Walk != nil:
		text := "index " + p.Order.Walk.String()
		if ways := p.pathsBeside(p.Order.Walk); len(ways) > 0 {
			text += ", or sort the fewest of (" + joined(ways) + ")"
		}
		return text
	case p.Order != nil && p.Order.Vectors != nil:
		return p.Order.Vectors.String()
	case p.Order != nil && p.Order.Texts != nil:
		return "words of " + p.Order.Texts.Path.String()
	case p.Counts != nil:
		return p.Counts.String()
	case p.Streams():
		return "the best by " + rankText(p.Rank)
	}
	return p.pathsText()
}

// pathsText describes how the documents that may match the conditions are found.
func (p *Plan) pathsText() string {
	lists := len(p.AccessPaths) > 0
	for _, a := range p.AccessPaths {
		lists = lists && a.Lists()
	}
	switch {
	case len(p.AccessPaths) == 0:
		return "scan"
	case lists && len(p.AccessPaths) == 1:
		return "index " + p.AccessPaths[0].String()
	case lists:
		return "index intersect (" + joined(p.AccessPaths) + ")"
	case len(p.AccessPaths) == 1:
		return "index " + p.AccessPaths[0].String() + ", if it is few; else scan"
	}
	return "index, the fewest of (" + joined(p.AccessPaths) + ")"
}
