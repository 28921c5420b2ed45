package plan

import (
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/syntax"
)

// chooseForm is the rule "shape": it decides in which form the query runs.
func chooseForm(p *Planner) {
	t := p.Plan.Top
	switch {
	case t.Grouped:
		if len(t.GroupBy) > 0 {
			t.Sorted = t.Order
		}
		t.Order = nil // what is ordered are groups, or one row
		p.Plan.Form = cursor.Blocking
		if len(t.GroupBy) > 0 && len(t.Sorted) == 0 && !t.Distinct && t.Derived() == nil {
			p.Plan.Form = cursor.Grouping
			p.Plan.ByTurn = !p.countsPath(t)
		}
	case len(t.Rank) > 0, t.Derived() != nil, !t.Container:
		p.Plan.Form = cursor.Blocking
	case len(t.Order) > 0:
		p.Plan.Form = cursor.Sorting
		p.Plan.Order = &ordering{}
		if t.Distinct {
			if n := t.LeadingKeys(); n > 0 {
				p.Plan.Order.Distinct = n
			} else {
				p.Plan.Form = cursor.Blocking
			}
		}
	case t.Distinct:
		p.orderDistinct(t)
	}
}

// countsPath reports whether groups are of one path, with nothing beside it or COUNT of a constant: then
// Cosmos DB has them in the order of the index.
func (p *Planner) countsPath(t *bind.Block) bool {
	for _, a := range t.Aggs {
		if _, constant := a.Arg.(*syntax.Literal); a.Name != "COUNT" || !constant {
			return false
		}
	}
	_, steps, path := syntax.PathOf(t.GroupBy[0])
	return len(t.GroupBy) == 1 && path && len(steps) > 0
}

// orderDistinct has the values at an indexed path come in their order, where no two are to be equal: then
// equal ones are neighbours in the index, and need not be remembered.
func (p *Planner) orderDistinct(t *bind.Block) {
	shown := t.Value
	if shown == nil && len(t.Items) == 1 {
		shown = t.Items[0].X
	}
	if shown == nil || len(t.Steps) != 1 || t.Steps[0].Kind != bind.StepItem {
		return
	}
	if route, plain := p.plainPath(shown); plain && p.Info.Index.RangeIndexed(route) {
		t.Order = []*bind.OrderKey{{X: shown, Route: route}}
		p.Plan.Form, p.Plan.Order = cursor.Sorting, &ordering{Distinct: 1, implied: true}
	}
}
