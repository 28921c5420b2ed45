package httpapi

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// mergingQueryClient is a client that runs a query over several partition ranges and merges their rows by the
// server's query plan, as the official SDKs do.
type mergingQueryClient struct {
	w       *serverUnderTest
	path    string // of the items
	headers []string
	page    int // rows of a page that a range is asked for
	ranges  []gjson.Result

	features string
}

func (w *serverUnderTest) pipeline(path string, page int, headers ...string) *mergingQueryClient {
	w.t.Helper()
	feed := w.do("GET", strings.TrimSuffix(path, "docs")+"pkranges", "").want(200)
	return &mergingQueryClient{w: w, path: path, page: page, headers: headers, features: allFeatures,
		ranges: feed.at("PartitionKeyRanges").Array()}
}

// testClientQueryPlanInfo is the part of a query plan that says how a client must merge the rows of ranges.
type testClientQueryPlanInfo struct {
	DistinctType                                            string
	Top, Offset, Limit                                      *int
	OrderBy, GroupByExpressions, GroupByAliases, Aggregates []string
	GroupByAliasToAggregateType                             map[string]*string
	RewrittenQuery                                          string
	HasSelectValue, HasNonStreamingOrderBy                  bool
	DCountInfo                                              *struct{ DCountAlias string }
}

// receivedQueryPlan is the response to a request for a query plan, as a client decodes it.
type receivedQueryPlan struct {
	QueryInfo             *testClientQueryPlanInfo
	HybridSearchQueryInfo *struct {
		GlobalStatisticsQuery    string
		ComponentQueryInfos      []*testClientQueryPlanInfo
		ComponentWeights         []float64
		Skip, Take               *int
		RequiresGlobalStatistics bool
	}
	QueryRanges []struct {
		Min, Max                       string
		IsMinInclusive, IsMaxInclusive bool
	}
}

// receivedErrorResponse is an error response of the server, as a Go error.
type receivedErrorResponse struct{ *testResponse }

func (r receivedErrorResponse) Error() string { return fmt.Sprintf("%d %s", r.code, r.body) }

// result runs a query and returns all rows, merged. params are its parameters as JSON.
func (p *mergingQueryClient) result(text, params string) ([]jsondoc.Value, error) {
	a := p.w.do("POST", p.path, queryBody(text, params), queryHeaders(append(p.headers, planHeaders(p.features)...)...)...)
	if a.code != 200 {
		return nil, receivedErrorResponse{a}
	}
	var plan receivedQueryPlan
	if err := json.Unmarshal(a.body, &plan); err != nil {
		return nil, err
	}
	if plan.HybridSearchQueryInfo != nil {
		return p.hybrid(&plan, params)
	}
	info := plan.QueryInfo
	if info.RewrittenQuery != "" {
		text = info.RewrittenQuery
	}
	rows, err := p.gather(&plan, info, text, params)
	if err != nil {
		return nil, err
	}
	return info.finish(rows)
}

func queryBody(text, params string) string {
	if params == "" {
		params = "[]"
	}
	return `{"query":` + jsonString(text) + `,"parameters":` + params + `}`
}

// gather queries all ranges that the plan names and returns their rows in order. text is the rewritten
// query.
func (p *mergingQueryClient) gather(plan *receivedQueryPlan, info *testClientQueryPlanInfo,
	text, params string) ([]jsondoc.Value, error) {
	text = strings.ReplaceAll(text, "{documentdb-formattableorderbyquery-filter}", "true")
	var rows []jsondoc.Value
	for _, r := range p.ranges {
		low, high := r.Get("minInclusive").Str, r.Get("maxExclusive").Str
		for _, q := range plan.QueryRanges {
			scope := []string{"x-ms-documentdb-partitionkeyrangeid", r.Get("id").Str}
			switch {
			case q.Min == q.Max && (q.Min < low || q.Min >= high), q.Min != q.Max && (q.Max <= low || q.Min >= high):
				continue
			case q.Min != q.Max && (q.Min > low || q.Max < high):
				scope = append(scope, "x-ms-read-key-type", "EffectivePartitionKeyRange",
					"x-ms-start-epk", max(q.Min, low), "x-ms-end-epk", min(q.Max, high))
			}
			some, err := p.drain(text, params, scope...)
			if err != nil {
				return nil, err
			}
			if rows = append(rows, some...); q.Min == q.Max {
				break // the query's own conditions say the rest
			}
		}
	}
	if len(info.OrderBy) > 0 {
		slices.SortStableFunc(rows, info.compare)
	}
	return rows, nil
}

// drain reads all pages of a query from one range. scope are the request headers that select the range.
func (p *mergingQueryClient) drain(text, params string, scope ...string) (rows []jsondoc.Value, err error) {
	token := ""
	for {
		headers := queryHeaders(append(scope, p.headers...)...)
		headers = append(headers, "x-ms-max-item-count", strconv.Itoa(p.page))
		if token != "" {
			headers = append(headers, "x-ms-continuation", token)
		}
		a := p.w.do("POST", p.path, queryBody(text, params), headers...)
		if a.code != 200 {
			return nil, receivedErrorResponse{a}
		}
		jsondoc.Of(a.body).Member("Documents").Each(func(_ string, row jsondoc.Value) bool {
			rows = append(rows, row)
			return true
		})
		if token = a.header.Get("X-Ms-Continuation"); token == "" {
			return rows, nil
		}
	}
}

