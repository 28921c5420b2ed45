package cosmos

import (
	"strings"
	"time"

	"github.com/mayflydb/mayfly/store"
)

// slowText is the maximum number of bytes logged of a slow query's text and of its plan.
const slowText = 16 << 10

// logSlow logs a page of a query that took longer than Options.SlowQuery, with its plan and statistics. The
// plan contains the values in conditions, including those of parameters. The results of the query are not
// logged.
func (c *requestInProgress) logSlow(text string, params []store.QueryParameter, p *store.QueryPage,
	r store.OperationReceipt,
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

// parameterTypes returns the names of parameters and the types of their values: "@user string, @n number".
func parameterTypes(params []store.QueryParameter) string {
	var b strings.Builder
	for i, p := range params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name + " " + p.Value.Kind().String())
	}
	return Excerpt(b.String(), MaxExcerpt)
}
