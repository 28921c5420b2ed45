package query

// limitOnce is the rule "top-n": TOP is a LIMIT without an OFFSET, so one count bounds the rows of the query.
// A query that sorts needs to keep no more rows at a time than that.
func limitOnce(p *planner) {
	t := p.plan.top
	if t.top >= 0 && (t.limit < 0 || t.top < t.limit) {
		t.limit = t.top
	}
	t.top = -1
}
