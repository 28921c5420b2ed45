package store

import (
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query"
)

// plans are the queries that a container has planned lately. A plan is good as long as the documents are indexed
// in the same way, and serves any number of runs at once; so the pages of a query, and the same query asked
// again, are not planned again. Which of its ways a plan takes is decided by each run.
type plans struct {
	lately *lru.Cache[planKey, *query.Plan]
}

// planKey is what a plan was made of.
type planKey struct {
	terms      *index.Indexer
	text       string
	parameters string
}

const (
	maxPlans   = 128     // of a container
	maxPlanned = 8 << 10 // bytes of text and parameters of a query whose plan is kept
)

func newPlans() plans {
	lately, err := lru.New[planKey, *query.Plan](maxPlans)
	if err != nil {
		panic(err) // the size is a constant above 0
	}
	return plans{lately}
}

// plan prepares a query for a state of the container.
func (c *Container) plan(st *containerState, q QueryRequest) (*query.Plan, error) {
	key := planKey{terms: st.terms, text: q.Text}
	if n := len(q.Parameters); n > 0 {
		var list []byte
		for _, p := range q.Parameters {
			list = append(p.Value.AppendJSON(append(append(list, p.Name...), '=')), 0)
		}
		key.parameters = string(list)
	}
	if len(key.text)+len(key.parameters) > maxPlanned {
		return query.Prepare(q.Text, q.Parameters, c.queryInfo(st))
	}
	if plan, ok := c.plans.lately.Get(key); ok {
		return plan, nil
	}
	params := slices.Clone(q.Parameters) // they point into the request, which does not live as long
	for i := range params {
		params[i].Value = params[i].Value.Clone()
	}
	plan, err := query.Prepare(q.Text, params, c.queryInfo(st))
	if err == nil {
		c.plans.lately.Add(key, plan)
	}
	return plan, err
}
