// Package query answers queries in Cosmos DB's SQL over the documents of a container. It is the only package
// of the query language that other packages import. The work is done by the packages below query/internal;
// the doc.go of each describes its part.
//
//	text ─ syntax ─► tree ─ bind ─► names ─ plan ─► Plan ─ exec ─► Page
//	                                                 └─ gateway ─► GatewayPlan
//
// Prepare reads a query once. It parses the text, binds its names, and reports every error that Cosmos DB
// reports without looking at the data, with Cosmos DB's codes and positions. Two lists of rules turn the
// bound query into a Plan. The rules of the first list do not depend on the values of parameters in
// conditions. The rules of the second list depend on them and run again for each set of values (Plan.With).
// Expressions are compiled to closures over the text of a document (package eval), which call the functions
// and operators of package lang.
//
// A Plan is immutable. It is a chain of nodes; String prints the chain, one node a line, and golden tests
// compare it. Explain adds the statistics of a run. All state of a run is kept outside the Plan. A run reads
// one Source for each partition range. The scope of a query is the part of the container that it covers: the
// whole container, or the documents of one partition key or of a prefix of a hierarchical key. A Source
// returns the live documents of the scope and the index keys that package index makes.
//
// # Finding documents
//
// Conditions that an index can answer become constraints, which are sets of index keys. Constraints become
// access paths: posting lists of rids, ranges of keys, terms that are tested one by one, and unions of these.
// A race of probes decides which path reads a source: all paths are read in turns, and the first that ends is
// the shortest. Its rids are intersected with those of other paths as long as that saves reading documents.
// If no path is short, all documents are read.
//
// For ORDER BY, a range index or a composite index is read in its own order. The matching documents are
// sorted instead if they are few, or if the index walk has skipped many others. An index entry is only a
// candidate: each document is tested against all conditions again. So results never depend on what is
// indexed.
//
// If an index holds everything that a query needs, no documents are read. This holds for counts, MIN and MAX,
// groups and distinct values of a path, and rows that OFFSET skips. The source then lists its dead documents,
// whose entries do not count. A document is dead if it has expired, or was deleted with its whole partition
// key, but is still stored and has index entries. ORDER BY VectorDistance and ORDER BY RANK read scores from
// the index as well.
//
// # Pages
//
// A query has one of four forms. Without ORDER BY, rows come in the order of rids, one source after the
// other. With ORDER BY, rows come by key, source and rid, merged from all sources. Groups come in the order
// of their keys. Pages of these three forms end with a cursor that holds the last position. The next page
// resumes strictly after that position, even if documents were written between the two pages. In the fourth
// form (DISTINCT over values, ranks) all rows are made before the first is returned.
//
// With a folder for temporary files (Env.Temp, package spill), rows that do not fit in memory are written to
// files. Rows that a page has made but not returned are kept as a StateBetweenPages for the next page, and
// remain valid until a document changes. A StateBetweenPages is never required: a page without one makes the
// rows again.
//
// # Clients that merge
//
// Clients of Cosmos DB send a query to each partition range separately and merge the results. Gateway makes
// the plan for such a client: it rewrites the query so that each row carries the values that it is merged by.
// The rewritten queries run like any other. If such a client has no cursor for a range, it resumes an ORDER
// BY there with extra conditions or with an OrderByStartPosition.
//
// # Values
//
// Expressions follow Cosmos DB's three-valued logic: an operator or function with a missing or wrong operand
// is undefined, never an error; undefined is left out of objects, arrays and results.
package query
