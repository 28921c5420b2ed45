// Package syntax reads the text of queries in Cosmos DB's SQL into trees and writes trees as text.
//
//	q, err := syntax.Parse("SELECT VALUE c.id FROM c WHERE c.total > @min ORDER BY c.ts DESC")
//
// It knows how a query is written and nothing of what it means: not which names are in scope, which functions
// exist and with how many arguments, what a subquery may not have, or how the columns of a select list are
// called. Whoever gives meaning to a tree reports such errors, and finds the place of each in the Span of the
// node.
//
// # From text to tree
//
// The lexer cuts the text into tokens as the parser asks for them, and the parser descends recursively, with
// one loop for all operators between operands (see the levels in expr.go). Places are counted in characters,
// as the errors of Cosmos DB do. A text that is not a query is an *Error, with the code, the token and the
// message of Cosmos DB; one that is too large or too deeply nested is a *LimitError.
//
// # Shape of the tree
//
// Nodes are plain structs. Parentheses leave no trace, c.a and c["a"] stay apart (PropertyOf and PathOf make
// them one), and chains of AND and OR are one node with many operands. Programs write such chains tens of
// thousands long, so they must cost neither the parser nor whoever walks the tree its stack. All other ways
// to make a tree high end at MaxDepth, so that functions over trees may simply recurse. Trees are not changed
// once they are parsed; who rewrites a query builds new nodes around the old ones.
//
// # From tree to text
//
// Print writes the canonical form, in which query plans hold rewritten queries. Clients send those back, with
// their own filters in the places of the placeholders, so the form is exact in what matters: the text parses
// to the same tree, and so prints the same again. PrintExpr is also a way to report whether two expressions
// are written alike.
package syntax
