package gateway

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/syntax"
)

// The gateway's query plan.
//
// A client that merges asks for a plan, which Cosmos DB calls PartitionedQueryExecutionInfo. It sends the
// query in the plan to each partition range and merges the results: it merges rows by their ORDER BY values,
// combines aggregates, joins groups, drops duplicates, and applies OFFSET, LIMIT and TOP, in this order. So
// the rewritten query returns these values beside the rows:
//
//	ORDER BY c.a    {"_rid", "orderByItems": [{"item": c.a}], "payload": row}
//	SUM(c.a)        [{"item": SUM(c.a)}]
//	                or, as one of several columns, {"payload": {"column": {"item": SUM(c.a)}}}
//	AVG(c.a)        the same with {"sum", "count"}
//	MIN, MAX        the same with an item2 that counts, for ranges that have no value
//	GROUP BY c.g    {"groupByItems": [{"item": c.g}], "payload": row}
//	                which is the payload of ORDER BY if there is one
//	ORDER BY RANK   a query for the statistics of all texts, and one for each score, ordered by it
//
// The query is bound and planned like any other, so a plan is refused for the same errors as the query. Then
// a copy of its tree is rewritten and printed. A query that cannot be merged in this way is refused, unless
// it reads one partition key: it is then sent unchanged. A subquery in FROM that groups or drops duplicates
// does so within each range, as in Cosmos DB.

// GatewayOptions describes the client for which a plan is made, and its request.
type GatewayOptions struct {
	// Features lists the features that the client can merge, by Cosmos DB's names. Nil: all.
	Features []string
	// OnePartition is set if the request names a full partition key.
	OnePartition bool
	// Continued is set if the client will ask for more than one page. Then a query whose conditions name one
	// partition key is sent unchanged to the range of that key. If Continued is not set, such a query is
	// rewritten for clients that merge results, as any other query.
	Continued bool
}

// EffectivePartitionKeyRange is a range of effective partition keys, in hexadecimal. A point has equal ends,
// both inclusive.
type EffectivePartitionKeyRange struct {
	Min          string `json:"min"`
	Max          string `json:"max"`
	MinInclusive bool   `json:"isMinInclusive"`
	MaxInclusive bool   `json:"isMaxInclusive"`
}

// GatewayPlan describes to a client how to run a query over several partition ranges.
type GatewayPlan struct {
	Info   *queryInfo
	Hybrid *hybridInfo
	pins   plan.PinnedPartitionKeys
}

// queryInfo describes how the rows of a query are merged. Clients read the length of its arrays, so none may
// be null.
type queryInfo struct {
	DistinctType                string             `json:"distinctType"`
	Top                         *int64             `json:"top"`
	Offset                      *int64             `json:"offset"`
	Limit                       *int64             `json:"limit"`
	OrderBy                     []string           `json:"orderBy"`
	OrderByExpressions          []string           `json:"orderByExpressions"`
	GroupByExpressions          []string           `json:"groupByExpressions"`
	GroupByAliases              []string           `json:"groupByAliases"`
	Aggregates                  []string           `json:"aggregates"`
	GroupByAliasToAggregateType map[string]*string `json:"groupByAliasToAggregateType"`
	RewrittenQuery              string             `json:"rewrittenQuery"` // empty: the query unchanged
	HasSelectValue              bool               `json:"hasSelectValue"`
	DCountInfo                  *dcountInfo        `json:"dCountInfo"`
	HasNonStreamingOrderBy      bool               `json:"hasNonStreamingOrderBy"`
}

// dcountInfo makes the client count the distinct rows. Its alias is the name of the member that holds the
// count in the result row, or empty if the row is the count itself.
type dcountInfo struct {
	Alias string `json:"dCountAlias"`
}

func newQueryInfo() *queryInfo {
	return &queryInfo{
		DistinctType: "None", OrderBy: []string{}, OrderByExpressions: []string{},
		GroupByExpressions: []string{},
		GroupByAliases:     []string{}, Aggregates: []string{},
		GroupByAliasToAggregateType: map[string]*string{},
	}
}

// Prepare makes the plan of a query. It reports the same errors as plan.Prepare, except for a missing index,
// which the partition range reports. The error is a *queryerror.Error or, if the client lacks a feature, an
// *MissingClientFeaturesError.
func Prepare(text string, params []bind.Parameter, info bind.ContainerInfo,
	o GatewayOptions) (*GatewayPlan, error) {
	info.Index, info.Lenient = nil, true
	b, err := bind.Text(text, params, &info, plan.FoldConstants)
	if err != nil {
		return nil, err
	}
	p, err := plan.Of(b)
	if err != nil {
		return nil, err
	}
	return Of(p, o)
}

// Of makes the gateway plan of a planned query, which it does not change. It returns a *queryerror.Error if
// clients cannot merge the rows, or a *MissingClientFeaturesError if the client lacks a feature.
func Of(p *plan.Plan, o GatewayOptions) (*GatewayPlan, error) {
	b := p.Written()
	q := b.Q
	g := &planBuilder{Binder: b.Binder, q: q, top: b.Top, of: p.Top, info: newQueryInfo(),
		plan: &GatewayPlan{pins: p.Pins}, features: o.Features}
	levels := len(p.Info.PartitionPaths)
	keys := p.Pins.Keys
	pinned := levels > 0 && len(keys) == 1 && len(keys[0]) == levels
	g.one = o.OnePartition || pinned
	g.info.HasSelectValue = q.Select.Value != nil
	// If the conditions of a query name one partition key, or if the query reads no item, one range answers
	// it unchanged. For one partition key Cosmos DB does so only if the client expects a continuation.
	none := p.Pins.Known && len(keys) == 0
	bare := (pinned && o.Continued || none) && (!q.Select.Distinct || q.From == nil) && len(g.top.Rank) == 0
	if bare && bind.ListsAggregates(g.top) {
		g.need(featureNonValue)
	}
	if !bare {
		wrong := g.rewrite()
		if wrong != nil && !g.one {
			return nil, wrong
		}
		if wrong != nil {
			g.needs, g.info = nil, newQueryInfo()
			g.info.HasSelectValue = q.Select.Value != nil
		}
	}
	if err := g.supported(); err != nil {
		return nil, err
	}
	if g.plan.Hybrid == nil {
		g.plan.Info = g.info
	}
	return g.plan, nil
}

