//go:build long

package query

// How much Cosmos DB's query compiler is asked with -tags long.
const (
	askedQueries     = 3000
	askedExpressions = 30_000
	tokenRows        = 30_000
)
