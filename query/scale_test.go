//go:build !long

package query

// The numbers of random queries, expressions and documents that tests use without the build tag long.
// Cosmos DB's query compiler needs 30 ms for each query.
const (
	askedQueries     = 150
	askedExpressions = 1000
	tokenRows        = 1500
	differences      = 40 // sets of documents, 120 queries each
)

// nearestVectors is the number of vectors among which a test searches.
const nearestVectors = 4_000

// spilledDocuments is the number of documents that a test sorts and groups in temporary files.
const spilledDocuments = 30_000
