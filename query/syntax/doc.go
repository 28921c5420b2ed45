// Package syntax parses the text of queries in Cosmos DB's SQL to trees, and prints trees as text.
//
//	q, err := syntax.Parse("SELECT VALUE c.id FROM c WHERE c.total > @min ORDER BY c.ts DESC")
//
// The package handles the grammar of queries and not their meaning. It does not check which names are in
// scope, which functions exist and how many arguments they have, or what is not allowed in a subquery, and it
// does not name the columns of a select list. The packages that interpret a tree report such errors, with the
// position in the Span of the node.
//
// # From text to tree
//
// The lexer splits the text into tokens on request of the parser. The parser works by recursive descent, with
// one loop for all binary operators (see the levels in expr.go). Positions are counted in characters, as in
// the errors of Cosmos DB. A text that is not a query gives an *Error, with the code, the token and the
// message of Cosmos DB; a text that is too large or too deeply nested gives a *LimitError.
//
// # Shape of the tree
//
// Nodes are plain structs. Parentheses are not stored. c.a and c["a"] are different nodes, which PropertyOf
// and PathOf treat as equal. Chains of AND and OR are one node with many operands: programs write chains of
// tens of thousands of operands, which must not overflow the stack of the parser or of functions over the
// tree. All other nesting is limited to MaxDepth, so that functions over trees may simply recurse. A parsed
// tree is never changed; a rewritten query consists of new nodes around the old ones.
//
// # From tree to text
//
// Print writes the canonical form, in which query plans hold rewritten queries. Clients send these back with
// filters in place of the placeholders. So the form is exact: the text parses to the same tree, and that tree
// prints the same text. PrintExpr can also be used to compare whether two expressions are written alike.
package syntax
