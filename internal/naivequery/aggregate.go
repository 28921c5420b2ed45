package naivequery

import (
	"strings"
	"sync"

	"github.com/mayflydb/mayfly/query/syntax"
)

// aggregates maps the names of aggregate functions to their implementations. An implementation receives the
// values that an expression has in all rows of a group, in the order of the rows.
var aggregates = sync.OnceValue(func() map[string]func(values []any) any {
	return map[string]func([]any) any{
		"COUNT":    func(values []any) any { return float64(len(defined(values))) },
		"COUNTIF":  countIf,
		"SUM":      func(values []any) any { return sum(defined(values)) },
		"AVG":      average,
		"MIN":      func(values []any) any { return extreme(defined(values), -1) },
		"MAX":      func(values []any) any { return extreme(defined(values), +1) },
		"MAKELIST": func(values []any) any { return append([]any{}, defined(values)...) },
		"MAKESET":  func(values []any) any { return append([]any{}, distinct(defined(values))...) },
	}
})

// hasAggregate reports whether a select list contains an aggregate outside of subqueries.
func hasAggregate(sel *syntax.SelectClause) (found bool) {
	known := aggregates()
	syntax.Walk(sel, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subquery:
			return false
		case *syntax.Call:
			_, ok := known[strings.ToUpper(n.Name)]
			found = found || ok && !n.UDF
		}
		return true
	})
	return found
}

func (e *evaluator) aggregate(fn func([]any) any, x syntax.Expr, at evaluationContext) any {
	if !at.grouped {
		failf("an aggregate stands where there is no group")
	}
	var values []any
	for _, t := range at.group {
		values = append(values, e.eval(x, evaluationContext{scope: t.scope}))
	}
	return fn(values)
}

func defined(values []any) (list []any) {
	for _, v := range values {
		if !isUndefined(v) {
			list = append(list, v)
		}
	}
	return list
}

func countIf(values []any) any {
	n := 0.0
	for _, v := range values {
		if v == any(true) {
			n++
		}
	}
	return n
}

// sum returns the sum of numbers. It returns Undefined if a value is not a number.
func sum(values []any) any {
	total := 0.0
	for _, v := range values {
		n, ok := number(v)
		if !ok {
			return Undefined{}
		}
		total += n
	}
	return total
}

func average(values []any) any {
	values = defined(values)
	total, ok := sum(values).(float64)
	if !ok || len(values) == 0 {
		return Undefined{}
	}
	return total / float64(len(values))
}

// extreme returns the lowest value in the order of all values or, if sign is positive, the highest. It
// returns Undefined if a value is an array or an object.
func extreme(values []any, sign int) any {
	var best any = Undefined{}
	for _, v := range values {
		if !isPrimitive(v) {
			return Undefined{}
		}
		if isUndefined(best) || Compare(v, best)*sign > 0 {
			best = v
		}
	}
	return best
}
