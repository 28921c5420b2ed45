package definition

import (
	"strings"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Evaluators returns functions that compute those computed properties that an index can hold: the ones
// whose value depends only on the document's own text. They are keyed by the property's name. Queries over
// other computed properties read the documents.
func Evaluators(list []index.ComputedProperty) map[string]index.ComputedPropertyFunc {
	by := make(map[string]index.ComputedPropertyFunc)
	for _, p := range list {
		if !readsOnlyText(p.Query) {
			continue
		}
		evaluate, err := query.NewComputedProperty([]query.ComputedProperty{p})
		if err != nil {
			continue
		}
		by[p.Name] = func(body []byte) jsondoc.Value { return evaluate(p.Name, body) }
	}
	return by
}

// readsOnlyText reports whether a computed property reads only properties in the document's text, and calls
// only functions whose result depends on nothing but their arguments. A query that uses the whole document
// (SELECT VALUE c) does not qualify, because in a query the document includes system properties.
func readsOnlyText(text string) bool {
	q, err := syntax.Parse(text)
	if err != nil || q.Select == nil || q.Select.Value == nil {
		return false
	}
	plain := true
	syntax.Walk(q.Select.Value, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.MemberExpr:
			plain = plain && !jsondoc.IsSystem(n.Name)
			_, root := n.X.(*syntax.Ident)
			return !root
		case *syntax.IndexExpr:
			name, ok := n.I.(*syntax.Literal)
			plain = plain && ok && !jsondoc.IsSystem(name.Value.Str())
			_, root := n.X.(*syntax.Ident)
			return !root
		case *syntax.Call:
			plain = plain && !n.UDF && !changeable(n.Name)
		case *syntax.Ident, *syntax.Parameter, *syntax.Subquery, *syntax.RewrittenQueryPlaceholder:
			plain = false
		}
		return plain
	})
	return plain
}

// changeable reports whether the result of a function depends on more than its arguments: on the time, on
// chance, or on the container's settings.
func changeable(function string) bool {
	name := strings.ToUpper(function)
	for _, prefix := range []string{"RAND", "GETCURRENT", "ST_", "VECTOR", "FULLTEXT", "_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
