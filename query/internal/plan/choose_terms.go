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

// TermTest puts conditions that are about one path alone to the terms of its index: CONTAINS(c.a, "x") needs
// the value of c.a and nothing else, and the term is that value. The conditions are those of the query, as
// they are compiled for documents; what they are put to is the least document that has the value at the
// path. Terms that stand for no single value (see ExactTerm) can not be decided.
type TermTest struct {
	deciders   []eval.Decider
	Head, Tail []byte // of the least document, around the value
}

// newTermTest returns a test of a condition about a path.
func (p *Planner) newTermTest(path index.Path, cond syntax.Expr) *TermTest {
	t := LeastAt(path)
	t.deciders = []eval.Decider{p.compiler().Decide(cond)}
	return t
}

// LeastAt is a test without conditions.
func LeastAt(path index.Path) *TermTest {
	t := &TermTest{}
	for _, s := range path {
		t.Head = append(jsondoc.AppendString(append(t.Head, '{'), s.Name), ':')
		t.Tail = append(t.Tail, '}')
	}
	return t
}

// and is the test of the conditions of two.
func (t *TermTest) and(o *TermTest) *TermTest {
	return &TermTest{deciders: append(slices.Clip(t.deciders), o.deciders...), Head: t.Head, Tail: t.Tail}
}

// lacks reports whether documents that have nothing at the path pass.
func (t *TermTest) lacks(info *bind.Info, given []jsondoc.Value) bool {
	l := eval.Layout{Given: given, Planar: info.Geometry}
	f := eval.NewFrame(eval.NewRun(context.Background(), l, eval.Env{}), l)
	f.Body = []byte("{}")
	return t.Holds(f)
}

// Holds reports whether the conditions hold for the document that the frame is at.
func (t *TermTest) Holds(f *eval.Frame) bool {
	for _, d := range t.deciders {
		if d(f) != eval.Yes {
			return false
		}
	}
	return true
}

// testing lets terms be tested by a condition that a constraint was made of, if it is about that path alone.
func (p *Planner) testing(l *Constraint, e syntax.Expr) {
	t, known := p.tests[e]
	if !known && p.onlyPath(e) == l.name {
		t = p.newTermTest(l.path, e)
	}
	if l.Test = t; p.tests != nil && !p.again {
		p.tests[e] = t
	}
}

// termsOf is the constraint of a condition about one indexed path alone that names no range of its terms: all
// of them are put to the test.
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
	l := &Constraint{path: route, name: name, Loose: true, sifted: true, selectivity: kindsOnly,
		text: shortened(name + " by " + OneLine(syntax.PrintExpr(e)))}
	l.addSpan(p.Info.Index.PathRange(route))
	l.Test = p.newTermTest(route, e)
	l.undefined = l.Test.lacks(p.Info, p.Values)
	return l
}

// onlyPath returns the one path of the item that an expression depends on, and nothing else does it depend
// on: no other path, no system property, no computed one, no subquery, no function that differs from call to
// call or that the container holds. "": there is no such path.
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

// plainRoute tells of an expression that it is a path from the item that a document holds as it is.
func (p *Planner) plainRoute(e syntax.Expr) (route string, ok bool) {
	a, names, ok := p.DocumentPath(e)
	if !ok || !a.Item || len(names) == 0 || jsondoc.IsSystem(names[0]) ||
		slices.ContainsFunc(p.Info.Computed, func(c bind.Computed) bool { return c.Name == names[0] }) {
		return "", false
	}
	path, _, ok := p.ItemRoute(e)
	return path.String(), ok
}

// ExactTerm returns the value that a term of a range index stands for; false where the document has to tell
// what it holds: of a string that was cut, or that may have had a lone surrogate, of an integer that a double
// does not tell from its neighbours, of an array or an object.
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
