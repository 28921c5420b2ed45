package plan

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// CheckComputed checks the definitions of a container's computed properties. As in Cosmos DB each is SELECT
// VALUE of an expression over one document, FROM the container alone and without any other clause. The
// expression must always have the same result for the same document: it has no subqueries, aggregates,
// parameters, user defined or spatial functions, no functions of random numbers or of the current time, and
// uses no other computed property. The error is an *Error whose message names the property.
func CheckComputed(list []bind.ComputedProperty) error {
	for _, one := range list {
		q, err := syntax.Parse(one.Query)
		if err != nil {
			return queryerror.SyntaxError(err)
		}
		if _, err := compileComputed(one, &bind.ContainerInfo{}); err != nil {
			return err
		}
		if q.Select.Distinct || q.Select.Top != nil || q.OrderBy != nil || q.Offset != nil {
			return badComputed(one, "must consist of SELECT VALUE and FROM alone")
		}
		if why := impure(q.Select.Value, one, list); why != "" {
			return badComputed(one, why)
		}
	}
	return nil
}

func badComputed(one bind.ComputedProperty, why string) error {
	return queryerror.Plain("The query of the computed property '" + one.Name + "' " + why + ".")
}

// impure returns the reason why an expression is not allowed in a computed property, or "" if it is allowed.
func impure(e syntax.Expr, one bind.ComputedProperty, list []bind.ComputedProperty) (why string) {
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subquery:
			why = "must not have a subquery"
		case *syntax.Parameter:
			why = "must not have a parameter"
		case *syntax.Call:
			f, ok := lang.Lookup(n.Name)
			switch {
			case n.UDF:
				why = "must not call a user defined function"
			case ok && f.Volatile:
				why = "must not call " + f.Name + ", whose value changes"
			case ok && strings.HasPrefix(f.Name, "ST_"):
				why = "must not call the spatial function " + f.Name
			}
		case *syntax.MemberExpr, *syntax.IndexExpr:
			x, name, ok := syntax.PropertyOf(n.(syntax.Expr))
			_, ofItem := x.(*syntax.Ident)
			other := func(c bind.ComputedProperty) bool { return c.Name == name && c.Name != one.Name }
			if ok && ofItem && slices.ContainsFunc(list, other) {
				why = "must not use the computed property '" + name + "'"
			}
		}
		return why == ""
	})
	return why
}
