// Package bench measures this build on this machine. Each figure is compared with a baseline: the time that
// Pebble alone ("bare Pebble"), or a server with an empty handler, takes for the same bytes in the same
// run. The two sides run in alternating slices, so that a disturbance affects both. The ratio is the result
// that matters.
//
//	bench.go            a run: its options, its sections, its folder
//	sample.go           alternating slices, and their medians
//	running_report.go   the table, and figures as JSON
//	data.go             documents, and the set that sections share; raw.go is the same in bare Pebble
//	child_process.go    servers in separate processes
//	read.go ...         the sections
//	compare.go          an older result beside this one; svg.go: pictures
//	query.go            the section query; query_docs.go: its documents, query_shapes.go,
//	                    query_values.go and query_search.go: its queries, query_time.go: their times
package bench
