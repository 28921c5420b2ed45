package naivequery

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Run returns the rows of a query over documents. The documents must be in the order in which rows are
// returned without ORDER BY (see the package comment). A parameter that is not given is undefined. The error
// is an *Error.
func Run(q *syntax.QueryTree, params map[string]any, docs []any) (rows []any, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			err = r
		default:
			panic(r)
		}
	}()
	e := evaluator{params: params, docs: docs}
	return e.rows(q, nil), nil
}

// evaluator answers one query: it has the parameters and the documents.
type evaluator struct {
	params map[string]any
	docs   []any
}

// nameScope holds the names that are visible, the innermost first.
type nameScope struct {
	outer *nameScope
	name  string
	value any
}

func (s *nameScope) find(name string) (any, bool) {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return s.value, true
		}
	}
	return nil, false
}

// tuple is one row of FROM: the values that it binds to names, and the number of its document.
type tuple struct {
	scope *nameScope
	doc   int
}

// rows returns the rows of a query or a subquery. It evaluates FROM, WHERE, GROUP BY, ORDER BY, SELECT,
// DISTINCT, OFFSET LIMIT and TOP, in this order.
func (e *evaluator) rows(q *syntax.QueryTree, outer *nameScope) []any {
	tuples := e.from(q.From, outer)
	if q.Where != nil {
		tuples = slices.DeleteFunc(tuples,
			func(t tuple) bool { return e.eval(q.Where, evaluationContext{scope: t.scope}) != any(true) })
	}
	var rows []any
	for _, at := range e.places(q, tuples, outer) {
		if row := e.project(q.Select, at, len(q.From)); !isUndefined(row) {
			rows = append(rows, row)
		}
	}
	if q.Select.Distinct {
		rows = distinct(rows)
	}
	if q.Offset != nil {
		rows = rows[min(e.count(q.Offset), len(rows)):]
		rows = rows[:min(e.count(q.Limit), len(rows))]
	}
	if q.Select.Top != nil {
		rows = rows[:min(e.count(q.Select.Top), len(rows))]
	}
	return rows
}

// from returns the tuples of a FROM clause with its joins, in the order of nested loops.
func (e *evaluator) from(sources []*syntax.FromSource, outer *nameScope) []tuple {
	tuples := []tuple{{scope: outer}}
	for i, src := range sources {
		var longer []tuple
		for _, t := range tuples {
			name, values := e.source(src, t.scope, i == 0 && outer == nil)
			for n, v := range values {
				from := t.doc
				if i == 0 {
					from = n
				}
				if !isUndefined(v) {
					longer = append(longer, e.elements(src, name, v, t.scope, from)...)
				}
			}
		}
		tuples = longer
	}
	return tuples
}

// elements returns the tuples that bind a value, or each element of it if the source has IN, to the name of
// the source. from is the number of the document to which the value belongs.
func (e *evaluator) elements(src *syntax.FromSource, name string, v any, outer *nameScope, from int) []tuple {
	if !src.In {
		return []tuple{{&nameScope{outer, name, v}, from}}
	}
	array, _ := v.([]any)
	var list []tuple
	for _, elem := range array {
		list = append(list, tuple{&nameScope{outer, name, elem}, from})
	}
	return list
}

// source returns the values of a source and the name to which they are bound. In a query that is not a
// subquery (alone), any name in the first source stands for the container; there is then one value for each
// document.
func (e *evaluator) source(src *syntax.FromSource, outer *nameScope, alone bool) (name string, values []any) {
	if src.Sub != nil {
		return src.Alias, e.rows(src.Sub, outer)
	}
	root, steps, _ := syntax.PathOf(src.Path)
	if name = src.Alias; name == "" {
		if name = root.Name; len(steps) > 0 {
			name = steps[len(steps)-1].Name
		}
	}
	if !alone {
		return name, []any{e.eval(src.Path, evaluationContext{scope: outer})}
	}
	for _, d := range e.docs {
		values = append(values, e.eval(src.Path, evaluationContext{scope: &nameScope{nil, root.Name, d}}))
	}
	return name, values
}

// evaluationContext is the context in which an expression is evaluated: the names of a row, and the group if
// the query makes groups.
type evaluationContext struct {
	scope   *nameScope
	grouped bool
	group   []tuple
}