// PinnedKeys returns the partition keys that the conditions of the query allow: see plan.Plan.PinnedKeys.
func (g *GatewayPlan) PinnedKeys() (keys [][]jsondoc.Value, ok bool) {
	return g.pins.Keys, g.pins.Known
}

// JSON renders the plan for a client, with the ranges of the PinnedKeys.
func (g *GatewayPlan) JSON(ranges []EffectivePartitionKeyRange) ([]byte, error) {
	return jsondoc.Marshal(struct {
		Version int                          `json:"partitionedQueryExecutionInfoVersion"`
		Info    *queryInfo                   `json:"queryInfo,omitempty"`
		Ranges  []EffectivePartitionKeyRange `json:"queryRanges"`
		Hybrid  *hybridInfo                  `json:"hybridSearchQueryInfo"`
	}{2, g.Info, ranges, g.Hybrid})
}

// The features that a client needs in order to merge a query, by Cosmos DB's names.
const (
	featureAggregate          = "Aggregate"          // SELECT VALUE with one aggregate of any kind
	featureNonValue           = "NonValueAggregate"  // aggregates in a select list
	featureMultipleAggregates = "MultipleAggregates" // several aggregates
	featureListAndSet         = "ListAndSetAggregate"
	featureCountIf            = "CountIf"
	featureDistinct           = "Distinct"
	featureDCount             = "DCount"
	featureGroupBy            = "GroupBy"
	featureOrderBy            = "OrderBy"         // by one value
	featureMultipleOrderBy    = "MultipleOrderBy" // by several
	featureNonStreaming       = "NonStreamingOrderBy"
	featureOffsetLimit        = "OffsetAndLimit"
	featureTop                = "Top"
	featureHybrid             = "HybridSearch"
	featureWeighted           = "WeightedRankFusion"
	featureSkipOrderBy        = "HybridSearchSkipOrderByRewrite" // never needed: see rankPlan
)

// featureOrder is the order in which an error of Cosmos DB lists the query features that a query needs and
// the client has not declared: the order of their bits in the SDKs' enumerations.
var featureOrder = []string{
	featureAggregate, featureDistinct, featureGroupBy, featureMultipleAggregates, featureMultipleOrderBy,
	featureOffsetLimit, featureOrderBy,
	featureTop, featureNonValue, featureDCount, featureNonStreaming, featureListAndSet, featureCountIf,
	featureHybrid, featureWeighted,
}

// MissingClientFeaturesError reports that a client cannot merge the results of a query over several partition
// ranges. In Cosmos DB the response has the status 400 and the substatus 1004.
type MissingClientFeaturesError struct {
	Features []string // names of Cosmos DB, in the order of their numbers; at least one
}

// Error returns the message in the words of Cosmos DB.
func (e *MissingClientFeaturesError) Error() string {
	var b strings.Builder
	b.WriteString("Query contains 1 or more unsupported features. Upgrade your SDK to a version that does support the requested features:")
	for _, f := range e.Features {
		b.WriteString("\nQuery contained " + f + ", which the calling client does not support.")
	}
	return b.String()
}

// planBuilder makes the gateway plan of a query. It changes neither the tree nor the tables of the query,
// which belong to the query's Plan.
type planBuilder struct {
	*bind.Binder
	q    *syntax.QueryTree // the query as written, but with the item as its first source: see enterItem
	top  *bind.QueryBlock  // the query's block as written, before constants were folded
	of   *bind.QueryBlock  // the block in which names are resolved
	one  bool              // the query reads one partition key
	info *queryInfo
	plan *GatewayPlan
	part func(syntax.Expr) syntax.Expr // replaces names after enterItem; nil: no names have to be replaced

	features []string // of the client; nil: all
	needs    []string // the features that the query needs
}

func (g *planBuilder) need(features ...string) {
	for _, f := range features {
		if !slices.Contains(g.needs, f) {
			g.needs = append(g.needs, f)
		}
	}
}

// supported returns an error if the query needs features that the client lacks.
func (g *planBuilder) supported() error {
	if g.features == nil {
		return nil
	}
	var missing []string
	for _, f := range featureOrder {
		if slices.Contains(g.needs, f) && !g.listed(f) {
			missing = append(missing, f)
		}
	}
	if missing == nil {
		return nil
	}
	return &MissingClientFeaturesError{missing}
}

// listed reports whether the client has announced a feature.
func (g *planBuilder) listed(feature string) bool {
	return slices.ContainsFunc(g.features, func(f string) bool { return strings.EqualFold(f, feature) })
}

// rewrite determines the query that the client sends to each range and how it merges the rows. An error
// reports why the rows cannot be merged.
func (g *planBuilder) rewrite() error {
	switch {
	case len(g.top.Rank) > 0:
		g.rankPlan()
		return nil
	case g.countDistinct():
		return nil
	case g.top.Grouped:
		return g.groupPlan()
	case len(g.top.Order) > 0:
		g.orderPlan()
		return nil
	}
	g.streamPlan()
	return nil
}

// rewritten stores the query that the client sends to the ranges.
func (g *planBuilder) rewritten(q *syntax.QueryTree) { g.info.RewrittenQuery = syntax.Print(q) }