// compare orders rows by their orderByItems, like the .NET client, then by rid, descending if the first
// item is. In vector searches, undefined items come last.
func (info *testClientQueryPlanInfo) compare(a, b jsondoc.Value) int {
	x, y := elements(a.Member("orderByItems")), elements(b.Member("orderByItems"))
	for i, direction := range info.OrderBy {
		v, w := x[i].Member("item"), y[i].Member("item")
		c := jsondoc.Compare(v, w)
		if k := v.Kind(); k >= jsondoc.Array && k == w.Kind() { // as the client for .NET has it
			c = bytes.Compare(jsondoc.HashOf(v).AppendTo(nil), jsondoc.HashOf(w).AppendTo(nil))
		}
		if missing := v.Kind() == jsondoc.Undefined; info.HasNonStreamingOrderBy && missing != (w.Kind() == jsondoc.Undefined) {
			if missing {
				return 1
			}
			return -1
		}
		if direction == "Descending" {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	c := cmp.Compare(ridNumber(a), ridNumber(b))
	if info.OrderBy[0] == "Descending" {
		c = -c
	}
	return c
}

func elements(array jsondoc.Value) (list []jsondoc.Value) {
	array.Each(func(_ string, v jsondoc.Value) bool {
		list = append(list, v)
		return true
	})
	return list
}

// ridNumber returns the number in a row's _rid that gives the order in which items were created.
func ridNumber(row jsondoc.Value) uint64 {
	b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(row.Member("_rid").Str(), "-", "/"))
	if err != nil || len(b) != 16 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[8:])
}

// finish computes a query's result from the rows of all ranges: aggregates, groups, DISTINCT, OFFSET and
// LIMIT. The stages are in the order of the .NET client.
func (info *testClientQueryPlanInfo) finish(rows []jsondoc.Value) ([]jsondoc.Value, error) {
	if len(info.OrderBy) > 0 {
		rows = info.payloads(rows)
	}
	var err error
	switch {
	case len(info.GroupByExpressions) > 0 || len(info.GroupByAliasToAggregateType) > 0:
		rows, err = info.group(rows)
	case len(info.Aggregates) > 0:
		rows, err = info.single(rows)
	}
	if err != nil {
		return nil, err
	}
	switch info.DistinctType {
	case "Unordered":
		seen := map[string]bool{}
		rows = slices.DeleteFunc(rows, func(v jsondoc.Value) bool {
			key := string(jsondoc.AppendOrdered(nil, v))
			was := seen[key]
			seen[key] = true
			return was
		})
	case "Ordered":
		rows = slices.CompactFunc(rows, jsondoc.Equal)
	}
	if info.Offset != nil {
		rows = rows[min(*info.Offset, len(rows)):]
	}
	for _, most := range []*int{info.Limit, info.Top} {
		if most != nil {
			rows = rows[:min(*most, len(rows))]
		}
	}
	if info.DCountInfo != nil {
		count := jsondoc.NumberValue(float64(len(rows)))
		if name := info.DCountInfo.DCountAlias; name != "" {
			count = object(name, count)
		}
		rows = []jsondoc.Value{count}
	}
	return rows, nil
}

// payloads returns the "payload" of each row, that is, the row of the original query without the values
// that were needed only for merging.
func (info *testClientQueryPlanInfo) payloads(rows []jsondoc.Value) []jsondoc.Value {
	var list []jsondoc.Value
	for _, row := range rows {
		payload := row.Member("payload")
		if payload.Kind() != jsondoc.Undefined {
			list = append(list, payload)
		} else if !info.HasSelectValue {
			list = append(list, jsondoc.Of([]byte("{}")))
		}
	}
	return list
}

// single merges the rows of SELECT VALUE with one aggregate. The row of each range is an array of one
// element.
func (info *testClientQueryPlanInfo) single(rows []jsondoc.Value) ([]jsondoc.Value, error) {
	merged := newAggregateMerger(info.Aggregates[0])
	for _, row := range rows {
		if err := merged.add(elements(row)[0]); err != nil {
			return nil, err
		}
	}
	return defined(merged.value()), nil
}

func defined(v jsondoc.Value) []jsondoc.Value {
	if v.Kind() == jsondoc.Undefined {
		return nil
	}
	return []jsondoc.Value{v}
}

