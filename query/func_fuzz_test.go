package query

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
)

// anything returns a random JSON value of any kind, often one with a meaning for some function, such as a
// date or a geometry.
func anything(r *rand.Rand, depth int) jsondoc.Value { return anyOfTexts(r, depth, nil) }

// anyOfTexts returns a random JSON value of any kind. Its strings are chosen from texts, or from a default
// list if texts is nil.
func anyOfTexts(r *rand.Rand, depth int, texts []string) jsondoc.Value {
	if texts == nil {
		texts = []string{"", "a", "The quick Brown fox", "é😀日本", "yyyy", "2024-02-29T23:59:59.9999999Z",
			"[1,2]", " 1e5 ", "(a+)+$", `{"a":1}`,
			"%a_[b-d]", "null", "true", "\x00\uFFFD", "i", "cosine"}
	}
	numbers := []float64{0, 1, -1, 2, 3, 0.5, -2.5, 40, 2024, 1 << 31, 1 << 53, -1 << 63, 1e19, 1e300,
		-1e-300, math.Inf(1), math.Inf(-1), math.NaN()}
	raw := []string{`9007199254740993`, `-9223372036854775808`, `1.0`, `"\ud83d"`, `"\u0041\n"`, `[]`, `{}`,
		`[1,2,3]`, `[0.5,-1,2]`, `["b","a","a"]`,
		` [ 1 , {"x" : [ ] } ] `, `{"type":"Point","coordinates":[1,2]}`,
		`{"type":"Polygon","coordinates":[[[0,0],[3,0],[3,3],[0,0]]]}`,
		`{"type":"LineString","coordinates":[[0,0],[170,80]]}`, `{"term":"fax","distance":1}`,
		`{"distanceFunction":"DotProduct"}`,
		`{"_rid":"36ZyAPW+uN8NAAAAAAAAAA=="}`, `{"a":1,"b":"x"}`}
	switch r.IntN(9) {
	case 0:
		return lang.Undefined
	case 1:
		return []jsondoc.Value{jsondoc.NullValue(), jsondoc.BoolValue(true), jsondoc.BoolValue(false)}[r.IntN(3)]
	case 2, 3:
		return jsondoc.NumberValue(numbers[r.IntN(len(numbers))])
	case 4, 5:
		return jsondoc.StringValue(texts[r.IntN(len(texts))])
	case 6:
		if depth > 2 {
			return lang.Undefined
		}
		var values []jsondoc.Value
		for range r.IntN(5) {
			values = append(values, anything(r, depth+1))
		}
		return arrayOf(values)
	}
	return jsondoc.Of([]byte(raw[r.IntN(len(raw))]))
}

// TestFunctionsWithRandomArguments calls each function with random arguments, and checks that it does not
// panic, returns valid JSON or undefined, does not depend on earlier calls, and does not change its
// arguments.
func TestFunctionsWithRandomArguments(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	used := testCall()
	names := slices.Sorted(maps.Keys(lang.Builtins()))
	for _, name := range names {
		b, _ := lang.Lookup(name)
		if b.Fn == nil {
			continue
		}
		defined := 0
		var texts []string
		if strings.HasPrefix(name, "DATE") || name == "AGO" {
			texts = []string{"yyyy", "ns", "dd", "2024-02-29T23:59:59.9999999Z", "0001-01-01", "9999-12-31"}
		}
		for n := 0; n < 1500 || defined == 0 && n < 100_000; n++ {
			args := make([]jsondoc.Value, b.Min+r.IntN(3))
			for i := range args {
				args[i] = anyOfTexts(r, 0, texts)
			}
			if !b.Accepts(len(args)) {
				continue
			}
			before := render(args...)
			used.Planar = r.IntN(2) == 0
			// what is a geometry depends on planar, which does not change in a query
			used.Shapes = [2]lang.LastGeometryCache{}
			got := b.Fn(used, args)
			fresh := testCall()
			fresh.Planar = used.Planar
			again := b.Fn(fresh, args)
			if render(got) != render(again) || render(args...) != before {
				t.Fatalf("%s of %s is %s, and then %s of %s", name, before, render(got), render(again),
					render(args...))
			}
			if got.Kind() != jsondoc.Undefined {
				defined++
				if err := jsondoc.Valid(got.Raw(), jsondoc.Limits{MaxBytes: 8 << 20}); err != nil {
					t.Fatalf("%s of %s is %s: %v", name, before, got.Raw(), err)
				}
			}
		}
		if defined == 0 && b.Min < 5 && name != "GENERATEEMBEDDINGS" {
			t.Errorf("%s was undefined for all arguments", name)
		}
	}
}

func render(values ...jsondoc.Value) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString(v.Kind().String() + " ")
		b.Write(v.Raw())
		b.WriteByte('\n')
	}
	return b.String()
}

// TestOperatorsWithRandomOperands applies each operator to random operands, and checks that the results are
// valid JSON and that the comparisons are consistent with each other.
func TestOperatorsWithRandomOperands(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	for range 20000 {
		a, b := anything(r, 0), anything(r, 0)
		for op, f := range eval.Operators() {
			if v := f(a, b); v.Kind() != jsondoc.Undefined && jsondoc.Valid(v.Raw(), jsondoc.Limits{}) != nil {
				t.Fatalf("%s %s %s is %s", a.Raw(), op, b.Raw(), v.Raw())
			}
		}
		less, greater, equal := eval.Ordered(a, b, -1, -1), eval.Ordered(b, a, -1, -1), eval.Same(a, b)
		count := 0
		for _, v := range []eval.Truth{less, greater, equal} {
			if v == eval.Yes {
				count++
			}
		}
		nan := lang.AllOf(jsondoc.Number, a, b) && (a.Num() != a.Num() || b.Num() != b.Num())
		if less != eval.Unknown && count != 1 && !nan || count > 1 || eval.Ordered(b, a, 1, 1) != less {
			t.Fatalf("%s and %s: less %v, greater %v, equal %v", a.Raw(), b.Raw(), less, greater, equal)
		}
	}
}

// FuzzFunctions evaluates a fuzzed expression and checks that a result is valid JSON.
func FuzzFunctions(f *testing.F) {
	expressions, _ := functionLines(f)
	for _, e := range expressions {
		f.Add(e)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := answerTo("SELECT VALUE " + text)
		if err == nil && v.Kind() != jsondoc.Undefined {
			if err := jsondoc.Valid(v.Raw(), jsondoc.Limits{MaxBytes: 64 << 20, MaxDepth: 2000}); err != nil {
				t.Fatalf("%s is %s: %v", text, v.Raw(), err)
			}
		}
	})
}
