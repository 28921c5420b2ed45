package exec

import (
	"math"

	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
)

// OrderByStartPosition is the position at which the rows of a query with ORDER BY begin. A client that merges
// ranges uses it for a range of which it has no continuation token: it then gives the last row that it has
// returned, which may be from another range.
type OrderByStartPosition struct {
	Values []eval.OrderByValue // ORDER BY values of that row, one for each key
	// RID is the number of the document at whose row the page begins, among the rows with the ORDER BY values
	// in Values. If it is 0, the page begins at the first of these rows or, with Exclude, after the last one.
	RID     uint64
	Exclude bool // begin after that document or, if RID is 0, after all rows with these values
}

// resumeAt moves the beginning of the page to r.
func (x *Execution) resumeAt(r *OrderByStartPosition) error {
	if x.Plan.Form != cursor.Sorting || x.Plan.Order.Distinct > 0 {
		return queryerror.Plain("A resume filter needs a query with ORDER BY and without DISTINCT.")
	}
	order := x.Plan.Top.Order
	if len(r.Values) != len(order) {
		return queryerror.Plain("A resume filter must have one value for each key of ORDER BY.")
	}
	var key []byte
	for i, v := range r.Values {
		key = eval.AppendKey(order[i], key, v)
	}
	// A page begins behind the rid of its bookmark. If the page is to contain the row of r.RID, the bookmark
	// therefore gets the rid before it. Rids begin at 1 and never come near the largest uint64.
	at := r.RID
	first, last := uint64(0), uint64(math.MaxUint64-1)
	before := func(rid uint64) uint64 { return rid - 1 }
	if x.backwards() {
		first, last = last, first
		before = func(rid uint64) uint64 { return rid + 1 }
	}
	switch {
	case r.RID == 0 && r.Exclude:
		at = last
	case r.RID == 0:
		at = first
	case !r.Exclude:
		at = before(r.RID)
	}
	x.from.Begun, x.from.Key, x.from.Rid = true, key, at
	return nil
}

// Beginning returns the continuation token (cursor) with which the first page begins. scope names the part
// of the container that is queried; the sources of the query cover the spans.
func Beginning(p *plan.Plan, scope string, spans []cursor.SourceKeyRange) string {
	first := cursor.PagePosition{Form: p.Form, At: cursor.Begin(spans), Source: -1, Offset: p.Top.Offset,
		Limit: p.Top.Limit}
	return first.Encode(p.HashIn(scope), spans)
}
