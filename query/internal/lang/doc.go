// Package lang holds the functions and operators of the query language, over JSON values.
//
// Lookup finds a function by its name, ignoring case. A Builtin holds the allowed number of arguments of a
// function and its role in a query: a value of each row, an aggregate of many rows, or a rank. Operators are
// plain functions of two values. Undefined, the value of a missing property, is the result of an operation
// with operands of the wrong type; no operation returns an error.
//
// A Call holds what functions need besides their arguments: the time, the clock, random numbers, and the
// limits of the run. A Meter holds these limits. Each loop over data calls Spend with the amount of its work
// and stops if Spend returns false. Memory that is kept is counted by Use and Hold. The first error ends the
// run.
//
// The package also has text search: the words of a text, the search terms, and BM25.
//
// The package does not depend on queries: it must not import the packages that bind, plan or run them.
package lang
