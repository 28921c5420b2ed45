package plan

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Constraint is the set of values that a condition leaves for one path, as keys of its range index. Every
// document that matches the condition has an entry in one of the spans. Documents that do not match may have
// one as well.
type Constraint struct {
	path        index.Path
	name        string    // the path as text
	entered     bool      // the path enters arrays, so a document can have many values at the path
	Spans       []KeySpan // in order, without overlaps
	undefined   bool      // documents without the path match, too
	selectivity selectivity
	equal       jsondoc.Value // if the condition is path = equal
	isEqual     bool
	bounds      []comparisonBound // comparisons that must all be true
	Superset    bool              // the spans also contain values that do not match
	testOnly    bool              // the spans cover the whole path, so that only the test excludes documents
	Test        *IndexTermTest
	text        string
}

// comparisonBound is a comparison of a path with a constant, such as "> 5".
type comparisonBound struct {
	op index.ComparisonOp
	v  jsondoc.Value
}

// KeySpan is an interval [Lo, Hi) of keys. If point is set, it contains only the key Lo.
type KeySpan struct {
	Lo, Hi []byte
	point  bool
}

// pointSpan returns the span of one key. The upper end is the key with a byte 0xFF: an index entry is the
// key followed by a rid, whose first byte is small.
func pointSpan(key []byte) KeySpan { return KeySpan{key, append(bytes.Clone(key), 0xFF), true} }

// selectivity estimates, from the form of a condition, which part of the entries of a path a constraint
// selects.
type selectivity uint8

const (
	points    selectivity = iota // single values
	closed                       // between two values, or strings with a common prefix
	halfOpen                     // on one side of a value
	kindsOnly                    // all values of a type
)

// constraintOf returns the constraint of a condition on one indexed path. It returns nil for all other
// conditions.
func (p *Planner) constraintOf(e syntax.Expr) *Constraint {
	switch e := e.(type) {
	case *syntax.Binary:
		if v, ok := p.ConstOf(e.Y); ok {
			return p.compared(e.X, e.Op, v)
		} else if v, ok := p.ConstOf(e.X); ok {
			return p.compared(e.Y, mirrored(e.Op), v)
		}
		return nil
	case *syntax.Logical:
		return p.combined(e)
	case *syntax.InExpr:
		if values, ok := p.Constants(e.List); ok && !e.Not {
			return p.oneOf(e.X, values)
		}
		return nil
	case *syntax.Between:
		low, ok1 := p.ConstOf(e.Low)
		high, ok2 := p.ConstOf(e.High)
		if e.Not || !ok1 || !ok2 {
			return nil
		}
		return intersect(p.compared(e.X, syntax.Ge, low), p.compared(e.X, syntax.Le, high))
	case *syntax.Like:
		return p.likeConstraint(e)
	case *syntax.Call:
		return p.called(e)
	case *syntax.Unary:
		return p.negated(e)
	}
	// a condition that is only a property means that the property is true
	return p.compared(e, syntax.Eq, jsondoc.BoolValue(true))
}

// constraintAt returns a constraint on the path that an expression consists of, for a caller that fills in
// Spans, the intervals of index keys. It returns nil if the expression is not a path or has no range
// index.
func (p *Planner) constraintAt(e syntax.Expr) *Constraint {
	at := p.pathAt(e)
	if !at.ok {
		return nil
	}
	p.noteSingle(at.route, at.indexed)
	if !at.indexed {
		return nil
	}
	return &Constraint{path: at.route, name: at.name, entered: at.entered, text: at.name}
}

// constraintOfElement returns the constraint (a set of index keys) for conditions on a path with array
// indexes, such as c.tags[0].name, or nil if the path is not indexed. The index has one path for all
// elements, /tags/[]/name, so the constraint also includes documents in which only another element matches.
func (p *Planner) constraintOfElement(e syntax.Expr) *Constraint {
	root, steps, ok := syntax.PathOf(e)
	if !ok || p.Idents[root] == nil || !p.Idents[root].Item {
		return nil
	}
	l := &Constraint{Superset: true}
	for _, st := range steps {
		if l.entered = l.entered || st.IsIndex; st.IsIndex {
			l.path = l.path.Element()
		} else {
			l.path = l.path.Property(st.Name)
		}
	}
	if !l.entered || !p.Info.Index.RangeIndexed(l.path) {
		return nil
	}
	l.name = l.path.String()
	l.text = l.name
	return l
}

// noteSingle adds a path to the index metrics, as one on which an index would be useful, unless the path is
// indexed.
func (p *Planner) noteSingle(route index.Path, indexed bool) {
	if indexed {
		return
	}
	spec := route.String() + "/?"
	if list := &p.Plan.Use.PotentialSingle; !slices.Contains(*list, spec) {
		*list = append(*list, spec)
	}
}

func mirrored(op syntax.BinaryOperator) syntax.BinaryOperator {
	switch op {
	case syntax.Lt:
		return syntax.Gt
	case syntax.Le:
		return syntax.Ge
	case syntax.Gt:
		return syntax.Lt
	case syntax.Ge:
		return syntax.Le
	}
	return op
}

var rangeOps = map[syntax.BinaryOperator]index.ComparisonOp{
	syntax.Lt: index.Less, syntax.Le: index.LessEqual, syntax.Gt: index.Greater,
	syntax.Ge: index.GreaterEqual,
}

