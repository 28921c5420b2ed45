// Package query answers queries in Cosmos DB's SQL over the documents of a container.
//
// Prepare reads a query once: package syntax parses it, names are bound, and all that Cosmos DB refuses
// without a look at the data is refused, with its codes and places. Then a fixed list of rules turns it into
// a Plan. The first of them (ShapeRules) do not look at the values of parameters in conditions: constants are
// folded, and conditions move to where they can be decided first. What is left of the expressions is compiled
// to closures over the text of a document: a filter on one field is a walk to that field, without memory. The
// others (ValueRules) do look: conditions that never hold are found, partition keys are found in them, and
// indexes are chosen. They run again for other values of the parameters (Plan.With).
//
//	text ─ parse ─► tree ─ bind ─► BoundQuery ─ ShapeRules ─► shape ─ ValueRules ─► Plan ─ Run ─► Page
//	                                    └─────────────────────── gateway ──► GatewayPlan
//
// Both plans are made of one bound query. Nothing changes the tree before the gateway rewrites it: a rule
// makes new nodes. What is known of the types of expressions would be one more rule, between fold and prune.
//
// A Plan is immutable. It is a chain of nodes (node.go): what runs is the chain, and String prints the chain,
// one line a node. Golden tests pin it; Explain adds what a run has done. A run holds all state. It asks one
// Source for each partition range, which shows the live documents of the query's scope and the index keys
// that package index makes; whose they are and how they are kept is not known here.
//
// # Finding documents
//
// Conditions that an index knows become sets of index keys (leaf), and these become ways to the documents
// (access): posting lists of rids, ranges of keys, terms that are put to a test one by one, unions of such.
// Which of them a source is read by is decided when it is opened, by counting (probes): all ways are read in
// turns, and the first that ends is the shortest. Its rids are intersected with those of the others as far as
// that saves documents. Where none is short, all documents are looked at, and an index is asked again if that
// finds little.
//
// For ORDER BY an index is walked in its own order, a range index or a composite one; or the documents that
// are wanted are sorted, if they are few, or if the walk has passed many others (watched). Without either,
// the first documents are found by looking at all of them. Index entries only propose: the document decides,
// all conditions are put to it again, and where an index key is cut the order is the documents'. So results
// never depend on what is indexed.
//
// Where nothing is wanted of the documents but what an index says, they are not read: counts, MIN and MAX,
// groups and distinct values of a path, rows that OFFSET skips (indexOnly, covers). A source tells then which
// entries are of the dead.
//
// ORDER BY VectorDistance and ORDER BY RANK take scores from the index as well, and read documents in the
// order of these (rank_text.go, rank_top.go, vector_search.go, vector_codes.go).
//
// # Pages
//
// A query has one of three forms. Without ORDER BY rows come in the order of rids, source after source. With
// ORDER BY they come by key, source and rid, merged from all sources. Both give out pages with cursors that
// hold the last position, and resume strictly behind it, whatever has been written in between; the memory
// that they take is bounded by the page. Everything else (aggregates, GROUP BY, DISTINCT, ranks) makes all
// its rows first; they are one page unless they are too long for one, and what is held meanwhile is limited.
//
// With a folder for temporary files (Env.Temp, package spill) what is more goes on there: groups as sorted
// runs, hashes of the rows of a DISTINCT, the keys of an ORDER BY that no index serves. What a page has made
// and not given out is kept in files for the next page, as long as no document has changed (see spilled_rows.go). It
// is never needed: who finds nothing kept makes it again.
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
// is undefined, never an error; undefined is left out of objects, arrays and results. See operators and
// builtins for the language's vocabulary.
package query
