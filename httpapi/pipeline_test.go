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

	"github.com/mayflydb/mayfly/doc"
)

// pipeline is a client that merges partition ranges by the server's query plans, as the official SDKs do.
type pipeline struct {
	w       *world
	path    string // of the items
	headers []string
	page    int // rows of a page that a range is asked for
	ranges  []gjson.Result

	features string
}

func (w *world) pipeline(path string, page int, headers ...string) *pipeline {
	w.t.Helper()
	feed := w.do("GET", strings.TrimSuffix(path, "docs")+"pkranges", "").want(200)
	return &pipeline{w: w, path: path, page: page, headers: headers, features: allFeatures, ranges: feed.at("PartitionKeyRanges").Array()}
}

// planInfo is the part of a plan that a client goes by.
type planInfo struct {
	DistinctType                                            string
	Top, Offset, Limit                                      *int
	OrderBy, GroupByExpressions, GroupByAliases, Aggregates []string
	GroupByAliasToAggregateType                             map[string]*string
	RewrittenQuery                                          string
	HasSelectValue, HasNonStreamingOrderBy                  bool
	DCountInfo                                              *struct{ DCountAlias string }
}

type queryPlan struct {
	QueryInfo             *planInfo
	HybridSearchQueryInfo *struct {
		GlobalStatisticsQuery    string
		ComponentQueryInfos      []*planInfo
		ComponentWeights         []float64
		Skip, Take               *int
		RequiresGlobalStatistics bool
	}
	QueryRanges []struct {
		Min, Max                       string
		IsMinInclusive, IsMaxInclusive bool
	}
}

// refusedAnswer is a failure of the server.
type refusedAnswer struct{ *answer }

func (r refusedAnswer) Error() string { return fmt.Sprintf("%d %s", r.code, r.body) }

