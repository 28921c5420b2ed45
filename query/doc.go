// Package query answers queries in Cosmos DB's SQL. For now it knows the simple form, the one in which client libraries
// look for databases, containers and offers:
//
//	SELECT * FROM c WHERE c.id = @id AND c.offerResourceId = 'x'
//
// ParseSimple binds the parameters and compiles the conditions; Match then tells of a document's raw text whether it is
// in the result, without decoding more of it than the conditions name. Everything else is a *SyntaxError with its line and
// column.
package query
