package work

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query"
)

// PlanCache caches the plans of a container's recent queries. A plan stays valid as long as the documents are
// indexed in the same way, and may serve several runs at once. So the later pages of a query, and the
// same query later on, need no planning. For a query that was planned with other parameter values of the
// same types, only the part that depends on the values is planned: see query.Plan.With. Each run chooses
// one of the plan's access paths.
type PlanCache struct {
	Latest *lru.Cache[planCacheKey, *query.Plan]
}

// planCacheKey identifies a cached plan: it has everything on which the plan depends.
type planCacheKey struct {
	terms      *index.Indexer
	text       string
	parameters string // the parameters with their values
	types      string // the types of the parameters, in a key that is valid for all values of these types
}

const (
	maxPlans   = 128     // per container
	maxPlanned = 8 << 10 // maximum bytes of text and parameters of a cached query
)

// NewPlans returns an empty cache.
func NewPlans() PlanCache {
	lately, err := lru.New[planCacheKey, *query.Plan](maxPlans)
	if err != nil {
		panic(err) // the size is a constant above 0
	}
	return PlanCache{lately}
}

// Plan returns a cached plan of a query, or makes one. terms describes the indexes of the container. info
// is called, to describe the rest of the container, only if there is no plan yet.
func (p PlanCache) Plan(text string, params []query.Parameter, terms *index.Indexer,
	info func() query.ContainerInfo) (*query.Plan, error) {
	values, types := parameterKeys(params)
	if len(text)+len(values) > maxPlanned {
		return query.Prepare(text, params, info())
	}
	key := planCacheKey{terms: terms, text: text, parameters: values}
	if plan, ok := p.Latest.Get(key); ok {
		return plan, nil
	}
	kind := planCacheKey{terms: terms, text: text, types: types}
	plan, known := p.Latest.Get(kind)
	var err error
	if known {
		plan, err = plan.With(params)
	} else {
		plan, err = query.Prepare(text, params, info())
	}
	if err != nil {
		return nil, err
	}
	p.Latest.Add(key, plan)
	if !known && len(params) > 0 {
		p.Latest.Add(kind, plan)
	}
	return plan, nil
}

// parameterKeys returns two keys of the cache for parameters: their names and values, and their names and
// the types of their values.
func parameterKeys(list []query.Parameter) (values, types string) {
	if len(list) == 0 {
		return "", ""
	}
	var room [256]byte
	b := room[:0]
	for _, p := range list {
		b = append(p.Value.AppendJSON(append(append(b, p.Name...), '=')), 0)
	}
	values = string(b)
	b = b[:0]
	for _, p := range list {
		b = append(append(b, p.Name...), '=', byte('0'+p.Value.Kind()))
	}
	return values, string(b)
}
