package query

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/syntax"
)

// testCall is the surroundings of functions under test: a fixed moment and a fixed number for RAND.
func testCall() *call {
	now := time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.UTC)
	return &call{now: now.Add(time.Hour), static: now, random: func() float64 { return 0.25 }}
}

var unaryOps = map[syntax.UnaryOp]func(doc.Value) doc.Value{
	syntax.Not: opNot, syntax.Neg: opNegate, syntax.Plus: opPlus, syntax.BitNot: opBitNot,
}

var binaryOps = map[syntax.BinaryOp]func(a, b doc.Value) doc.Value{
	syntax.Eq: opEqual, syntax.Ne: opNotEqual, syntax.Lt: opLess, syntax.Le: opLessEqual, syntax.Gt: opGreater, syntax.Ge: opGreaterEqual,
	syntax.Shl: opShiftLeft, syntax.Shr: opShiftRight, syntax.UShr: opShiftRightZero, syntax.Concat: opConcat, syntax.Add: opAdd,
	syntax.Sub: opSubtract, syntax.BitAnd: opBitAnd, syntax.BitOr: opBitOr, syntax.BitXor: opBitXor, syntax.Mul: opMultiply,
	syntax.Div: opDivide, syntax.Mod: opModulo,
}

// constant evaluates an expression that refers to nothing; ok is false for others.
func constant(c *call, e syntax.Expr) (v doc.Value, ok bool) {
	ok = true
	sub := func(e syntax.Expr) doc.Value {
		v, good := constant(c, e)
		ok = ok && good
		return v
	}
	list := func(exprs []syntax.Expr) []doc.Value {
		var values []doc.Value
		for _, e := range exprs {
			values = append(values, sub(e))
		}
		return values
	}
	not := func(is bool, v doc.Value) doc.Value {
		if is {
			return opNot(v)
		}
		return v
	}
	switch e := e.(type) {
	case *syntax.Literal:
		v = e.Value
	case *syntax.Ident:
		n, known := map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1)}[e.Name]
		v, ok = doc.NumberValue(n), known
	case *syntax.Unary:
		v = unaryOps[e.Op](sub(e.X))
	case *syntax.Binary:
		v = binaryOps[e.Op](sub(e.X), sub(e.Y))
	case *syntax.Logical:
		combine := opAnd
		if e.Op == syntax.Or {
			combine = opOr
		}
		v = sub(e.Terms[0])
		for _, term := range e.Terms[1:] {
			v = combine(v, sub(term))
		}
	case *syntax.Coalesce:
		v = opCoalesce(sub(e.X), sub(e.Y))
	case *syntax.Cond:
		v = opConditional(sub(e.If), sub(e.Then), sub(e.Else))
	case *syntax.Between:
		v = not(e.Not, opBetween(sub(e.X), sub(e.Low), sub(e.High)))
	case *syntax.In:
		v = not(e.Not, opIn(sub(e.X), list(e.List)))
	case *syntax.Like:
		var escape doc.Value
		if e.Escape != nil {
			escape = e.Escape.Value
		}
		v = not(e.Not, opLike(c, sub(e.X), likeOf(sub(e.Pattern), escape)))
	case *syntax.Member:
		v = sub(e.X).Member(e.Name)
	case *syntax.Index:
		v = opIndex(sub(e.X), sub(e.I))
	case *syntax.ArrayLit:
		v = arrayValue(list(e.Elems))
	case *syntax.ObjectLit:
		v = objectOf(e.Keys, list(e.Values))
	case *syntax.Call:
		b, known := lookupBuiltin(e.Name)
		if !known || b.fn == nil || !b.accepts(len(e.Args)) {
			return v, false
		}
		if args := list(e.Args); ok {
			v = b.fn(c, args)
		}
	default:
		ok = false
	}
	return v, ok
}

