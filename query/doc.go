// Package query answers queries in Cosmos DB's SQL over the documents of a container. It is what other
// packages use of the query language; the work is done by the packages below query/internal, and each doc.go
// there is the description of its part.
//
//	text ─ syntax ─► tree ─ bind ─► names ─ plan ─► Plan ─ exec ─► Page
//	                                                 └─ gateway ─► GatewayPlan
//
// Prepare reads a query once: the text is parsed, its names are bound, and all that Cosmos DB refuses without
// looking at the data is refused with its codes and places. Two lists of rules make a Plan of it. The first
// does not look at the values of parameters in conditions; the second does, and runs again for other values
// (Plan.With). Expressions are compiled to closures over the text of a document (package eval), which call
// the functions and operators of package lang.
//
// A Plan is immutable. It is a chain of nodes; String prints the chain, one line a node, and golden tests
// pin it. Explain adds the figures of a run. A run holds all state. It asks one Source for each partition
// range, which shows the live documents of the query's scope and the index keys that package index makes.
//
// # Finding documents
//
// Conditions that an index knows become constraints, sets of index keys, and these become access paths:
// posting lists of rids, ranges of keys, terms that are tested one by one, unions of such. A race of probes
// decides by which of them a source is read: all paths are read in turns, and the first that ends is the
// shortest. Its rids are intersected with those of the others as far as that saves documents. Where none is
// short, all documents are looked at.
//
// For ORDER BY an index is walked in its own order, a range index or a composite one; or the wanted documents
// are sorted, if they are few, or if the walk has passed many others. Index entries only propose: the
// document decides, and all conditions are put to it again. So results never depend on what is indexed.
//
// Where a query wants nothing of the documents but what an index says, they are not read: counts, MIN and
// MAX, groups and distinct values of a path, rows that OFFSET skips. The source then reports which entries
// belong to expired documents. ORDER BY VectorDistance and ORDER BY RANK take scores from the index as well.
//
// # Pages
//
// A query has one of four forms. Without ORDER BY rows come in the order of rids, source after source. With
// ORDER BY they come by key, source and rid, merged from all sources. Groups come by the order of their keys.
// These forms give out pages with cursors that hold the last position, and resume strictly behind it,
// whatever has been written in between. Everything else (DISTINCT over values, ranks) makes all its rows
// first.
//
// With a folder for temporary files (Env.Temp, package spill) what does not fit in memory goes on there. Rows
// that a page has made and not given out are kept as a PageState for the next page, as long as no document
// has changed. A PageState is never needed: a page that finds none makes the rows again.
//
// # Clients that merge
//
// Clients of Cosmos DB send a query to each partition range by itself and merge the results. Gateway tells
// them how: it rewrites the query such that each row comes with what it is merged by. The rewritten queries
// are run as any other. Such a client resumes an ORDER BY in ranges that it has no cursor for by conditions,
// or by a Resume.
//
// # Values
//
// Expressions follow Cosmos DB's three-valued logic: an operator or function with a missing or wrong operand
// is undefined, never an error; undefined is left out of objects, arrays and results.
package query
