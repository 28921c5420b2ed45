// Package exec runs plans, one page at a time.
//
// Run makes an Execution, which holds all state of one page, and runs the nodes of the plan; runNode switches
// over their types. Up to the filter, documents are pulled from iterators. From there on, each node passes
// its rows to a function; if the function returns false, the page ends.
//
// The documents of a source are found in one of these ways: by the shortest access path according to a race
// of probes (probe.go), by walking an index in the order of the query (iter_walk.go), by sorting
// (exec_sort.go), or by the scores of texts and vectors (rank_*.go, iter_text.go, iter_vector.go). If an
// index has the answer, no documents are read (index_only_*.go). Index entries are only candidates: each
// document is tested against all conditions again, so no result depends on what is indexed.
//
// Rows that a page has made but not returned are kept for the next page as a StateBetweenPages. A page
// without one makes them again.
//
// The package uses sources (package source) and plans. It must not parse, bind or plan.
package exec
