// Package source holds what a query asks of the data: a Source for each partition range, and the iterators
// that it returns.
//
// Source is the interface that every range implements. The other interfaces (Counter, Finder, Values, Shapes
// and more) are optional: a Source that has them answers some questions without reading documents. The
// interfaces belong to the packages that run queries; the store implements them.
//
// The package holds no code beside the interfaces. It imports nothing of query.
package source
