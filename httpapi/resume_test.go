package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
)

// orderings are ORDER BY clauses for the items of fillMixed, whose values are of all types, repeated or
// missing.
var orderings = []string{"c.n", "c.n DESC", "c.m", "c.m DESC", "c.s", "c.n, c.s", "c.n DESC, c.s DESC",
	"c.n, c.s DESC", "c.n DESC, c.s"}

// orderedQuery returns the query that an SDK sends to a range for a query with ORDER BY: it returns rid,
// order-by items and payload. filter is its condition.
func orderedQuery(by, filter string) string {
	var items []string
	for _, key := range strings.Split(by, ", ") {
		items = append(items, `{"item": `+strings.TrimSuffix(key, " DESC")+`}`)
	}
	return "SELECT c._rid, [" + strings.Join(items, ", ") +
		"] AS orderByItems, c.id AS payload\nFROM c\nWHERE (" + filter + ")\nORDER BY " + by
}

// resumable reads all rows of the range 0 with an ORDER BY clause. It calls fn for each row, with all
// rows, the row's position and its order-by values.
func (p *mergingQueryClient) resumable(by string, fn func(all []jsondoc.Value, i int, keys []jsondoc.Value)) {
	p.w.t.Helper()
	all, err := p.drain(orderedQuery(by, "{documentdb-formattableorderbyquery-filter}"), "",
		"x-ms-documentdb-partitionkeyrangeid", "0")
	if err != nil || len(all) < 10 {
		p.w.t.Fatal(by, len(all), err)
	}
	for i, row := range all {
		var keys []jsondoc.Value
		for _, item := range elements(row.Member("orderByItems")) {
			keys = append(keys, item.Member("item"))
		}
		fn(all, i, keys)
	}
}

// equalRows returns the positions of the first and the last row that have the same order-by values as row
// i.
func equalRows(all []jsondoc.Value, i int) (first, last int) {
	same := func(row jsondoc.Value) bool {
		return jsondoc.Equal(row.Member("orderByItems"),
			all[i].Member("orderByItems"))
	}
	for first = i; first > 0 && same(all[first-1]); {
		first--
	}
	for last = i; last < len(all)-1 && same(all[last+1]); {
		last++
	}
	return first, last
}

func payloads(rows []jsondoc.Value) (list []string) {
	for _, row := range rows {
		list = append(list, row.Member("payload").Str())
	}
	return list
}

// TestResumeFilter checks that a query with ORDER BY continues at the row that the resumeFilter in its
// body names, with an index for the order and without.
func TestResumeFilter(t *testing.T) {
	for _, settings := range []string{mixedSettings,
		keyedByPK + `,"indexingPolicy":{"indexingMode":"none","automatic":false}`} {
		w := newServerUnderTest(t, ranges(2), func(s *serverUnderTestOptions) { s.store.Lenient = true })
		w.container(settings)
		w.fillMixed(docs, racetest.Fewer(60, 4))
		p := w.pipeline(docs, 4)
		for _, by := range orderings {
			p.resumable(by, func(all []jsondoc.Value, i int, keys []jsondoc.Value) {
				var values []string
				for _, v := range keys {
					values = append(values, resumeValue(v))
				}
				first, last := equalRows(all, i)
				rid := `,"rid":"` + all[i].Member("_rid").Str() + `"`
				for more, from := range map[string]int{
					``: first, `,"exclude":false`: first, `,"exclude":true`: last +
						1, `,"rid":null,"exclude":true`: last + 1,
					rid: i, rid + `,"exclude":true`: i + 1,
				} {
					filter := `{"value":[` + strings.Join(values, ",") + `]` + more + `}`
					got := w.resumed(orderedQuery(by, "true"), filter)
					if want := payloads(all[from:]); !slices.Equal(got, want) {
						t.Fatalf("ORDER BY %s at %s\ngot  %v\nwant %v", by, filter, got, want)
					}
				}
			})
		}
	}
}

// resumeValue returns an order-by value in the form in which the .NET client writes it into a resume
// filter.
func resumeValue(v jsondoc.Value) string {
	switch v.Kind() {
	case jsondoc.Undefined:
		return "[]"
	case jsondoc.Array, jsondoc.Object:
		h := jsondoc.HashOf(v)
		return fmt.Sprintf(`{"type":"%s","low":%d,"high":%d}`, v.Kind(), int64(h.Low), int64(h.High))
	}
	return string(v.Raw())
}

// resumed returns the rows of all pages of a query with a resume filter. Each page's request has the
// filter; after the first page, the continuation token takes precedence.
func (w *serverUnderTest) resumed(text, filter string) (rows []string) {
	w.t.Helper()
	token := ""
	for {
		headers := queryHeaders("x-ms-documentdb-partitionkeyrangeid", "0", "x-ms-max-item-count", "7")
		if token != "" {
			headers = append(headers, "x-ms-continuation", token)
		}
		a := w.do("POST", docs, `{"query":`+jsonString(text)+`,"resumeFilter":`+filter+`}`,
			headers...).want(200)
		rows = append(rows, payloads(elements(jsondoc.Of(a.body).Member("Documents")))...)
		if token = a.header.Get("X-Ms-Continuation"); token == "" {
			return rows
		}
	}
}

