// Package index holds what a container's definition says about indexes, as Cosmos DB writes it: the indexing
// policy and the unique keys. It reads them, brings them into the form in which the service gives them back,
// refuses what the service refuses, and answers the questions that a writer of index entries asks.
//
// # The indexing policy
//
// A Policy is plain data with a JSON form. It goes through three steps, each its own function:
//
//	Parse      JSON -> Policy      shapes and types; ends with Normalize
//	Normalize  Policy -> Policy    fills in defaults, as a client reads them back
//	Validate   Policy -> error     the service's rules; some need the rest of the container's definition
//
// Included and excluded paths are Patterns: /a/b/? is the value at exactly that path, /a/* is that value and
// all below it, [] stands for the elements of an array. Of the patterns that match a place in a document the
// most precise decides: the longer one, and of two of the same length the one with the question mark.
//
// Compile makes a Matcher of a policy: the patterns as one tree, that is walked together with the document. A
// Cursor is a place in both, so each step into the document costs one step in the tree, however many patterns
// there are.
//
//	m, err := index.Compile(policy)
//	c := m.Root().Property("tags").Element()
//	c.Indexed()    // is a scalar here indexed?
//	c.Barren()     // can nothing here or below be indexed? Then the walk need not enter
//
// # Unique keys
//
// UniqueKeys are immutable: they are made with the container. Values encodes what a document holds for one of
// the constraints; two documents violate it where these bytes are the same. Nobody asks for them in order, so
// what is long is replaced by its hash.
//
// # Entries and keys
//
// An Indexer is compiled from a Definition: the policy and what else of the container's definition decides
// what is indexed. It answers both sides. Entries gives a writer the index entries of a document, in one pass
// over its text; the lookups give a planner the keys and intervals of keys under which it finds them:
//
//	x, err := index.NewIndexer(index.Definition{Policy: policy}, nil)
//	entries := x.Entries(nil, body, ts)
//	key, exact := x.Term(index.PathTo(path), doc.StringValue("open"))     // c.status = "open"
//	lo, hi, exact := x.Range(index.PathTo(path), index.Greater, doc.NumberValue(5))
//
// key.go draws the keys, terms.go reports how values are cut, composite.go how several become one key, and
// indexer_shape.go how those documents are found that lack a path.
//
// Entries propose, documents decide: where a lookup says that it is not exact, the entries that it leads to
// hold all that is wanted and may hold more.
//
// # Text, vectors and geometry
//
// What the analysis of text and the reading of GeoJSON are is said here, too, since a query without an index
// must come to the same results as one with it: Language.AppendTokens, ParseGeometry and the relations of
// geometries. A Quantizer makes the codes that searches of vectors go through.
//
// All failures of policies are a *PolicyError that names the place in the JSON text, those of geometries a
// *GeometryError.
package index