// compared returns the constraint of the comparison x op v: the keys of the index of the path x that can
// match it.
func (p *Planner) compared(x syntax.Expr, op syntax.BinaryOperator, v jsondoc.Value) *Constraint {
	if op > syntax.Ge || op == syntax.Ne {
		return nil
	}
	l := p.constraintAt(x)
	if l == nil {
		l = p.constraintOfElement(x)
	}
	if l == nil {
		return nil
	}
	l.text += " " + op.String() + " " + clip(v)
	if op == syntax.Eq {
		l.equal, l.isEqual = v, true
		l.addPoint(p.Info.Index, v)
		return l
	}
	l.selectivity = halfOpen
	l.bounds = []comparisonBound{{rangeOps[op], v}}
	if v.Kind() > jsondoc.Undefined && v.Kind() < jsondoc.Array { // else never true
		lo, hi, exact := p.Info.Index.Range(l.path, rangeOps[op], v)
		l.addSpan(lo, hi)
		l.Superset = !exact
	}
	return l
}

func (l *Constraint) addPoint(x *index.Indexer, v jsondoc.Value) {
	if v.Kind() != jsondoc.Undefined && lang.Equal(v, v) {
		key, exact := x.Term(l.path, v)
		l.Spans, l.Superset = append(l.Spans, pointSpan(key)), l.Superset || !exact
	}
}

func (l *Constraint) addSpan(lo, hi []byte) {
	if bytes.Compare(lo, hi) < 0 {
		l.Spans = append(l.Spans, KeySpan{Lo: lo, Hi: hi})
	}
}

// oneOf returns the constraint of x IN (list): the keys of the index of the path x that can match it.
func (p *Planner) oneOf(x syntax.Expr, list []jsondoc.Value) *Constraint {
	l := p.constraintAt(x)
	if l == nil {
		return nil
	}
	texts := make([]string, len(list))
	for i, v := range list {
		l.addPoint(p.Info.Index, v)
		texts[i] = clip(v)
	}
	l.text += " IN (" + strings.Join(texts, ", ") + ")"
	l.text = shortened(l.text)
	l.Spans = merged(l.Spans)
	return l
}

// combined returns the constraint of a chain of AND or OR whose operands are all about the same path.
func (p *Planner) combined(e *syntax.Logical) *Constraint {
	first := p.constraintOf(e.Terms[0])
	if first == nil {
		return nil
	}
	for _, term := range e.Terms[1:] {
		l := p.constraintOf(term)
		if l == nil || l.entered != first.entered || l.name != first.name {
			return nil
		}
		if e.Op == syntax.And {
			if first = intersect(first, l); first == nil {
				return nil
			}
			continue
		}
		first = &Constraint{path: l.path, name: l.name, entered: l.entered, undefined: first.undefined ||
			l.undefined, selectivity: max(first.selectivity, l.selectivity), Superset: first.Superset ||
			l.Superset,
			Spans: append(first.Spans, l.Spans...), text: shortened(first.text + " or " + l.text)}
	}
	first.Spans = merged(first.Spans)
	return first
}

// shortened cuts a long text for the output of plans.
func shortened(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return strings.TrimSuffix(strings.ToValidUTF8(text[:most-3], ""), "...") + "..."
}

// clip formats a value for the output of plans, cut if it is long.
func clip(v jsondoc.Value) string {
	if v.Kind() == jsondoc.Undefined {
		return "undefined"
	}
	text := string(v.Raw())
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:37], "") + "..."
	}
	return text
}

// intersect returns the constraint of a AND b. It returns nil if they are about different paths, or about
// elements of arrays, since each condition may hold for a different element.
func intersect(a, b *Constraint) *Constraint {
	if a == nil || b == nil || a.entered || b.entered || a.name != b.name {
		return nil
	}
	l := &Constraint{path: a.path, name: a.name, undefined: a.undefined && b.undefined, Superset: a.Superset ||
		b.Superset,
		testOnly: a.testOnly && b.testOnly, bounds: append(slices.Clip(a.bounds), b.bounds...),
		text: shortened(a.text + " and " + b.text), selectivity: closed}
	if a.Test != nil && b.Test != nil {
		l.Test = a.Test.and(b.Test)
	}
	if a.selectivity > halfOpen || b.selectivity > halfOpen {
		l.selectivity = max(a.selectivity, b.selectivity)
	}
	for _, x := range a.Spans {
		for _, y := range b.Spans {
			s := KeySpan{Lo: x.Lo, Hi: x.Hi, point: x.point || y.point}
			if bytes.Compare(y.Lo, s.Lo) > 0 {
				s.Lo = y.Lo
			}
			if bytes.Compare(y.Hi, s.Hi) < 0 {
				s.Hi = y.Hi
			}
			if bytes.Compare(s.Lo, s.Hi) < 0 {
				l.Spans = append(l.Spans, s)
			}
		}
	}
	l.Spans = merged(l.Spans)
	if !slices.ContainsFunc(l.Spans, func(s KeySpan) bool { return !s.point }) {
		l.selectivity = points
	}
	return l
}

// merged sorts spans and joins those that overlap.
func merged(spans []KeySpan) []KeySpan {
	slices.SortFunc(spans, func(a, b KeySpan) int {
		if c := bytes.Compare(a.Lo, b.Lo); c != 0 {
			return c
		}
		return bytes.Compare(b.Hi, a.Hi)
	})
	var out []KeySpan
	for _, s := range spans {
		if n := len(out); n > 0 && bytes.Compare(s.Lo, out[n-1].Hi) < 0 {
			if last := &out[n-1]; bytes.Compare(s.Hi, last.Hi) > 0 {
				last.Hi, last.point = s.Hi, false
			}
			continue
		}
		out = append(out, s)
	}
	return out
}
