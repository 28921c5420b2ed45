// Package naive answers queries in the plainest way there is: it walks the syntax tree once for every row,
// over documents that are ordinary Go values. It says the rules of Cosmos DB's query language a second time,
// so that an engine with indexes, plans and pages can be held against it:
//
//	rows, err := naive.Run(tree, params, docs)
//
// It shares the parser with that engine and nothing else, and where the two could have been written alike it
// is the slower and more obvious way that stands here: a join builds all its rows, DISTINCT compares each row
// with all before it, an aggregate walks over the rows of its group again for every mention.
//
// # Values
//
// A value is what encoding/json makes of it: nil, bool, float64, string, []any or map[string]any. Beside them
// there is Undefined, the value of a property that is missing; it is never inside an array or an object.
//
// Numbers are doubles, but for an Integer: one that is written as an integer of 64 bits and lies beyond 2^53.
// Between integers the operators calculate exactly, as Cosmos DB does; whatever else is done with an Integer
// is done with the double next to it.
//
// # Order
//
// The documents stand in the order in which rows come out where nothing else is asked for: range after range,
// and in each the order of insertion. ORDER BY falls back on it for rows that are equal, from the end where
// the first key is DESC. Groups and distinct values come in the order in which they turn up first.
//
// # What is missing
//
// The rest of the functions (dates, geometry, vectors, regular expressions and others), user defined
// functions, ORDER BY RANK and all checks of a query before it runs. What is met and not known is an *Error.
package naive
