package query

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// testCall returns a call context for functions under test, with fixed times and a fixed random number.
func testCall() *lang.CallContext {
	now := time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.UTC)
	return &lang.CallContext{Now: now.Add(time.Hour), Static: now, Random: func() float64 { return 0.25 }}
}

// answerTo runs a query without FROM and returns its only row, or undefined if there is none.
func answerTo(text string) (jsondoc.Value, error) {
	p, err := Prepare(text, nil, bind.ContainerInfo{Lenient: true})
	if err != nil {
		return lang.Undefined, err
	}
	c := testCall()
	page, err := p.RunValues(context.Background(), nil, eval.Env{Now: c.Now, Static: c.Static,
		Random: c.Random},
		exec.RunOptions{})
	if err != nil || len(page.Rows) == 0 {
		return lang.Undefined, err
	}
	return jsondoc.Of(page.Rows[0]), nil
}

// arrayOf returns a JSON array of the values, without those that are undefined.
func arrayOf(values []jsondoc.Value) jsondoc.Value {
	dst := []byte{'['}
	for _, v := range values {
		dst = lang.AppendElement(dst, v)
	}
	return jsondoc.Of(append(dst, ']'))
}

// objectOf returns a JSON object of the keys and values, without members whose value is undefined.
func objectOf(keys []string, values []jsondoc.Value) jsondoc.Value {
	text := []byte{'{'}
	for i, v := range values {
		if v.Kind() == jsondoc.Undefined {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = v.AppendJSON(append(jsondoc.AppendString(text, keys[i]), ':'))
	}
	return jsondoc.Of(append(text, '}'))
}

// alike reports whether two JSON values are equal. Numbers may differ by the relative tolerance.
func alike(a, b jsondoc.Value, tolerance float64) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	var x, y []jsondoc.Value
	switch a.Kind() {
	case jsondoc.Number:
		return a.Num() == b.Num() || math.Abs(a.Num()-b.Num()) <= tolerance*max(math.Abs(a.Num()),
			math.Abs(b.Num()))
	case jsondoc.Array:
		a.Each(func(_ string, v jsondoc.Value) bool { x = append(x, v); return true })
		b.Each(func(_ string, v jsondoc.Value) bool { y = append(y, v); return true })
	case jsondoc.Object:
		a.Each(func(name string, v jsondoc.Value) bool {
			x, y = append(x, v), append(y, b.Member(strings.Clone(name)))
			return true
		})
		if a.Len() != b.Len() {
			return false
		}
	default:
		return jsondoc.Equal(a, b)
	}
	return slices.EqualFunc(x, y, func(v, w jsondoc.Value) bool { return alike(v, w, tolerance) })
}

// TestFunctionCases runs the cases of testdata/query-cases.json that have no FROM, and compares the
// results with those of Cosmos DB.
func TestFunctionCases(t *testing.T) {
	t.Parallel()
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
		if err != nil || c.Expected == nil || c.Parameters != nil || len(q.From) > 0 {
			continue
		}
		v, err := answerTo(c.Query)
		if err != nil {
			t.Errorf("%s: %s: %v", c.ID, c.Query, err)
			continue
		}
		got := arrayOf([]jsondoc.Value{v})
		covered[c.Group]++
		want := jsondoc.Of(c.Expected)
		if !alike(got, want, max(c.Compare.RelTol, 1e-12)) {
			t.Errorf("%s: %s gives %s, want %s", c.ID, c.Query, got.Raw(), want.Raw())
		}
	}
	for group, least := range map[string]int{"string": 115, "datetime": 70, "array": 65, "math": 60,
		"integer-math": 35, "conversion": 30,
		"typecheck": 24, "logic": 25, "undefined-arith": 30, "comparison": 20, "operators": 20,
		"equality": 15, "like": 12, "spatial": 9,
		"conditional": 6, "literals": 20} {
		if covered[group] < least {
			t.Errorf("%d cases of the group %s were run, want %d", covered[group], group, least)
		}
	}
}

// functionLines returns the expressions in testdata/functions.txt and their expected results.
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
	t.Parallel()
	expressions, results := functionLines(t)
	for i, text := range expressions {
		got, err := answerTo("SELECT VALUE " + text)
		if results[i] == "error" {
			if err == nil {
				t.Errorf("%s gives %s, want an error", text, got.Raw())
			}
			continue
		}
		var want jsondoc.Value
		if results[i] != "-" {
			want = jsondoc.Of([]byte(results[i]))
		}
		if err != nil || !alike(got, want, 1e-12) {
			t.Errorf("%s gives %q (%v), want %s", text, got.Raw(), err, results[i])
		}
		if n, exact := lang.AsInteger(want); exact && (n > lang.MaxExact || n < -lang.MaxExact) &&
			string(got.Raw()) != results[i] {
			t.Errorf("%s gives %s, want it to the digit: %s", text, got.Raw(), results[i])
		}
	}
}
