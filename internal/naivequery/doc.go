// Package naivequery answers queries in the simplest way: it evaluates the syntax tree once for every row,
// over documents that are ordinary Go values. It implements the rules of Cosmos DB's query language a
// second time, so that the results of an engine with indexes, plans and pages can be compared with it:
//
//	rows, err := naivequery.Run(tree, params, docs)
//
// It shares only the parser with that engine. It always uses the slower and more obvious algorithm: a join
// builds all its rows, DISTINCT compares each row with all rows before it, and each aggregate in the text
// reads the rows of its group again.
//
// # Values
//
// A value is what encoding/json decodes: nil, bool, float64, string, []any or map[string]any. In addition
// there is Undefined, the value of a missing property; it never occurs inside an array or an object.
//
// Numbers are doubles, with one exception: an integer of 64 bits beyond 2^53 that is written as an integer
// is a LargeInteger. Between integers the operators calculate exactly, as in Cosmos DB; all other
// operations convert a LargeInteger to the nearest double.
//
// # Order
//
// The documents must be in the order in which rows are returned by default: range after range, and within
// a range in the order of insertion. ORDER BY uses this order for equal rows, and the reverse of it if the
// first key is DESC. Groups and distinct values are returned in the order of their first occurrence.
//
// # What is missing
//
// The package does not implement functions for dates, geometry, vectors, regular expressions and so on,
// user defined functions, ORDER BY RANK, and the checks of a query before it runs. For anything that is
// not supported, Run returns an *Error.
package naivequery
