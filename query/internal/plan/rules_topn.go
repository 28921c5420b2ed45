package plan

// limitOnce is the rule "top-n": TOP is a LIMIT without an OFFSET, so one count bounds the rows of the query.
// A query that sorts needs to keep no more rows at a time than that.
func limitOnce(p *Planner) {
	t := p.Plan.Top
	if t.Top >= 0 && (t.Limit < 0 || t.Top < t.Limit) {
		t.Limit = t.Top
	}
	t.Top = -1
}
