// Package lang holds the functions and operators of the query language, over JSON values.
//
// Lookup finds a function by its name, ignoring case. A Builtin describes a function: the allowed number of
// arguments, and whether it is a value of each row, an aggregate of many rows, or a rank. Operators are plain
// functions of two values. An operation with operands of the wrong type returns Undefined, the value of a
// missing property; no operation returns an error.
//
// A CallContext holds what functions need besides their arguments: the time, the clock, random numbers, and
// the limits of the run. A ResourceLimiter holds these limits. Each loop over data calls Spend with the
// amount of its work and stops if Spend returns false. Use and Hold count the memory that is kept. The first
// error ends the run.
//
// The package also has text search: the words of a text, the search terms, and BM25.
//
// The package does not depend on queries: it must not import the packages that bind, plan or run them.
package lang
