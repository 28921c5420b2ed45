package plan

import (
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/syntax"
)

// chooseForm is the planning rule "shape". It chooses the plan's cursor.PagingMode, which says how the query
// is divided into pages: at documents, at groups, or by the number of rows.
func chooseForm(p *Planner) {
	t := p.Plan.Top
	switch {
	case t.Grouped:
		if len(t.GroupBy) > 0 {
			t.Sorted = t.Order
		}
		t.Order = nil // ORDER BY would sort groups, or a single row
		p.Plan.Form = cursor.Blocking
		if len(t.GroupBy) > 0 && len(t.Sorted) == 0 && !t.Distinct && t.Derived() == nil {
			p.Plan.Form = cursor.Grouping
			p.Plan.ByTurn = !p.countsPath(t)
		}
	case len(t.Rank) > 0, t.Derived() != nil, !t.Container:
		p.Plan.Form = cursor.Blocking
	case len(t.Order) > 0:
		p.Plan.Form = cursor.Sorting
		p.Plan.Order = &orderByStrategy{}
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

// countsPath reports whether the query groups by one path and its select list has nothing else but a COUNT
// of a constant. In this case Cosmos DB returns the groups in the order of the index.
func (p *Planner) countsPath(t *bind.QueryBlock) bool {
	for _, a := range t.Aggs {
		if _, constant := a.Arg.(*syntax.Literal); a.Name != "COUNT" || !constant {
			return false
		}
	}
	_, steps, path := syntax.PathOf(t.GroupBy[0])
	return len(t.GroupBy) == 1 && path && len(steps) > 0
}

// orderDistinct gives a DISTINCT of an indexed path the order of that path. Equal values are then adjacent
// in the index, so the run need not remember the values that it has returned.
func (p *Planner) orderDistinct(t *bind.QueryBlock) {
	shown := t.Value
	if shown == nil && len(t.Items) == 1 {
		shown = t.Items[0].X
	}
	if shown == nil || len(t.Steps) != 1 || t.Steps[0].Kind != bind.StepItem {
		return
	}
	if route, plain := p.plainPath(shown); plain && p.Info.Index.RangeIndexed(route) {
		t.Order = []*bind.OrderKey{{X: shown, Route: route}}
		p.Plan.Form, p.Plan.Order = cursor.Sorting, &orderByStrategy{Distinct: 1, implied: true}
	}
}
