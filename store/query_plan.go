package store

import (
	"context"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/classify"
)

// QueryPlan returns the plan by which a client runs a query over several partition ranges: the JSON
// document that Cosmos DB calls PartitionedQueryExecutionInfo. It contains the query that the client sends
// to each range, and how to merge the results. features are Cosmos DB's names of the features that the
// client can merge; nil means all. Of q only the text, the parameters, the partition key and Continued are
// used. CodeBadRequest: the query is invalid. CodeCrossPartition: it needs a feature that is not in features;
// the cause is a *query.MissingClientFeaturesError.
func (c *Container) QueryPlan(ctx context.Context, q QueryRequest,
	features []string) ([]byte, OperationReceipt, error) {
	c.beginUse()
	defer c.endUse()
	st := c.state.Load()
	prepare := func(o query.GatewayOptions) (plan *query.GatewayPlan, err error) {
		late := c.large(ctx, weightOf(q), func() {
			plan, err = query.Gateway(q.Text, q.Parameters, c.items.QueryInfo(st), o)
		})
		if late != nil {
			return nil, late
		}
		return plan, err
	}
	plan, err := c.gatewayPlan(q, features, prepare)
	if err != nil && c.outdated(ctx, st) {
		st = c.state.Load()
		plan, err = c.gatewayPlan(q, features, prepare)
	}
	return plan, c.refused(), classify.ToFault(err)
}

// gatewayPlan returns, as JSON, the query plan for a client that merges the results of partition ranges.
// features lists what the client can merge. prepare makes the plan for the options that gatewayPlan derives
// from q and features.
func (c *Container) gatewayPlan(q QueryRequest, features []string,
	prepare func(query.GatewayOptions) (*query.GatewayPlan, error),
) ([]byte, error) {
	key := q.Scope.Partition
	if !key.IsZero() {
		var err error
		if key, err = c.def.ScopeKey(key); err != nil {
			return nil, err
		}
	}
	plan, err := prepare(query.GatewayOptions{
		Features: features, OnePartition: key.Len() == c.def.Levels(), Continued: q.Continued,
	})
	if err != nil {
		return nil, err
	}
	keys, known := plan.PinnedKeys()
	if !key.IsZero() {
		keys, known = [][]jsondoc.Value{key.Values()}, true
	}
	return plan.JSON(c.keyRanges(keys, known))
}

// keyRanges returns the ranges of effective partition keys that contain the given keys, in order: a single
// point for a full key, a range for a prefix of one. If known is false, it returns the whole key space. For
// an empty list of known keys it returns the point of the empty key, so that the client queries one range
// and finds nothing.
func (c *Container) keyRanges(keys [][]jsondoc.Value, known bool) []query.EffectivePartitionKeyRange {
	switch {
	case !known:
		return []query.EffectivePartitionKeyRange{{Max: definition.MaxEPK, MinInclusive: true}}
	case len(keys) == 0:
		return []query.EffectivePartitionKeyRange{{MinInclusive: true, MaxInclusive: true}}
	}
	ranges := make([]query.EffectivePartitionKeyRange, 0, len(keys))
	for _, values := range keys {
		epk := definition.EPKHex(definition.EPK(&c.def, definition.NewPartitionKey(values...)))
		if len(values) == c.def.Levels() {
			ranges = append(ranges, query.EffectivePartitionKeyRange{Min: epk, Max: epk, MinInclusive: true,
				MaxInclusive: true})
		} else {
			ranges = append(ranges, query.EffectivePartitionKeyRange{Min: epk, Max: epk + definition.MaxEPK,
				MinInclusive: true})
		}
	}
	slices.SortFunc(ranges,
		func(a, b query.EffectivePartitionKeyRange) int { return strings.Compare(a.Min, b.Min) })
	return slices.Compact(ranges)
}
