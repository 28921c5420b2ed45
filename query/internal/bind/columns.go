package bind

import (
	"strconv"

	"github.com/mayflydb/mayfly/query/syntax"
)

// Columns returns the names of the columns of q in the order of its select list, as Cosmos DB names them. It
// returns nil if the columns depend on the documents: for SELECT *, and SELECT VALUE of anything but an
// object literal.
func Columns(q *syntax.QueryTree) []string {
	if object, ok := q.Select.Value.(*syntax.ObjectLiteral); ok {
		return object.Keys
	}
	var names []string
	var unnamed int
	for _, item := range q.Select.Items {
		names = append(names, columnName(item, func(*syntax.Ident) bool { return true }, &unnamed))
	}
	return names
}

// columnName names a column as Cosmos DB does: by its alias, else by the last property of its path, else by
// its name if it is only a name, else by a dollar sign and a counter. source reports whether an identifier
// names a source of the query.
func columnName(item *syntax.SelectItem, source func(*syntax.Ident) bool, unnamed *int) string {
	if item.HasAlias {
		return item.Alias
	}
	if _, name, ok := syntax.PropertyOf(item.X); ok && !namedByParameter(item.X) {
		return name
	}
	if id, ok := item.X.(*syntax.Ident); ok && source(id) {
		return id.Name
	}
	*unnamed++
	return "$" + strconv.Itoa(*unnamed)
}
