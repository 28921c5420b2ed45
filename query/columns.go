package query

import (
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Columns returns the names of a query's columns in the order of its select list, as Cosmos DB names them. It
// returns nil if the columns depend on the documents, as for SELECT *, and if the text is not a valid query.
func Columns(text string) []string {
	q, err := syntax.Parse(text)
	if err != nil {
		return nil
	}
	return bind.Columns(q)
}
