// Package queryerror holds the errors of queries.
//
// An Error is a query error of Cosmos DB: a code such as SC2001, a position in the text, and a message, in
// one of two formats (ErrorFormat). The other types end a run: a CursorError for a continuation that cannot
// be used, and a MemoryError, a MemoryUnavailableError or a TimeLimitError if a limit of the run is exceeded.
//
// Every package of query may import this one. It imports package syntax, whose errors it translates, and
// nothing else of query.
package queryerror
