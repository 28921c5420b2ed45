// Package exec runs plans, one page at a time.
//
// Run makes an Execution, which holds all state of one page, and runs the nodes of the plan: runNode is
// the one switch over their types. Up to the filter, documents are pulled by iterators; from there on rows
// are handed up by calls. A call that returns false ends the page.
//
// The documents of a source are found by the access path that a race of probes finds to be the shortest
// (probe.go), by walking an index in the order of the query (iter_walk.go), by sorting (exec_sort.go), by the
// scores of texts and vectors (rank_*.go, iter_text.go, iter_vector.go), or not at all, where an index has
// the answer (index_only_*.go). Index entries only propose: each document is put to all conditions again, so
// no result depends on what is indexed.
//
// What a page has made and not given out is kept for the next one as a PageState. A page that finds none
// makes it again.
//
// The package asks sources (package source) and plans. It must not parse, bind or plan.
package exec
