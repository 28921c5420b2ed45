//go:build long

package query

// The numbers of random queries, expressions and documents that tests use with the build tag long.
const (
	askedQueries     = 3000
	askedExpressions = 30_000
	tokenRows        = 30_000
	differences      = 1500 // sets of documents, 120 queries each
)

// nearestVectors is the number of vectors among which a test searches, with the build tag long.
const nearestVectors = 100_000

// spilledDocuments is the number of documents that a test sorts and groups in temporary files, with the
// build tag long.
const spilledDocuments = 3_000_000
