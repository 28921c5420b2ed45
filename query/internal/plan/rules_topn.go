package plan

// limitOnce is the rule "top-n": it replaces TOP by a LIMIT without an OFFSET, so that a single count limits
// the rows of the query. A query that sorts need not keep more rows than that at a time.
func limitOnce(p *Planner) {
	t := p.Plan.Top
	if t.Top >= 0 && (t.Limit < 0 || t.Top < t.Limit) {
		t.Limit = t.Top
	}
	t.Top = -1
}
