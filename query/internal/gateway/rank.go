package gateway

import (
	"bytes"
	"math"
	"strconv"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/syntax"
)

// hybridInfo describes how ORDER BY RANK is merged. The client asks all ranges for the statistics of texts
// and adds them up, and puts them into the component queries in place of the placeholders. It then asks all
// ranges for the best rows by each component, and ranks the union of these rows by all scores.
type hybridInfo struct {
	GlobalStatisticsQuery    string           `json:"globalStatisticsQuery"`
	Components               []*queryInfo     `json:"componentQueryInfos"`
	WithoutPayload           []*queryInfo     `json:"componentWithoutPayloadQueryInfos"` // for older clients
	Projection               *queryInfo       `json:"projectionQueryInfo"`               // for older clients
	Weights                  []floatWithPoint `json:"componentWeights"`                  // empty: all equal
	Skip                     *int64           `json:"skip"`
	Take                     *int64           `json:"take"`
	RequiresGlobalStatistics bool             `json:"requiresGlobalStatistics"`
}

// floatWithPoint is a number that JSON shows with a fraction, such as 1.0, since the Java client
// misreads 1.
type floatWithPoint float64

func (w floatWithPoint) MarshalJSON() ([]byte, error) {
	b := strconv.AppendFloat(nil, float64(w), 'f', -1, 64)
	if !bytes.ContainsRune(b, '.') {
		b = append(b, ".0"...)
	}
	return b, nil
}

// The names of the placeholders in the queries of an ORDER BY RANK that a client replaces by the
// statistics of all ranges. The last two end with the number of the text.
const (
	placeDocuments = "documentdb-formattablehybridsearchquery-totaldocumentcount"
	placeWords     = "documentdb-formattablehybridsearchquery-totalwordcount-"
	placeHits      = "documentdb-formattablehybridsearchquery-hitcountsarray-"
)

// Scores for documents that have no score. These documents have to come last: scores of texts are at least
// 0, and distances can be any number.
const (
	noTextScore = -1
	noScore     = 1.79769e+308
)

// rankComponent is one score of ORDER BY RANK, as it is used in the component queries: the queries of a plan
// that return the best rows by a single score.
type rankComponent struct {
	score   syntax.Expr
	missing float64 // replaces an undefined score
	rising  bool    // smaller scores are better
	sort    *syntax.SortItem
}

// rankPlan makes the plan for ORDER BY RANK.
func (g *planBuilder) rankPlan() {
	g.need(featureHybrid)
	payload, defined := g.payload()
	h := &hybridInfo{Components: []*queryInfo{}, WithoutPayload: []*queryInfo{},
		Weights: []floatWithPoint{}}
	if g.weighted() {
		g.need(featureWeighted)
	}
	var statistics []syntax.Expr
	var list []rankComponent
	for _, part := range g.top.Rank {
		list = append(list, g.component(part, &statistics))
		if g.weighted() {
			h.Weights = append(h.Weights, floatWithPoint(part.Weight))
		}
	}
	h.RequiresGlobalStatistics = len(statistics) > 0
	h.GlobalStatisticsQuery = syntax.Print(&syntax.QueryTree{From: g.q.From,
		Select: &syntax.SelectClause{Items: []*syntax.SelectItem{
			as(callOf("COUNT", bind.Number(1)), "documentCount"), as(&syntax.ArrayLiteral{Elems: statistics},
				"fullTextStatistics"),
		}}})
	var most *int64
	h.Skip, h.Take, most = g.rankLimit()
	if len(list) > 1 && g.listed(featureSkipOrderBy) {
		g.plainComponents(h, list, most, payload, defined)
	} else {
		g.orderedComponents(h, list, most, payload, defined)
	}
	g.plan.Hybrid = h
}

// orderedComponents makes the component queries of ORDER BY RANK, one for each score: each returns the best
// rows by its score in the form in which clients merge rows of an ORDER BY.
func (g *planBuilder) orderedComponents(h *hybridInfo, list []rankComponent, most *int64, payload syntax.Expr,
	defined []syntax.Expr) {
	var scores []syntax.Expr
	for _, c := range list {
		scores = append(scores, c.orMissing())
	}
	payload = object(bind.SelectProperty{Name: "payload", X: payload},
		bind.SelectProperty{Name: "componentScores",
			X: &syntax.ArrayLiteral{Elems: scores}})
	where := g.resumable(g.q.Where, defined)
	for _, c := range list {
		info := g.componentInfo(c, most, g.ordered([]syntax.Expr{item(c.score)}, payload), where)
		info.Top, info.HasNonStreamingOrderBy = most, true
		info.OrderByExpressions = []string{syntax.PrintExpr(c.score)}
		if info.OrderBy = []string{"Descending"}; c.rising {
			info.OrderBy[0] = "Ascending"
		}
		h.Components = append(h.Components, info)
	}
}

