package query

import (
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Columns returns the names of a query's columns in the order of its select list, as Cosmos DB names them. It
// is nil where the documents decide, as for SELECT *, and for a text that is no query.
func Columns(text string) []string {
	q, err := syntax.Parse(text)
	if err != nil {
		return nil
	}
	return bind.Columns(q)
}