func TestResumeFilterRefused(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.fill(3, 1)
	const byID = "SELECT * FROM c ORDER BY c.id"
	for _, c := range []struct{ text, filter, message string }{
		{byID, `{"value":[{"type":"array","low":1}]}`, "array or an object"},
		{byID, `{"value":[{"type":"set","low":1,"high":2}]}`, "array or an object"},
		{byID, `{"value":[{"type":"array","low":"1","high":2}]}`, "array or an object"},
		{byID, `{"value":[[1]]}`, "array or an object"},
		{byID, `{"value":["1","2"]}`, "one value for each key"},
		{byID, `{"value":"1"}`, "needs a 'value'"},
		{byID, `{}`, "needs a 'value'"},
		{byID, `{"value":["1"],"rid":"nonsense"}`, "not a valid resource id"},
		{byID, `{"value":["1"],"rid":7}`, "'rid'"},
		{byID, `{"value":["1"],"exclude":"yes"}`, "'exclude'"},
		{"SELECT * FROM c", `{"value":["1"]}`, "needs a query with ORDER BY"},
		{"SELECT DISTINCT c.id FROM c ORDER BY c.id", `{"value":["1"]}`, "without DISTINCT"},
	} {
		w.do("POST", docs, `{"query":`+jsonString(c.text)+`,"resumeFilter":`+c.filter+`}`,
			queryHeaders(served...)...).fails(400, 0, c.message)
	}
}

// TestResumeConditions checks that a query with ORDER BY continues after a row by conditions, which SDKs
// without resume filters put into the query's placeholder: comparisons, and tests for the types that
// follow in the sort order.
func TestResumeConditions(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(2))
	w.container(mixedSettings)
	w.fillMixed(docs, 60)
	p := w.pipeline(docs, 5)
	for _, by := range orderings {
		p.resumable(by, func(all []jsondoc.Value, i int, keys []jsondoc.Value) {
			if slices.ContainsFunc(keys, func(v jsondoc.Value) bool { return v.Kind() >= jsondoc.Array }) {
				return
			}
			first, last := equalRows(all, i)
			for filter, from := range map[string]int{resumeCondition(by, keys, true): first,
				resumeCondition(by, keys, false): last + 1} {
				rows, err := p.drain(orderedQuery(by, filter), "", "x-ms-documentdb-partitionkeyrangeid", "0")
				if want := payloads(all[from:]); err != nil || !slices.Equal(payloads(rows), want) {
					t.Fatalf("ORDER BY %s where %s: %v\ngot  %v\nwant %v", by, filter, err, payloads(rows),
						want)
				}
			}
		})
	}
}

// resumeCondition returns a condition of the query language that selects the rows after the row with the
// order-by values keys. If equal is set, it also selects the rows with exactly these values. by is the ORDER
// BY clause.
func resumeCondition(by string, keys []jsondoc.Value, equal bool) string {
	var alternatives []string
	prefix := ""
	for i, key := range strings.Split(by, ", ") {
		path, desc := strings.CutSuffix(key, " DESC")
		sign := map[bool]string{false: ">", true: "<"}[desc]
		if equal && i == len(keys)-1 {
			sign += "="
		}
		alternatives = append(alternatives, "("+prefix+"("+behindValue(path, keys[i], sign, desc)+"))")
		if prefix += fmt.Sprintf("( %s = %s ) AND ", path,
			keys[i].AppendJSON(nil)); keys[i].Kind() == jsondoc.Undefined {
			prefix = "( NOT IS_DEFINED(" + path + ") ) AND "
		}
	}
	return "(" + strings.Join(alternatives, "OR") + ")"
}

// behindValue returns the condition that is true if the value at path comes after v in the sort order: a
// comparison with sign, or a test for one of the types that follow. desc says that the order is
// descending.
func behindValue(path string, v jsondoc.Value, sign string, desc bool) string {
	switch equal := strings.HasSuffix(sign, "="); {
	case v.Kind() == jsondoc.Undefined && !desc && equal:
		return "true"
	case v.Kind() == jsondoc.Undefined && !desc:
		return "IS_DEFINED(" + path + ")"
	case v.Kind() == jsondoc.Undefined && equal:
		return "NOT IS_DEFINED(" + path + ")"
	case v.Kind() == jsondoc.Undefined:
		return "false"
	}
	types := []string{"NOT IS_DEFINED", "IS_NULL", "IS_BOOLEAN", "IS_NUMBER", "IS_STRING", "IS_ARRAY",
		"IS_OBJECT"}
	behind := types[v.Kind()+1:]
	if desc {
		behind = types[:v.Kind()]
	}
	text := fmt.Sprintf(" %s %s %s ", path, sign, v.AppendJSON(nil))
	for _, name := range behind {
		text += " OR " + name + "(" + path + ")"
	}
	return text
}
