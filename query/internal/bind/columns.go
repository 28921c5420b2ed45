package bind

import (
	"strconv"

	"github.com/mayflydb/mayfly/query/syntax"
)

// Columns returns the names of the columns of q in the order of its select list, as Cosmos DB names them, or
// nil where the documents decide: SELECT *, and SELECT VALUE of anything but an object that is written out.
func Columns(q *syntax.Query) []string {
	if object, ok := q.Select.Value.(*syntax.ObjectLit); ok {
		return object.Keys
	}
	var names []string
	var unnamed int
	for _, item := range q.Select.Items {
		names = append(names, columnName(item, func(*syntax.Ident) bool { return true }, &unnamed))
	}
	return names
}

// columnName names a column as Cosmos DB does: by its alias, by the last property of its path, by the name
// that it consists of, or by the dollar sign and a count of those that are neither. source reports whether a
// name stands for a source of the query.
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