func objectOf(keys []string, values []doc.Value) doc.Value {
	text := []byte{'{'}
	for i, v := range values {
		if v.Kind() == doc.Undefined {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = v.AppendJSON(append(doc.AppendString(text, keys[i]), ':'))
	}
	return doc.Of(append(text, '}'))
}

// row evaluates a query without FROM and returns its result list.
func row(q *syntax.Query) (result doc.Value, ok bool) {
	if len(q.From) > 0 || q.Where != nil || q.Select.Star != nil || q.GroupBy != nil || q.OrderBy != nil || q.Offset != nil || q.Select.Top != nil {
		return result, false
	}
	c := testCall()
	if q.Select.Value != nil {
		v, ok := constant(c, q.Select.Value)
		return arrayValue([]doc.Value{v}), ok
	}
	var keys []string
	var values []doc.Value
	for _, item := range q.Select.Items {
		v, ok := constant(c, item.X)
		if !ok || !item.HasAlias {
			return result, false
		}
		keys, values = append(keys, item.Alias), append(values, v)
	}
	return arrayValue([]doc.Value{objectOf(keys, values)}), true
}

// alike compares results: numbers by value with a relative tolerance.
func alike(a, b doc.Value, tolerance float64) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	var x, y []doc.Value
	switch a.Kind() {
	case doc.Number:
		return a.Num() == b.Num() || math.Abs(a.Num()-b.Num()) <= tolerance*max(math.Abs(a.Num()), math.Abs(b.Num()))
	case doc.Array:
		a.Each(func(_ string, v doc.Value) bool { x = append(x, v); return true })
		b.Each(func(_ string, v doc.Value) bool { y = append(y, v); return true })
	case doc.Object:
		a.Each(func(name string, v doc.Value) bool {
			x, y = append(x, v), append(y, b.Member(strings.Clone(name)))
			return true
		})
		if a.Len() != b.Len() {
			return false
		}
	default:
		return doc.Equal(a, b)
	}
	return slices.EqualFunc(x, y, func(v, w doc.Value) bool { return alike(v, w, tolerance) })
}

// TestFunctionCases runs those of the shared cases that need no documents.
func TestFunctionCases(t *testing.T) {
	raw, err := os.ReadFile("testdata/query-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		ID, Group, Query string
		Parameters       json.RawMessage
		Expected         json.RawMessage
		Compare          struct{ RelTol float64 }
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	covered := map[string]int{}
	for _, c := range cases {
		q, err := syntax.Parse(c.Query)
		if err != nil || c.Expected == nil || c.Parameters != nil {
			continue
		}
		got, ok := row(q)
		if !ok {
			continue
		}
		covered[c.Group]++
		want := doc.Of(c.Expected)
		if !alike(got, want, max(c.Compare.RelTol, 1e-12)) {
			t.Errorf("%s: %s gives %s, want %s", c.ID, c.Query, got.Raw(), want.Raw())
		}
	}
	for group, least := range map[string]int{"string": 115, "datetime": 70, "array": 65, "math": 60, "integer-math": 35, "conversion": 30,
		"typecheck": 24, "logic": 25, "undefined-arith": 30, "comparison": 20, "operators": 20, "equality": 15, "like": 12, "spatial": 9,
		"conditional": 6, "literals": 20} {
		if covered[group] < least {
			t.Errorf("%d cases of the group %s were run, want %d", covered[group], group, least)
		}
	}
}

// functionLines returns the expressions of testdata/functions.txt and what they should give.
func functionLines(t testing.TB) (expressions, results []string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/functions.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndex(line, " => ")
		if at < 0 {
			t.Fatalf("%s has no result", line)
		}
		expressions, results = append(expressions, line[:at]), append(results, line[at+len(" => "):])
	}
	return expressions, results
}

func TestFunctions(t *testing.T) {
	expressions, results := functionLines(t)
	for i, text := range expressions {
		q, err := syntax.Parse("SELECT VALUE " + text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, ok := constant(testCall(), q.Select.Value)
		var want doc.Value
		if results[i] != "-" {
			want = doc.Of([]byte(results[i]))
		}
		if got.Kind() == doc.Number && got.Num()-got.Num() != 0 {
			got = doc.Of(got.Raw()) // as the client sees it
		}
		if !ok || !alike(got, want, 1e-12) {
			t.Errorf("%s gives %q (%v), want %s", text, got.Raw(), ok, results[i])
		}
		if n, exact := asInteger(want); exact && (n > maxExact || n < -maxExact) && string(got.Raw()) != results[i] && !strings.HasPrefix(text, "DateTimeDiff") {
			t.Errorf("%s gives %s, want it to the digit: %s", text, got.Raw(), results[i])
		}
	}
}
