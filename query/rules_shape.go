package query

import "github.com/mayflydb/mayfly/query/syntax"

// chooseForm is the rule "shape": it decides in which form the query runs.
func chooseForm(p *planner) {
	t := p.plan.top
	switch {
	case t.grouped:
		if len(t.groupBy) > 0 {
			t.sorted = t.order
		}
		t.order = nil // what is ordered are groups, or one row
		p.plan.form = blocking
		if len(t.groupBy) > 0 && len(t.sorted) == 0 && !t.distinct && t.derived() == nil {
			p.plan.form = grouping
			p.plan.byTurn = !p.countsPath(t)
		}
	case len(t.rank) > 0, t.derived() != nil, !t.container:
		p.plan.form = blocking
	case len(t.order) > 0:
		p.plan.form = sorting
		p.plan.order = &ordering{}
		if t.distinct {
			if n := t.leadingKeys(); n > 0 {
				p.plan.order.distinct = n
			} else {
				p.plan.form = blocking
			}
		}
	case t.distinct:
		p.orderDistinct(t)
	}
}

// countsPath tells whether groups are of one path, with nothing beside it or COUNT of a constant: then
// Cosmos DB has them in the order of the index.
func (p *planner) countsPath(t *block) bool {
	for _, a := range t.aggs {
		if _, constant := a.arg.(*syntax.Literal); a.name != "COUNT" || !constant {
			return false
		}
	}
	_, steps, path := syntax.PathOf(t.groupBy[0])
	return len(t.groupBy) == 1 && path && len(steps) > 0
}

// orderDistinct has the values at an indexed path come in their order, where no two are to be equal: then
// equal ones are neighbours in the index, and need not be remembered.
func (p *planner) orderDistinct(t *block) {
	shown := t.value
	if shown == nil && len(t.items) == 1 {
		shown = t.items[0].x
	}
	if shown == nil || len(t.steps) != 1 || t.steps[0].kind != stepItem {
		return
	}
	if route, plain := p.plainPath(shown); plain && p.info.Index.RangeIndexed(route) {
		t.order = []*orderKey{{x: shown, route: route}}
		p.plan.form, p.plan.order = sorting, &ordering{distinct: 1, implied: true}
	}
}