// places returns the contexts in which the select list is evaluated: one for each row, in order, or one for
// each group.
func (e *evaluator) places(q *syntax.QueryTree, tuples []tuple, outer *nameScope) (list []evaluationContext) {
	switch {
	case len(q.GroupBy) > 0:
		return e.groups(q.GroupBy, tuples)
	case hasAggregate(q.Select):
		one := evaluationContext{outer, true, tuples}
		if len(tuples) > 0 {
			one.scope = tuples[0].scope
		}
		return []evaluationContext{one}
	}
	if q.OrderBy != nil {
		e.sort(q.OrderBy, tuples)
	}
	for _, t := range tuples {
		list = append(list, evaluationContext{scope: t.scope})
	}
	return list
}

// groups combines rows with the same keys to groups. Outside of aggregates, expressions of the select list
// have the same value for all rows of a group, so they are evaluated for the first row.
func (e *evaluator) groups(keys []syntax.Expr, tuples []tuple) []evaluationContext {
	var groups []evaluationContext
	var known [][]any
next:
	for _, t := range tuples {
		var values []any
		for _, key := range keys {
			values = append(values, e.eval(key, evaluationContext{scope: t.scope}))
		}
		for i := range known {
			if slices.EqualFunc(known[i], values, same) {
				groups[i].group = append(groups[i].group, t)
				continue next
			}
		}
		known, groups = append(known, values), append(groups, evaluationContext{t.scope, true, []tuple{t}})
	}
	return groups
}

// compareRows compares the values that two rows have for one ORDER BY key. Two arrays are compared by their
// hashes, and so are two objects.
func compareRows(a, b any) int {
	if c := rank(a) - rank(b); c != 0 {
		return c
	}
	switch a.(type) {
	case []any, map[string]any:
		return bytes.Compare(hashOf(a), hashOf(b))
	}
	return Compare(a, b)
}

func hashOf(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		failf("no JSON: %v", err)
	}
	return jsondoc.HashOf(jsondoc.Of(text)).AppendTo(nil)
}

// sort sorts rows. Rows with equal keys stay in the order of their documents or, if the first key is DESC,
// get the reverse order. The rows of one document stay in their order.
func (e *evaluator) sort(by *syntax.OrderBy, tuples []tuple) {
	if by.Rank != nil {
		unknown("ORDER BY RANK")
	}
	slices.SortStableFunc(tuples, func(a, b tuple) int {
		for _, key := range by.Items {
			c := compareRows(e.eval(key.X, evaluationContext{scope: a.scope}), e.eval(key.X,
				evaluationContext{scope: b.scope}))
			if key.Desc {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		if by.Items[0].Desc {
			return cmp.Compare(b.doc, a.doc)
		}
		return cmp.Compare(a.doc, b.doc)
	})
}

// project evaluates the select list for one row. If the result is undefined, there is no row. sources is the
// number of sources in FROM: SELECT * fails unless it is 1.
func (e *evaluator) project(sel *syntax.SelectClause, at evaluationContext, sources int) any {
	switch {
	case sel.Star != nil:
		if sources != 1 {
			failf("SELECT * needs one source")
		}
		return at.scope.value
	case sel.Value != nil:
		return e.eval(sel.Value, at)
	}
	row := map[string]any{}
	unnamed := 0
	for _, item := range sel.Items {
		name := item.Alias
		if !item.HasAlias {
			if name = columnName(item.X); name == "" {
				unnamed++
				name = "$" + strconv.Itoa(unnamed)
			}
		}
		delete(row, name) // of equal names the last one counts
		if v := e.eval(item.X, at); !isUndefined(v) {
			row[name] = v
		}
	}
	return row
}

// columnName returns the name of a column without an alias: the last property of a path, or the name if the
// expression is only a name.
func columnName(x syntax.Expr) string {
	if _, name, ok := syntax.PropertyOf(x); ok {
		return name
	}
	if id, ok := x.(*syntax.Ident); ok {
		return id.Name
	}
	return ""
}

func distinct(rows []any) []any {
	var seen []any
	for _, row := range rows {
		if !slices.ContainsFunc(seen, func(before any) bool { return same(before, row) }) {
			seen = append(seen, row)
		}
	}
	return seen
}

// count returns the number that a TOP, OFFSET or LIMIT has as its literal or parameter.
func (e *evaluator) count(c *syntax.RowCountOperand) int {
	var v any
	if c.Param != "" {
		v = e.params[c.Param]
	} else if c.Value.Kind() == jsondoc.Number {
		v = c.Value.Num()
	}
	n, ok := v.(float64)
	if !ok || n < 0 || n > math.MaxUint32 || n != math.Trunc(n) {
		failf("a count is not a whole number")
	}
	return int(n)
}

// IsUnknown reports whether Run failed because the query uses something that this package does not support.
func IsUnknown(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Unknown
}
