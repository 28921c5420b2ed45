// Package fault holds the errors of queries.
//
// An Error is what Cosmos DB refuses a query with: a code such as SC2001, a place in the text, and a message,
// rendered in one of two shapes (Style). The other types end a run: a CursorError for a continuation that
// cannot be used, a MemoryError, a BusyError and a TimeError for the limits of a run.
//
// Every package of query may import this one. It imports the syntax, whose errors it translates, and nothing
// else of query.
package fault
