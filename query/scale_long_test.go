//go:build long

package query

// How much Cosmos DB's query compiler is asked with -tags long.
const (
	askedQueries     = 3000
	askedExpressions = 30_000
	tokenRows        = 30_000
	differences      = 1500 // sets of documents, 120 queries each
)

// nearestVectors is how many vectors are searched with -tags long.
const nearestVectors = 100_000

// spilledDocuments is how many documents are sorted and grouped in temporary files with -tags long.
const spilledDocuments = 3_000_000
