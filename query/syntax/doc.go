// Package syntax parses the text of queries in Cosmos DB's SQL to trees, and prints trees as text.
//
//	q, err := syntax.Parse("SELECT VALUE c.id FROM c WHERE c.total > @min ORDER BY c.ts DESC")
//
// The package handles the grammar of queries and not their meaning. It does not check which names are in
// scope, which functions exist and how many arguments they have, or what is not allowed in a subquery, and
// it does not name the columns of a select list. The packages that interpret a tree report such errors, with
// the position in the TextSpan of the node.
//
// # From text to tree
//
// The lexer splits the text into tokens on request of the parser. The parser works by recursive descent,
// with one loop for all binary operators (see the levels in expr.go). Positions are counted in characters,
// as in the errors of Cosmos DB. For a text that is not a query, Parse returns an *Error with the code, the
// token and the message of Cosmos DB. For a text that is too large or too deeply nested, it returns a
// *SizeLimitError.
//
// # Shape of the tree
//
// Nodes are plain structs. Parentheses are not stored. c.a and c["a"] are different nodes, which PropertyOf
// and PathOf treat as equal. A chain of AND or OR is one node with many operands: programs generate chains
// of tens of thousands of operands, which must not overflow the stack of the parser or of functions that
// walk the tree. All other nesting is limited to MaxDepth, so such functions may recurse. A parsed tree is
// never changed; a rewritten query consists of new nodes around the old ones.
//
// # From tree to text
//
// Print writes the canonical form of a query, which query plans use for rewritten queries. Clients send
// these queries back with filters in place of the placeholders. Therefore the text parses to the same tree,
// and that tree is printed as the same text. PrintExpr can also be used to find out whether two expressions
// are the same except for their spelling.
package syntax