// result runs a query to its end.
func (p *pipeline) result(text, params string) ([]doc.Value, error) {
	a := p.w.do("POST", p.path, queryBody(text, params), queryHeaders(append(p.headers, planHeaders(p.features)...)...)...)
	if a.code != 200 {
		return nil, refusedAnswer{a}
	}
	var plan queryPlan
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

// gather asks all ranges that the plan names and merges the rows in the order of the query.
func (p *pipeline) gather(plan *queryPlan, info *planInfo, text, params string) ([]doc.Value, error) {
	text = strings.ReplaceAll(text, "{documentdb-formattableorderbyquery-filter}", "true")
	var rows []doc.Value
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

// drain asks one range for all pages.
func (p *pipeline) drain(text, params string, scope ...string) (rows []doc.Value, err error) {
	token := ""
	for {
		headers := queryHeaders(append(scope, p.headers...)...)
		headers = append(headers, "x-ms-max-item-count", strconv.Itoa(p.page))
		if token != "" {
			headers = append(headers, "x-ms-continuation", token)
		}
		a := p.w.do("POST", p.path, queryBody(text, params), headers...)
		if a.code != 200 {
			return nil, refusedAnswer{a}
		}
		doc.Of(a.body).Member("Documents").Each(func(_ string, row doc.Value) bool {
			rows = append(rows, row)
			return true
		})
		if token = a.header.Get("X-Ms-Continuation"); token == "" {
			return rows, nil
		}
	}
}

// compare puts rows in the order that orderByItems tell; equal ones in that of their rids, backwards where
// the first key is descending. By what is not there nothing is near.
func (info *planInfo) compare(a, b doc.Value) int {
	x, y := elements(a.Member("orderByItems")), elements(b.Member("orderByItems"))
	for i, direction := range info.OrderBy {
		v, w := x[i].Member("item"), y[i].Member("item")
		c := doc.Compare(v, w)
		if k := v.Kind(); k >= doc.Array && k == w.Kind() { // as the client for .NET has it
			c = bytes.Compare(doc.HashOf(v).AppendTo(nil), doc.HashOf(w).AppendTo(nil))
		}
		if missing := v.Kind() == doc.Undefined; info.HasNonStreamingOrderBy && missing != (w.Kind() == doc.Undefined) {
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

func elements(array doc.Value) (list []doc.Value) {
	array.Each(func(_ string, v doc.Value) bool {
		list = append(list, v)
		return true
	})
	return list
}

// ridNumber is the number in a row's _rid by which items are in the order of their creation.
func ridNumber(row doc.Value) uint64 {
	b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(row.Member("_rid").Str(), "-", "/"))
	if err != nil || len(b) != 16 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[8:])
}

// finish makes the result of the rows of all ranges. The stages are in the order of the .NET client.
func (info *planInfo) finish(rows []doc.Value) ([]doc.Value, error) {
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
		rows = slices.DeleteFunc(rows, func(v doc.Value) bool {
			key := string(doc.AppendOrdered(nil, v))
			was := seen[key]
			seen[key] = true
			return was
		})
	case "Ordered":
		rows = slices.CompactFunc(rows, doc.Equal)
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
		count := doc.NumberValue(float64(len(rows)))
		if name := info.DCountInfo.DCountAlias; name != "" {
			count = object(name, count)
		}
		rows = []doc.Value{count}
	}
	return rows, nil
}

// payloads are the rows without what they were merged by.
func (info *planInfo) payloads(rows []doc.Value) []doc.Value {
	var list []doc.Value
	for _, row := range rows {
		payload := row.Member("payload")
		if payload.Kind() != doc.Undefined {
			list = append(list, payload)
		} else if !info.HasSelectValue {
			list = append(list, doc.Of([]byte("{}")))
		}
	}
	return list
}

// single merges SELECT VALUE AGGREGATE(...): a range's row is an array of one element.
func (info *planInfo) single(rows []doc.Value) ([]doc.Value, error) {
	merged := newMerger(info.Aggregates[0])
	for _, row := range rows {
		if err := merged.add(elements(row)[0]); err != nil {
			return nil, err
		}
	}
	return defined(merged.value()), nil
}

func defined(v doc.Value) []doc.Value {
	if v.Kind() == doc.Undefined {
		return nil
	}
	return []doc.Value{v}
}

// group merges groups, and columns that are aggregates; without GROUP BY there is one group.
func (info *planInfo) group(rows []doc.Value) ([]doc.Value, error) {
	type bucket struct {
		payload doc.Value
		merged  map[string]*merger
	}
	var groups []*bucket
	byKey := map[string]*bucket{}
	for _, row := range rows {
		payload := row.Member("payload")
		key := string(doc.AppendOrdered(nil, row.Member("groupByItems")))
		g := byKey[key]
		if g == nil {
			g = &bucket{payload: payload, merged: map[string]*merger{}}
			byKey[key] = g
			groups = append(groups, g)
			for name, aggregate := range info.GroupByAliasToAggregateType {
				if aggregate != nil {
					g.merged[name] = newMerger(*aggregate)
				}
			}
			if len(info.Aggregates) > 0 {
				g.merged[""] = newMerger(info.Aggregates[0])
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
	var list []doc.Value
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

// object makes an object of names and values that take turns; what is undefined is left out.
func object(pairs ...any) doc.Value {
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if v := pairs[i+1].(doc.Value); v.Kind() != doc.Undefined {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = v.AppendJSON(append(doc.AppendString(b, pairs[i].(string)), ':'))
		}
	}
	return doc.Of(append(b, '}'))
}

// merger adds up what ranges report of one aggregate.
type merger struct {
	kind    string
	sum     float64
	count   float64
	spoiled bool
	best    doc.Value
	list    []doc.Value
}

func newMerger(kind string) *merger { return &merger{kind: kind} }

func (m *merger) add(part doc.Value) error {
	value := part.Member("item")
	switch m.kind {
	case "Count", "CountIf", "Sum":
		m.spoiled = m.spoiled || value.Kind() != doc.Number
		m.sum += value.Num()
	case "Average":
		m.spoiled = m.spoiled || value.Member("sum").Kind() != doc.Number
		m.sum += value.Member("sum").Num()
		m.count += value.Member("count").Num()
	case "Min", "Max":
		counted := part.Member("item2")
		if counted.Member("count").Kind() != doc.Number {
			return errors.New("there is no count in " + string(part.Raw()))
		}
		better := counted.Member(strings.ToLower(m.kind))
		sign := map[string]int{"Min": -1, "Max": 1}[m.kind]
		switch {
		case counted.Member("count").Num() == 0:
		case better.Kind() == doc.Undefined || better.Kind() >= doc.Array || doc.Compare(better, value) != 0:
			m.spoiled = true
		case m.best.Kind() == doc.Undefined || doc.Compare(better, m.best) == sign:
			m.best = better
		}
	case "MakeList":
		m.list = append(m.list, elements(value)...)
	case "MakeSet":
		for _, v := range elements(value) {
			if !slices.ContainsFunc(m.list, func(w doc.Value) bool { return doc.Equal(v, w) }) {
				m.list = append(m.list, v)
			}
		}
	default:
		return errors.New("there is no aggregate " + m.kind)
	}
	return nil
}

func (m *merger) value() doc.Value {
	switch {
	case m.spoiled:
		return doc.Value{}
	case m.kind == "Average" && m.count == 0:
		return doc.Value{}
	case m.kind == "Average":
		return doc.NumberValue(m.sum / m.count)
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
		return doc.Of(append(b, ']'))
	}
	return doc.NumberValue(m.sum)
}

// planHeaders ask for a plan.
func planHeaders(features string) []string {
	return []string{"x-ms-cosmos-is-query-plan-request", "True", "x-ms-cosmos-query-version", "1.4", "x-ms-cosmos-supported-query-features", features}
}

const allFeatures = "NonValueAggregate, Aggregate, Distinct, MultipleOrderBy, OffsetAndLimit, OrderBy, Top, CompositeAggregate, GroupBy, " +
	"MultipleAggregates, NonStreamingOrderBy, ListAndSetAggregate, CountIf, DCount, HybridSearch, WeightedRankFusion, SomethingNew"
