package plan

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// TermTest tests conditions about one path alone on the terms of its index: CONTAINS(c.a, "x") needs only the
// value of c.a, and the term is that value. The conditions are those of the query, compiled for documents.
// They are tested on the smallest document that has the value at the path. Terms that do not stand for a
// single value (see ExactTerm) cannot be decided.
type TermTest struct {
	deciders   []eval.Decider
	Head, Tail []byte // of the smallest document, around the value
}

// newTermTest returns a test of a condition about a path.
func (p *Planner) newTermTest(path index.Path, cond syntax.Expr) *TermTest {
	t := LeastAt(path)
	t.deciders = []eval.Decider{p.compiler().Decide(cond)}
	return t
}

// LeastAt returns a test without conditions.
func LeastAt(path index.Path) *TermTest {
	t := &TermTest{}
	for _, s := range path {
		t.Head = append(jsondoc.AppendString(append(t.Head, '{'), s.Name), ':')
		t.Tail = append(t.Tail, '}')
	}
	return t
}

// and returns the test of the conditions of both.
func (t *TermTest) and(o *TermTest) *TermTest {
	return &TermTest{deciders: append(slices.Clip(t.deciders), o.deciders...), Head: t.Head, Tail: t.Tail}
}

// lacks reports whether documents without the path pass.
func (t *TermTest) lacks(info *bind.Info, given []jsondoc.Value) bool {
	l := eval.Layout{Params: given, Planar: info.Geometry}
	f := eval.NewFrame(eval.NewRun(context.Background(), l, eval.Env{}), l)
	f.Body = []byte("{}")
	return t.Holds(f)
}

// Holds reports whether the conditions hold for the current document of the frame.
func (t *TermTest) Holds(f *eval.Frame) bool {
	for _, d := range t.deciders {
		if d(f) != eval.Yes {
			return false
		}
	}
	return true
}

// testing adds the condition of a constraint to it as a test of terms, if it is about that path alone.
func (p *Planner) testing(l *Constraint, e syntax.Expr) {
	t, known := p.tests[e]
	if !known && p.onlyPath(e) == l.name {
		t = p.newTermTest(l.path, e)
	}
	if l.Test = t; p.tests != nil && !p.again {
		p.tests[e] = t
	}
}

// termsOf returns the constraint of a condition about one indexed path alone that implies no range of terms.
// All terms of the path are tested.
func (p *Planner) termsOf(e syntax.Expr) *Constraint {
	name := p.onlyPath(e)
	if name == "" {
		return nil
	}
	var route index.Path
	syntax.Walk(e, func(n syntax.Node) bool {
		if x, ok := n.(syntax.Expr); ok && route == nil {
			route, _, _ = p.ItemRoute(x)
		}
		return route == nil
	})
	if indexed := p.Info.Index.RangeIndexed(route); !indexed {
		p.noteSingle(route, false)
		return nil
	}
	l := &Constraint{path: route, name: name, Superset: true, testOnly: true, selectivity: kindsOnly,
		text: shortened(name + " by " + OneLine(syntax.PrintExpr(e)))}
	l.addSpan(p.Info.Index.PathRange(route))
	l.Test = p.newTermTest(route, e)
	l.undefined = l.Test.lacks(p.Info, p.Values)
	return l
}

// onlyPath returns the path of the item that an expression depends on, if it depends on nothing else: no
// other path, no system or computed property, no subquery, no function that differs from call to call, and no
// user defined function. It returns "" otherwise.
func (p *Planner) onlyPath(e syntax.Expr) (name string) {
	ok := true
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subquery:
			ok = false
		case *syntax.Call:
			fn, known := lang.Lookup(n.Name)
			ok = ok && known && !n.UDF && !fn.Volatile && fn.Class == lang.ClassScalar
		}
		x, isExpr := n.(syntax.Expr)
		if !isExpr || !ok {
			return ok
		}
		if _, _, isPath := syntax.PathOf(x); !isPath {
			return true
		}
		route, plain := p.plainRoute(x)
		if ok = plain && (name == "" || name == route); ok {
			name = route
		}
		return false
	})
	if !ok {
		return ""
	}
	return name
}

// plainRoute returns the path from the item that an expression is, if documents store its value as it is.
func (p *Planner) plainRoute(e syntax.Expr) (route string, ok bool) {
	a, names, ok := p.DocumentPath(e)
	if !ok || !a.Item || len(names) == 0 || jsondoc.IsSystem(names[0]) ||
		slices.ContainsFunc(p.Info.Computed, func(c bind.Computed) bool { return c.Name == names[0] }) {
		return "", false
	}
	path, _, ok := p.ItemRoute(e)
	return path.String(), ok
}

// ExactTerm returns the value that a term of a range index stands for. It returns false if only the document
// has the value: for a string that was cut, or that may have had a lone surrogate, an integer that a double
// does not represent exactly, an array or an object.
func ExactTerm(key []byte) (jsondoc.Value, bool) {
	v, exact := index.TermValue(key)
	switch {
	case !exact:
		return v, false
	case v.Kind() == jsondoc.Number:
		return v, math.Abs(v.Num()) < lang.MaxExact
	case v.Kind() == jsondoc.String:
		return v, !strings.ContainsRune(v.Str(), utf8.RuneError)
	}
	return v, true
}
