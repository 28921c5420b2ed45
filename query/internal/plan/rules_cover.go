package plan

import (
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
)

// covers is the planning rule "cover". It decides whether the ORDER BY path is all that the query needs of
// documents, so that the index suffices, and whether the rows that OFFSET skips need not be read.
func covers(p *Planner) {
	t, o := p.Plan.Top, p.Plan.Order
	if p.Plan.Form != cursor.Sorting || o.Walk == nil || o.Walk.Composite != nil || len(t.Steps) != 1 ||
		t.Steps[0].Kind != bind.StepItem {
		return
	}
	path := o.Walk.Path.String()
	only := !t.Star
	for _, e := range t.Where {
		only = only && p.onlyPath(e) == path
	}
	if t.Value != nil {
		only = only && p.onlyPath(t.Value) == path
	}
	for _, item := range t.Items {
		only = only && p.onlyPath(item.X) == path
	}
	o.Covered = only
	o.Loose = o.Distinct > 0 && o.Distinct == len(t.Order)
	if t.Value != nil && o.Loose {
		o.Walk.Undefined = false // a document without the path has no row
	}
	decided := p.decided(t) && (len(p.Plan.Constraints) == 0 || len(p.Plan.Constraints) == 1 &&
		p.Plan.Constraints[0].name == path && !p.Plan.Constraints[0].Superset)
	o.Skips = decided && o.Distinct == 0 && (t.Value == nil || p.everywhere(t.Value))
}
