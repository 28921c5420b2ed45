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

// IndexTermTest tests conditions about a single path on the terms of the path's index. For example,
// CONTAINS(c.a, "x") depends only on the value of c.a, and the index term of c.a is that value. The
// conditions are those of the query, compiled for documents. They are tested on the smallest document that
// has the value at the path. A term that does not stand for a single value (see ExactTerm) does not decide
// the conditions.
type IndexTermTest struct {
	deciders   []eval.TruthFunc
	Head, Tail []byte // the text of the smallest document before and after the value
}

// newTermTest returns a test of the condition cond, which must be about path alone.
func (p *Planner) newTermTest(path index.Path, cond syntax.Expr) *IndexTermTest {
	t := LeastAt(path)
	t.deciders = []eval.TruthFunc{p.compiler().Decide(cond)}
	return t
}

// LeastAt returns an IndexTermTest without conditions. It only makes documents: its Head and Tail are the
// text before and after a value in the smallest document that has the value at the path.
func LeastAt(path index.Path) *IndexTermTest {
	t := &IndexTermTest{}
	for _, s := range path {
		t.Head = append(jsondoc.AppendString(append(t.Head, '{'), s.Name), ':')
		t.Tail = append(t.Tail, '}')
	}
	return t
}

// and returns the test that an index term passes if it passes both t and o.
func (t *IndexTermTest) and(o *IndexTermTest) *IndexTermTest {
	return &IndexTermTest{deciders: append(slices.Clip(t.deciders), o.deciders...), Head: t.Head,
		Tail: t.Tail}
}

// lacks reports whether the conditions hold for a document that does not have the path. given are the
// values of the query's parameters.
func (t *IndexTermTest) lacks(info *bind.ContainerInfo, given []jsondoc.Value) bool {
	l := eval.FrameSettings{Params: given, Planar: info.Geometry}
	f := eval.NewFrame(eval.NewRun(context.Background(), l, eval.Env{}), l)
	f.Body = []byte("{}")
	return t.Holds(f)
}

// Holds reports whether the conditions hold for the current document of the frame.
func (t *IndexTermTest) Holds(f *eval.Frame) bool {
	for _, d := range t.deciders {
		if d(f) != eval.Yes {
			return false
		}
	}
	return true
}

// testing makes the condition e the test of a constraint, so that index terms for which e does not hold are
// skipped. If e is not about the constraint's path alone, the constraint gets no test.
func (p *Planner) testing(l *Constraint, e syntax.Expr) {
	t, known := p.tests[e]
	if !known && p.onlyPath(e) == l.name {
		t = p.newTermTest(l.path, e)
	}
	if l.Test = t; p.tests != nil && !p.again {
		p.tests[e] = t
	}
}

// termsOf returns the constraint of a condition that depends on one indexed path alone but selects no range
// of its terms. All terms of the path are tested.
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

// plainRoute returns the path of e in the item, if e is a path such as c.a.b. ok is false for any other
// expression, and for the item itself and for system and computed properties, which the stored documents do
// not contain as queries return them.
func (p *Planner) plainRoute(e syntax.Expr) (route string, ok bool) {
	a, names, ok := p.DocumentPath(e)
	if !ok || !a.Item || len(names) == 0 || jsondoc.IsSystem(names[0]) ||
		slices.ContainsFunc(p.Info.Computed,
			func(c bind.ComputedProperty) bool { return c.Name == names[0] }) {
		return "", false
	}
	path, _, ok := p.ItemRoute(e)
	return path.String(), ok
}

// ExactTerm returns the value that a term of a range index stands for. It returns false if the value is only
// in the document. This is the case for a string that was cut or may have had a lone surrogate, for an
// integer that a double does not represent exactly, and for an array or an object.
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
