package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/syntax"
)

// afterRules plans the query text, applying the planning rules in order up to the one named last, and
// returns the planner in that state.
func afterRules(t *testing.T, text, last string) *Planner {
	t.Helper()
	q, err := syntax.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	info := bind.ContainerInfo{PartitionPaths: []jsondoc.Path{jsondoc.PathOf("pk")}}
	b, err := bind.NewBinder(text, []bind.Parameter{{Name: "@n", Value: jsondoc.NumberValue(2)}}, &info,
		FoldConstants)
	if err != nil {
		t.Fatal(err)
	}
	p := &Planner{Binder: b, Plan: &Plan{Top: b.Block(q, nil, nil, false), Info: info}}
	if err := b.Err(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, r := range slices.Concat(ShapeRules(), ValueRules()) {
		r.Apply(p)
		if r.Name == last {
			return p
		}
	}
	t.Fatalf("there is no rule %q", last)
	return nil
}

func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"1 + 2 * 3": "7", "1.0": "1", "@n * 2 = 4": "true", "[1, @n, undefined]": "[1, 2]",
		`{"a": 1 + 1, "b": c.x}`: `{"a": 2, "b": c.x}`,
		"c[@n]":                  "c[@n]", "UPPER('a') = c.x": `("A" = c.x)`, "RAND() + 1": "(RAND() + 1)",
		"udf.f(1 + 1)": "udf.f(2)",
		"c.x AND true": "(c.x AND true)", "c.x = 1 AND true": "(c.x = 1)", "c.x OR true": "true",
		"c.x AND false AND c.y": "false",
		"false ? 1 : 2":         "2", "c.x BETWEEN 1 + 1 AND 3": "(c.x BETWEEN 2 AND 3)",
		"c.x IN (1 + 1, 'a')": `(c.x IN (2, "a"))`, "@none": "undefined",
		"NaN": `"NaN"`, "9007199254740993": "9007199254740993", "NOT (1 > 2)": "true",
		"'b' LIKE 'b%'": "true", "{a: 1}.a ?? c.x": "1",
		"GetCurrentTimestamp() > 0": "(GetCurrentTimestamp() > 0)",
		"ARRAY(SELECT VALUE 1 + 1)": "ARRAY(SELECT VALUE 2)",
	} {
		p := afterRules(t, "SELECT VALUE "+text+" FROM c", "fold")
		got := OneLine(syntax.PrintExpr(p.Plan.Top.Value))
		if strings.HasPrefix(got, "ARRAY( SELECT VALUE (1 + 1)") ||
			strings.HasPrefix(got, "ARRAY( SELECT VALUE") {
			got = "ARRAY(SELECT VALUE " +
				syntax.PrintExpr(p.Subs[p.Plan.Top.Value.(*syntax.Subquery).Query].Value) + ")"
		}
		if got != want && got != strings.Trim(want, `"`) {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

func TestPrune(t *testing.T) {
	for text, want := range map[string]string{
		"true": "", "c.a = 1 AND true": "(c.a = 1)", "c.a = 1 AND 1 > 2": "never false",
		"null": "never false", "1": "never false",
		"c.a AND (c.b OR true)": "c.a",
	} {
		p := afterRules(t, "SELECT * FROM c WHERE "+text, "prune")
		got := (&Plan{}).ConditionsText(p.Plan.Top.Where)
		if p.Plan.Never {
			got = "never " + got
		}
		if got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

func TestPushFilters(t *testing.T) {
	p := afterRules(t, `SELECT c.id FROM c JOIN t IN c.l JOIN u IN t.m WHERE u.x = 1 AND c.a = 2 AND t > c.b AND RAND() < 1
		AND EXISTS(SELECT VALUE x FROM x IN t.n WHERE x = c.k)`, "push-filter")
	got := []string{(&Plan{}).ConditionsText(p.Plan.Top.First)}
	for _, st := range p.Plan.Top.Steps {
		got = append(got, (&Plan{}).ConditionsText(st.Filter))
	}
	want := []string{"(RAND() < 1)", "(c.a = 2)",
		"(t > c.b) AND EXISTS( SELECT VALUE x FROM x IN t.n WHERE (x = c.k) )", "(u.x = 1)"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestSimplifyDistinct(t *testing.T) {
	for text, want := range map[string]bool{
		"SELECT DISTINCT c.a FROM c": true, "SELECT DISTINCT COUNT(1) FROM c": false,
		"SELECT DISTINCT c.a, c.b FROM c GROUP BY c.a, c.b": false,
		"SELECT DISTINCT c.a FROM c GROUP BY c.a, c.b":      true,
		"SELECT DISTINCT VALUE c.a FROM c GROUP BY c.a":     false,
		"SELECT DISTINCT * FROM c":                          false,
		"SELECT DISTINCT VALUE c FROM c WHERE c.a > 1":      false,
		"SELECT DISTINCT c._rid, c.a FROM c":                false,
		"SELECT DISTINCT c FROM c JOIN t IN c.t":            true, "SELECT DISTINCT c.id FROM c": true,
		"SELECT DISTINCT * FROM c.a": true,
	} {
		if got := afterRules(t, text, "distinct").Plan.Top.Distinct; got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

func TestChooseForm(t *testing.T) {
	for text, want := range map[string]cursor.PagingMode{
		"SELECT * FROM c": cursor.Streaming, "SELECT 1": cursor.Blocking,
		"SELECT * FROM c ORDER BY c.a":                           cursor.Sorting,
		"SELECT COUNT(1) FROM c ORDER BY c.a":                    cursor.Blocking,
		"SELECT DISTINCT c.a FROM c":                             cursor.Streaming,
		"SELECT DISTINCT c.a FROM c ORDER BY c.a":                cursor.Sorting,
		"SELECT DISTINCT c.b FROM c ORDER BY c.a":                cursor.Blocking,
		"SELECT DISTINCT c.b, c.a FROM c ORDER BY c.a, c.b, c.d": cursor.Sorting,
		"SELECT DISTINCT VALUE c.b FROM c ORDER BY c.a, c.b":     cursor.Blocking,
		"SELECT * FROM (SELECT c.a FROM c) s":                    cursor.Streaming,
		"SELECT * FROM (SELECT DISTINCT c.a FROM c) s":           cursor.Blocking,
		"SELECT * FROM c ORDER BY RANK FullTextScore(c.a, 'x')":  cursor.Blocking,
		"SELECT c.a FROM c GROUP BY c.a":                         cursor.Grouping,
		"SELECT DISTINCT c.a FROM c GROUP BY c.a, c.b":           cursor.Blocking,
	} {
		if got := afterRules(t, text, "shape").Plan.Form; got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

func TestTopLimit(t *testing.T) {
	for text, want := range map[string]int64{
		"SELECT * FROM c": -1, "SELECT TOP 3 * FROM c": 3, "SELECT TOP @n * FROM c": 2,
		"SELECT * FROM c OFFSET 1 LIMIT 4": 4,
		"SELECT TOP 0 * FROM c":            0,
	} {
		if got := afterRules(t, text, "top-n").Plan.Top.Limit; got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