// plainComponents makes one query for each score of ORDER BY RANK, for clients that compute the ranks from
// the rows of these queries without merging the ranges first. Such a client takes a greater score as the
// better one.
func (g *planBuilder) plainComponents(h *hybridInfo, list []rankComponent, most *int64, payload syntax.Expr,
	defined []syntax.Expr) {
	var scores []syntax.Expr
	for _, c := range list {
		score := c.orMissing()
		if c.rising {
			score = &syntax.Binary{Op: syntax.Mul, X: &syntax.Literal{Value: lang.IntegerValue(-1)}, Y: score}
		}
		scores = append(scores, score)
	}
	items := []*syntax.SelectItem{g.itemRID(), as(payload, "payload"),
		as(&syntax.ArrayLiteral{Elems: scores}, "componentScores")}
	where := conjunction(g.q.Where, defined)
	for _, c := range list {
		h.Components = append(h.Components, g.componentInfo(c, most, items, where))
	}
}

// weighted reports whether the query gives weights to the scores.
func (g *planBuilder) weighted() bool {
	return len(g.top.Rank) > 1 && len(g.q.OrderBy.Rank.Args) > len(g.top.Rank)
}

// rankLimit returns OFFSET, LIMIT or TOP, and the number of rows to request from each range.
func (g *planBuilder) rankLimit() (skip, take, most *int64) {
	skipped, taken := int64(0), g.top.Limit
	if taken >= 0 {
		skip, skipped = &g.top.Offset, g.top.Offset
	}
	if g.top.Top >= 0 && (taken < 0 || g.top.Top < taken) {
		taken = g.top.Top
	}
	if taken < 0 {
		return nil, nil, nil
	}
	n := min(max(plan.LeastRanked, 2*(skipped+taken)), math.MaxInt32) // clients store it in 32 bits
	return skip, &taken, &n
}

// component returns one score of ORDER BY RANK in the form in which the component queries of the client's
// plan compute it; a component query returns the best rows by one score. For the score of a text, component
// also appends the statistics that the score needs to statistics: the number of words of all texts, and the
// number of texts that have each term.
func (g *planBuilder) component(part *bind.RankScore, statistics *[]syntax.Expr) rankComponent {
	c := rankComponent{missing: noTextScore, rising: part.Rising}
	var args []syntax.Expr
	for _, e := range part.Call.(*syntax.Call).Args {
		args = append(args, g.inItem(e))
	}
	if part.Text == nil {
		c.score, c.missing = callOf("_VectorScore", args...), -noScore
	} else {
		no := strconv.Itoa(len(*statistics))
		text, terms := args[0], g.terms(args[1:])
		var hits []syntax.Expr
		for _, term := range terms {
			hits = append(hits, callOf("COUNTIF", callOf("FullTextContains", text, term)))
		}
		*statistics = append(*statistics,
			object(bind.SelectProperty{Name: "totalWordCount",
				X: callOf("SUM", callOf("_FullTextWordCount", text))},
				bind.SelectProperty{Name: "hitCounts", X: &syntax.ArrayLiteral{Elems: hits}}))
		place := func(name string) syntax.Expr { return &syntax.RewrittenQueryPlaceholder{Name: name} }
		c.score = callOf("_FullTextScore", text, &syntax.ArrayLiteral{Elems: terms}, place(placeDocuments),
			place(placeWords+no), place(placeHits+no))
	}
	if part.Rising {
		c.missing = noScore
	}
	c.sort = &syntax.SortItem{X: c.score, Desc: !part.Rising, Asc: part.Rising}
	if part.Text == nil && part.Rising == g.Euclidean(part.Call.(*syntax.Call)) {
		c.sort = &syntax.SortItem{X: c.score} // without a direction the nearest come first
	}
	return c
}

// orMissing returns an expression whose value is the score or, for a document whose score is undefined, the
// number that takes its place.
func (c rankComponent) orMissing() syntax.Expr {
	return &syntax.Coalesce{X: c.score, Y: &syntax.Literal{Value: jsondoc.NumberValue(c.missing)}}
}

// componentInfo makes the query by which a client gets from each range the best rows by one score, at most
// most rows; nil: all.
func (g *planBuilder) componentInfo(c rankComponent, most *int64, items []*syntax.SelectItem,
	where syntax.Expr) *queryInfo {
	s := &syntax.SelectClause{Items: items}
	if most != nil {
		s.Top = count(*most)
	}
	info := newQueryInfo()
	info.RewrittenQuery = syntax.Print(&syntax.QueryTree{
		Select: s, From: g.q.From, Where: where, OrderBy: &syntax.OrderBy{Items: []*syntax.SortItem{c.sort}},
	})
	return info
}

// terms returns the terms of a FullTextScore. A parameter is replaced by its value: not every client sends
// the parameters of a query with the queries of its plan.
func (g *planBuilder) terms(list []syntax.Expr) (terms []syntax.Expr) {
	for _, e := range list {
		if p, ok := e.(*syntax.Parameter); ok {
			e = &syntax.Literal{Value: g.PinnedValue(p.Name)}
		}
		terms = append(terms, e)
	}
	return terms
}
