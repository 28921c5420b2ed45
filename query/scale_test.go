//go:build !long

package query

// How much Cosmos DB's query compiler is asked, which takes thirty milliseconds for a query: other texts each
// time.
const (
	askedQueries     = 150
	askedExpressions = 1000
	tokenRows        = 1500
	differences      = 40 // sets of documents, 120 queries each
)

// nearestVectors is how many vectors are searched.
const nearestVectors = 4_000

// spilledDocuments is how many documents are sorted and grouped in temporary files.
const spilledDocuments = 30_000
