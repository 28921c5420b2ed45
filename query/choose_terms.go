package query

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// termTest puts conditions that are about one path alone to the terms of its index: CONTAINS(c.a, "x") needs
// the value of c.a and nothing else, and the term is that value. The conditions are those of the query, as
// they are compiled for documents; what they are put to is the least document that has the value at the
// path. Terms that stand for no single value (see exactTerm) can not be decided.
type termTest struct {
	deciders   []decider
	head, tail []byte // of the least document, around the value
}

// newTermTest returns a test of a condition about a path.
func (p *planner) newTermTest(path index.Path, cond syntax.Expr) *termTest {
	t := leastAt(path)
	t.deciders = []decider{p.compiler().decide(cond)}
	return t
}

// leastAt is a test without conditions.
func leastAt(path index.Path) *termTest {
	t := &termTest{}
	for _, s := range path {
		t.head = append(doc.AppendString(append(t.head, '{'), s.Name), ':')
		t.tail = append(t.tail, '}')
	}
	return t
}

// and is the test of the conditions of two.
func (t *termTest) and(o *termTest) *termTest {
	return &termTest{deciders: append(slices.Clip(t.deciders), o.deciders...), head: t.head, tail: t.tail}
}

// lacks tells whether documents that have nothing at the path pass.
func (t *termTest) lacks(info *Info, given []doc.Value) bool {
	l := layout{given: given, planar: info.Geometry}
	f := newFrame(newRun(context.Background(), l, Env{}), l)
	f.body = []byte("{}")
	return t.holds(f)
}

func (t *termTest) holds(f *frame) bool {
	for _, d := range t.deciders {
		if d(f) != yes {
			return false
		}
	}
	return true
}

// testing lets terms be tested by a condition that a leaf was made of, if it is about that path alone.
func (p *planner) testing(l *leaf, e syntax.Expr) {
	t, known := p.tests[e]
	if !known && p.onlyPath(e) == l.name {
		t = p.newTermTest(l.path, e)
	}
	if l.test = t; p.tests != nil && !p.again {
		p.tests[e] = t
	}
}

// termsOf is the leaf of a condition about one indexed path alone that names no range of its terms: all of
// them are put to the test.
func (p *planner) termsOf(e syntax.Expr) *leaf {
	name := p.onlyPath(e)
	if name == "" {
		return nil
	}
	var route index.Path
	syntax.Walk(e, func(n syntax.Node) bool {
		if x, ok := n.(syntax.Expr); ok && route == nil {
			route, _, _ = p.itemRoute(x)
		}
		return route == nil
	})
	if indexed := p.info.Index.RangeIndexed(route); !indexed {
		p.noteSingle(route, false)
		return nil
	}
	l := &leaf{path: route, name: name, loose: true, sifted: true, width: kindsOnly,
		text: shortened(name + " by " + oneLine(syntax.PrintExpr(e)))}
	l.addSpan(p.info.Index.PathRange(route))
	l.test = p.newTermTest(route, e)
	l.undefined = l.test.lacks(p.info, p.values)
	return l
}

// onlyPath returns the one path of the item that an expression depends on, and nothing else does it depend
// on: no other path, no system property, no computed one, no subquery, no function that differs from call to
// call or that the container holds. "": there is no such path.
func (p *planner) onlyPath(e syntax.Expr) (name string) {
	ok := true
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subquery:
			ok = false
		case *syntax.Call:
			fn, known := lang.LookupBuiltin(n.Name)
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
func (p *planner) plainRoute(e syntax.Expr) (route string, ok bool) {
	a, names, ok := p.documentPath(e)
	if !ok || !a.item || len(names) == 0 || doc.IsSystem(names[0]) ||
		slices.ContainsFunc(p.info.Computed, func(c Computed) bool { return c.Name == names[0] }) {
		return "", false
	}
	path, _, ok := p.itemRoute(e)
	return path.String(), ok
}

// exactTerm returns the value that a term of a range index stands for; false where the document has to tell
// what it holds: of a string that was cut, or that may have had a lone surrogate, of an integer that a double
// does not tell from its neighbours, of an array or an object.
func exactTerm(key []byte) (doc.Value, bool) {
	v, exact := index.TermValue(key)
	switch {
	case !exact:
		return v, false
	case v.Kind() == doc.Number:
		return v, math.Abs(v.Num()) < lang.MaxExact
	case v.Kind() == doc.String:
		return v, !strings.ContainsRune(v.Str(), utf8.RuneError)
	}
	return v, true
}
