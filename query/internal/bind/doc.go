// Package bind resolves the names of a query and refuses what Cosmos DB refuses without looking at data.
//
// Text binds a query text, Tree a parsed one. Both return a Query: the tree as it was written, and tables
// with the meaning of its nodes. An Alias is a name bound by FROM or JOIN, a QueryBlock is a SELECT with its
// clauses, a FromSource is one source of its FROM, an OrderKey is one key of its ORDER BY. The tree does not
// change: later packages make new nodes.
//
// All errors of a query are collected and returned in the order of the text, with their codes and positions.
// Decisions that depend on the value of a parameter are recorded (Fixed), since a plan that contains one
// cannot be used for other values.
//
// The package evaluates nothing itself: the caller passes a ConstantFoldingFunc that replaces constant
// expressions by their values. It must not import the packages that evaluate, plan or run.
package bind
