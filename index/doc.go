// Package index holds what a container's definition says about indexes, as Cosmos DB writes it: the indexing policy
// and the unique keys. It reads them, brings them into the form in which the service gives them back, refuses what
// the service refuses, and answers the questions that a writer of index entries asks.
//
// # The indexing policy
//
// A Policy is plain data with a JSON form. It goes through three steps, each its own function:
//
//	Parse      JSON -> Policy      shapes and types; ends with Normalize
//	Normalize  Policy -> Policy    fills in defaults, as a client reads them back
//	Validate   Policy -> error     the service's rules; some need the rest of the container's definition
//
// Included and excluded paths are Patterns: /a/b/? is the value at exactly that path, /a/* is that value and all
// below it, [] stands for the elements of an array. Of the patterns that match a place in a document the most
// precise decides: the longer one, and of two of the same length the one with the question mark.
//
// Compile makes a Matcher of a policy: the patterns as one tree, that is walked together with the document. A Cursor
// is a place in both, so each step into the document costs one step in the tree, however many patterns there are.
//
//	m, err := index.Compile(policy)
//	c := m.Root().Property("tags").Element()
//	c.Indexed()    // is a scalar here indexed?
//	c.Barren()     // can nothing here or below be indexed? Then the walk need not enter
//
// # Unique keys
//
// UniqueKeys are immutable: they are made with the container. Values encodes what a document holds for one of the
// constraints; two documents violate it where these bytes are the same. Nobody asks for them in order, so what is long is
// replaced by its hash.
//
// All failures are a *PolicyError that names the place in the JSON text.
package index
