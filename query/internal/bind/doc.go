// Package bind resolves the names of a query and refuses what Cosmos DB refuses without looking at data.
//
// Text parses a text, Tree takes a parsed one. Both return a Query: the tree as it was written,
// and tables that say what its nodes mean. An Alias is what FROM or JOIN bind, a Block is a SELECT with its
// clauses, a Step is one source of its FROM, an OrderKey is one key of its ORDER BY. The tree does not
// change: later packages make new nodes.
//
// All errors of a query are collected and returned in the order of the text, with their codes and places.
// Decisions that depend on the value of a parameter are noted (Fixed), since a plan that contains one cannot
// be used for other values.
//
// The package calculates nothing: whoever binds hands it a Folder that replaces constant expressions by
// their values. It must not import the packages that evaluate, plan or run.
package bind
