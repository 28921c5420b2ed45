// Package bench measures this build on this machine: each figure beside what the bare engine, or an empty
// server, takes for the same bytes in the same run, in slices that take turns, so that what disturbs one
// disturbs the other. The ratio is what counts.
//
//	bench.go     a run: what it is asked for, its sections, its folder
//	sample.go    slices that take turns, and their medians
//	report.go    the table, and figures for programs
//	data.go      documents, and the set that sections share; raw.go is the same in a bare engine
//	child.go     servers in processes of their own
//	read.go ...  the sections
//	query.go     sets to query; query_docs.go: documents, query_shapes.go, query_values.go and query_search.go:
//	             what they are asked, query_time.go: what it takes
package bench
