package query

// covers is the rule "cover": it tells whether the query wants nothing of the documents but what they have at
// the path of its ORDER BY, and whether a row that is skipped need not be looked at.
func covers(p *planner) {
	t, o := p.plan.top, p.plan.order
	if p.plan.form != sorting || o.walk == nil || o.walk.composite != nil || len(t.steps) != 1 ||
		t.steps[0].kind != stepItem {
		return
	}
	path := o.walk.path.String()
	only := !t.star
	for _, e := range t.where {
		only = only && p.onlyPath(e) == path
	}
	if t.value != nil {
		only = only && p.onlyPath(t.value) == path
	}
	for _, item := range t.items {
		only = only && p.onlyPath(item.x) == path
	}
	o.covered = only
	o.loose = o.distinct > 0 && o.distinct == len(t.order)
	if t.value != nil && o.loose {
		o.walk.undefined = false // that is no row
	}
	decided := p.decided(t) && (len(p.plan.leaves) == 0 || len(p.plan.leaves) == 1 &&
		p.plan.leaves[0].name == path && !p.plan.leaves[0].loose)
	o.skips = decided && o.distinct == 0 && (t.value == nil || p.everywhere(t.value))
}
