package work

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query"
)

// Plans are the queries that a container has planned lately. A plan is good as long as the documents are
// indexed in the same way, and serves any number of runs at once; so the pages of a query, and the same query
// asked again, are not planned again. A query that has been planned for other values of its parameters, of
// the same types, is planned as far as that depends on the values: see query.Plan.With. Which of its ways a
// plan takes is decided by each run.
type Plans struct {
	Latest *lru.Cache[planKey, *query.Plan]
}

// planKey is what a plan was made of.
type planKey struct {
	terms      *index.Indexer
	text       string
	parameters string // with their values
	types      string // or with the types of these: the plan is for the values of one that was asked
}

const (
	maxPlans   = 128     // of a container
	maxPlanned = 8 << 10 // bytes of text and parameters of a query whose plan is kept
)

// NewPlans returns a cache without plans.
func NewPlans() Plans {
	lately, err := lru.New[planKey, *query.Plan](maxPlans)
	if err != nil {
		panic(err) // the size is a constant above 0
	}
	return Plans{lately}
}

// Plan prepares a query for a container that is indexed in one way.
func (p Plans) Plan(text string, params []query.Parameter, terms *index.Indexer,
	info func() query.Info) (*query.Plan, error) {
	values, types := parameterKeys(params)
	if len(text)+len(values) > maxPlanned {
		return query.Prepare(text, params, info())
	}
	key := planKey{terms: terms, text: text, parameters: values}
	if plan, ok := p.Latest.Get(key); ok {
		return plan, nil
	}
	kind := planKey{terms: terms, text: text, types: types}
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

// parameterKeys writes parameters with their values, and with the types of these.
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
