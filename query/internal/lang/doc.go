// Package lang holds the vocabulary of the query language: its functions and operators over JSON values.
//
// Lookup finds a function by its name in any case. A Builtin says how many arguments a function
// takes and which part it has in a query: a value of each row, an aggregate of many rows, or a rank.
// Operators are plain functions of two values. Undefined, the value of what is missing, is the result of an
// operation whose operands do not fit; no operation returns an error.
//
// Functions that have to know of more than their arguments find it in a Call: the time, the clock, random
// numbers, and the limits of the run. A Meter is those limits. Each loop over data calls Spend with the work
// that it does and stops where Spend returns false; memory that is kept is counted by Use and Hold. The first
// error ends the run.
//
// Text search is here as well: the words of a text, the terms that are searched for, and BM25.
//
// The package knows nothing of queries: it must not import the packages that bind, plan or run them.
package lang
