package cosmos

import (
	"strings"
	"time"

	"github.com/mayflydb/mayfly/store"
)

// slowText is how many bytes of a slow query's text, and of its plan, the log gets.
const slowText = 16 << 10

// tellSlow puts a page of a query that took longer than the operator wants into the log, with what reports
// why: its plan and its figures. The plan shows the values that it compares with, those of parameters, too.
// What the query has found is not told.
func (c *call) tellSlow(text string, params []store.Parameter, p *store.QueryPage, r store.Receipt,
	took time.Duration, err error) {
	limit := c.srv.opt.SlowQuery
	if limit == 0 || took < limit {
		return
	}
	database, container := c.srv.Names(c.ctx, c.req)
	line := []any{"activity", c.req.Activity, "database", database, "container", container, "took", took,
		"query", Excerpt(text, slowText), "parameters", parameterTypes(params), "charge", r.Charge}
	if err != nil {
		line = append(line, "error", err)
	} else {
		line = append(line, "rows", len(p.Rows), "documents", p.Stats.Loaded, "entries", p.Stats.IndexEntries,
			"continued", p.Continuation != "", "plan", Excerpt(p.Plan, slowText))
	}
	c.srv.log.Warn("slow query", line...)
}

// parameterTypes are the names of parameters with the types of their values: "@user string, @n number".
func parameterTypes(params []store.Parameter) string {
	var b strings.Builder
	for i, p := range params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name + " " + p.Value.Kind().String())
	}
	return Excerpt(b.String(), MaxExcerpt)
}
