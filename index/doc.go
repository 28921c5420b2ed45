// Package index implements the index settings of a container's definition, in Cosmos DB's format: the
// indexing policy and the unique keys. It parses them, normalises them to the form that the service
// returns, and rejects what the service rejects. Writers use it to create index entries, query planners to
// look them up.
//
// # The indexing policy
//
// A Policy is plain data with a JSON form. It goes through three steps, each its own function:
//
//	Parse      JSON -> Policy      shapes and types; ends with Normalize
//	Normalize  Policy -> Policy    fills in defaults, as a client reads them back
//	Validate   Policy -> error     the service's rules; some need the rest of the container's definition
//
// Included and excluded paths are Patterns: /a/b/? is the value at exactly that path, /a/* is that value
// and everything below it, [] stands for the elements of an array. If several patterns match a position in
// a document, the most precise one applies: the longest, or of two of the same length the one that ends in
// a question mark.
//
// Compile converts a policy to a PolicyMatcher: a tree of the patterns that is walked together with the
// document. A PolicyMatcherPosition is a position in both. Each step into the document is one step in the
// tree, for any number of patterns.
//
//	m, err := index.Compile(policy)
//	c := m.Root().Property("tags").Element()
//	c.Indexed()    // is a scalar here indexed?
//	c.IsEmpty()     // is nothing at or below this position indexed? Then it can be skipped
//
// # Unique keys
//
// UniqueKeyConstraints are immutable: they are set when the container is created. Values encodes a document's
// values for one of the constraints. Two documents violate the constraint if their encodings are equal.
// The encodings need no order, so a long value is replaced by its hash.
//
// # Entries and keys
//
// An Indexer is compiled from an IndexingSettings: the policy and the other settings of the container that
// affect indexing. It serves writers and planners. Entries returns the index entries of a document, in
// one pass over its text. The lookups return the keys and the intervals of keys in which a planner finds
// documents:
//
//	x, err := index.NewIndexer(index.IndexingSettings{Policy: policy}, nil)
//	entries := x.Entries(nil, body, ts)
//	key, exact := x.Term(index.PathTo(path), jsondoc.StringValue("open"))     // c.status = "open"
//	lo, hi, exact := x.Range(index.PathTo(path), index.Greater, jsondoc.NumberValue(5))
//
// key.go draws the keys. terms.go explains how values are cut, composite_index.go how several values become
// one key, and indexer_shape.go how documents that lack a path are found.
//
// A lookup that is not exact returns all wanted entries and possibly others. Its results must be checked
// against the documents.
//
// # Text, vectors and geometry
//
// The package also defines the analysis of text and the reading of GeoJSON, because a query must have the
// same result with and without an index: Language.AppendTokens, ParseGeometry and the relations of
// geometries. A Quantizer computes the codes, compressed forms of vectors, by which vectors are searched.
//
// Errors in policies are a *PolicyError with the position in the JSON text, errors in geometries a
// *GeometryError.
package index
