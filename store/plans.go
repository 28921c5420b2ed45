package store

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query"
)

// plans are the queries that a container has planned lately. A plan is good as long as the documents are
// indexed in the same way, and serves any number of runs at once; so the pages of a query, and the same query
// asked again, are not planned again. Which of its ways a plan takes is decided by each run.
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