// group merges the groups of GROUP BY from all ranges, with their aggregates. Without GROUP BY all rows
// are one group.
func (info *testClientQueryPlanInfo) group(rows []jsondoc.Value) ([]jsondoc.Value, error) {
	type bucket struct {
		payload jsondoc.Value
		merged  map[string]*aggregateMerger
	}
	var groups []*bucket
	byKey := map[string]*bucket{}
	for _, row := range rows {
		payload := row.Member("payload")
		key := string(jsondoc.AppendOrdered(nil, row.Member("groupByItems")))
		g := byKey[key]
		if g == nil {
			g = &bucket{payload: payload, merged: map[string]*aggregateMerger{}}
			byKey[key] = g
			groups = append(groups, g)
			for name, aggregate := range info.GroupByAliasToAggregateType {
				if aggregate != nil {
					g.merged[name] = newAggregateMerger(*aggregate)
				}
			}
			if len(info.Aggregates) > 0 {
				g.merged[""] = newAggregateMerger(info.Aggregates[0])
			}
		}
		for name, m := range g.merged {
			part := payload.Member(name)
			if name == "" {
				part = elements(payload)[0]
			}
			if err := m.add(part); err != nil {
				return nil, err
			}
		}
	}
	var list []jsondoc.Value
	for _, g := range groups {
		switch {
		case g.merged[""] != nil:
			list = append(list, defined(g.merged[""].value())...)
		case info.HasSelectValue:
			list = append(list, defined(g.payload)...)
		default:
			var pairs []any
			for _, name := range info.GroupByAliases {
				if m := g.merged[name]; m != nil {
					pairs = append(pairs, name, m.value())
				} else {
					pairs = append(pairs, name, g.payload.Member(name))
				}
			}
			list = append(list, object(pairs...))
		}
	}
	return list, nil
}

// object returns a JSON object. pairs are names and values in turn; undefined values are omitted.
func object(pairs ...any) jsondoc.Value {
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if v := pairs[i+1].(jsondoc.Value); v.Kind() != jsondoc.Undefined {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = v.AppendJSON(append(jsondoc.AppendString(b, pairs[i].(string)), ':'))
		}
	}
	return jsondoc.Of(append(b, '}'))
}

// aggregateMerger merges the partial results of one aggregate function, such as SUM or AVG, from several
// ranges.
type aggregateMerger struct {
	kind    string
	sum     float64
	count   float64
	spoiled bool
	best    jsondoc.Value
	list    []jsondoc.Value
}

func newAggregateMerger(kind string) *aggregateMerger { return &aggregateMerger{kind: kind} }

func (m *aggregateMerger) add(part jsondoc.Value) error {
	value := part.Member("item")
	switch m.kind {
	case "Count", "CountIf", "Sum":
		m.spoiled = m.spoiled || value.Kind() != jsondoc.Number
		m.sum += value.Num()
	case "Average":
		m.spoiled = m.spoiled || value.Member("sum").Kind() != jsondoc.Number
		m.sum += value.Member("sum").Num()
		m.count += value.Member("count").Num()
	case "Min", "Max":
		counted := part.Member("item2")
		if counted.Member("count").Kind() != jsondoc.Number {
			return errors.New("there is no count in " + string(part.Raw()))
		}
		better := counted.Member(strings.ToLower(m.kind))
		sign := map[string]int{"Min": -1, "Max": 1}[m.kind]
		switch {
		case counted.Member("count").Num() == 0:
		case better.Kind() == jsondoc.Undefined || better.Kind() >= jsondoc.Array || jsondoc.Compare(better, value) != 0:
			m.spoiled = true
		case m.best.Kind() == jsondoc.Undefined || jsondoc.Compare(better, m.best) == sign:
			m.best = better
		}
	case "MakeList":
		m.list = append(m.list, elements(value)...)
	case "MakeSet":
		for _, v := range elements(value) {
			if !slices.ContainsFunc(m.list, func(w jsondoc.Value) bool { return jsondoc.Equal(v, w) }) {
				m.list = append(m.list, v)
			}
		}
	default:
		return errors.New("there is no aggregate " + m.kind)
	}
	return nil
}

func (m *aggregateMerger) value() jsondoc.Value {
	switch {
	case m.spoiled:
		return jsondoc.Value{}
	case m.kind == "Average" && m.count == 0:
		return jsondoc.Value{}
	case m.kind == "Average":
		return jsondoc.NumberValue(m.sum / m.count)
	case m.kind == "Min" || m.kind == "Max":
		return m.best
	case m.kind == "MakeList" || m.kind == "MakeSet":
		b := []byte{'['}
		for i, v := range m.list {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.AppendJSON(b)
		}
		return jsondoc.Of(append(b, ']'))
	}
	return jsondoc.NumberValue(m.sum)
}

// planHeaders returns the headers that request a query plan. features are the query features that the
// client can merge.
func planHeaders(features string) []string {
	return []string{"x-ms-cosmos-is-query-plan-request", "True", "x-ms-cosmos-query-version", "1.4", "x-ms-cosmos-supported-query-features", features}
}

const allFeatures = "NonValueAggregate, Aggregate, Distinct, MultipleOrderBy, OffsetAndLimit, OrderBy, Top, CompositeAggregate, GroupBy, " +
	"MultipleAggregates, NonStreamingOrderBy, ListAndSetAggregate, CountIf, DCount, HybridSearch, WeightedRankFusion, SomethingNew"
