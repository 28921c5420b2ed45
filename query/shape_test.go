package query

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/syntax"
)

// opened replaces random constants of a query by parameters. It returns the new query, the parameters with
// the values of the constants, and the same parameters with other values.
func opened(t *testing.T, r *rand.Rand, text string) (open string, values, others []bind.Parameter) {
	t.Helper()
	q, err := syntax.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q = syntax.RewriteQuery(q, func(e syntax.Expr) syntax.Expr {
		l, ok := e.(*syntax.Literal)
		if !ok || l.Value.Kind() == jsondoc.Undefined || r.IntN(3) == 0 {
			return e
		}
		name := "@" + string(rune('a'+len(values)))
		values = append(values, bind.Parameter{Name: name, Value: l.Value})
		texts := []string{"1", "-3", `"o"`, "true", "null", "[1]", string(l.Value.Raw())}
		others = append(others, bind.Parameter{Name: name, Value: jsondoc.Of([]byte(texts[r.IntN(len(texts))]))})
		return &syntax.Parameter{Name: name}
	})
	return syntax.Print(q), values, others
}

// prepareWith prepares a query with some constants replaced by parameters: first for other values, and
// then with Plan.With for the right ones. It fails the test unless the plan equals that of Prepare. It
// returns nil if the query cannot have these parameters.
func prepareWith(t *testing.T, r *rand.Rand, text string, info bind.ContainerInfo) *Plan {
	t.Helper()
	open, values, others := opened(t, r, text)
	anew, err := Prepare(open, values, info)
	if err != nil {
		return nil // something must be written out
	}
	first, err := Prepare(open, others, info)
	if err != nil {
		first = anew
	}
	p, err := first.With(values)
	if err != nil {
		t.Fatalf("%s: %v", open, err)
	}
	if a, b := p.String(), anew.String(); a != b || p.Hash != anew.Hash || p.Asked != anew.Asked {
		t.Fatalf("%s by a plan for %v, with %v:\n%s\nbut anew:\n%s", open, others, values, a, b)
	}
	return p
}

// TestPlanDependsOnValues checks for which queries the plan depends on the values of parameters in such a
// way that Plan.With must plan the query from the beginning.
func TestPlanDependsOnValues(t *testing.T) {
	t.Parallel()
	info := planInfo(t)
	info.Lenient = true
	for text, fixed := range map[string]bool{
		"SELECT * FROM c WHERE c.a = @x":                                                    false,
		"SELECT * FROM c WHERE @x < c.a OR (c.b BETWEEN @y AND 3)":                          false,
		"SELECT * FROM c WHERE c.a IN (@x, @y, 1)":                                          false,
		"SELECT * FROM c WHERE NOT (c.a != @x)":                                             false,
		"SELECT * FROM c WHERE c.a IN (@x, 2, 3, 4, 5, 6, 7, 8)":                            true,
		"SELECT * FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.t WHERE t = @x)":           false,
		"SELECT * FROM c WHERE STARTSWITH(c.s, @x, true) AND ARRAY_CONTAINS(@list, c.a)":    false,
		"SELECT COUNT(1) AS n FROM c WHERE c.a > @x GROUP BY c.b":                           false,
		"SELECT c.a FROM c WHERE c.a > @x ORDER BY c.a":                                     false,
		"SELECT TOP @n * FROM c":                                                            true,
		"SELECT * FROM c OFFSET @n LIMIT 1":                                                 true,
		"SELECT * FROM c WHERE c.a = @x + 1":                                                true,
		"SELECT * FROM c WHERE @x = 1 AND c.a = 1":                                          true,
		"SELECT * FROM c WHERE @x":                                                          true,
		"SELECT * FROM c WHERE c.a = 1 AND @x":                                              true,
		"SELECT * FROM c WHERE c.s LIKE @x":                                                 true,
		"SELECT * FROM c WHERE c[@s] = 1":                                                   true,
		"SELECT c.a = @x AS e FROM c":                                                       true,
		"SELECT * FROM c WHERE REGEXMATCH(c.s, @s)":                                         true,
		"SELECT TOP 3 * FROM c WHERE c.a = @x ORDER BY RANK FullTextScore(c.s, 'a')":        true,
		"SELECT * FROM c WHERE c.a = @missing":                                              false,
		"SELECT * FROM c WHERE c.a = (@x = 1 ? 2 : 3)":                                      true,
		"SELECT t FROM c JOIN (SELECT VALUE t FROM t IN c.t WHERE t > @x) t WHERE c.a = @y": false,
	} {
		params := []bind.Parameter{{Name: "@x", Value: jsondoc.NumberValue(1)}, {Name: "@y",
			Value: jsondoc.StringValue("y")},
			{Name: "@n", Value: jsondoc.NumberValue(1)}, {Name: "@s", Value: jsondoc.StringValue("s")},
			{Name: "@list", Value: jsondoc.Of([]byte(`[1,2]`))}}
		p, err := Prepare(text, params, info)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if p.Shape.Fixed != fixed {
			t.Errorf("%s depends on values: %t, want %t", text, p.Shape.Fixed, fixed)
		}
	}
}

// TestWithReadsMatchingDocuments checks that a plan from Plan.With reads only the documents that match its
// own parameter values, and none if no document can match. With other parameter names Plan.With makes a new
// plan.
func TestWithReadsMatchingDocuments(t *testing.T) {
	t.Parallel()
	x := planInfo(t).Index
	bodies := [][]byte{[]byte(`{"id":"1","a":1}`), []byte(`{"id":"2","a":2}`), []byte(`{"id":"3","a":3}`)}
	sources := newPageStateStore(t, x, bodies, 1)
	p, err := Prepare("SELECT VALUE c.id FROM c WHERE c.a >= @low AND c.a < @high",
		[]bind.Parameter{{Name: "@low", Value: jsondoc.NumberValue(1)}, {Name: "@high",
			Value: jsondoc.NumberValue(2)}}, bind.ContainerInfo{Index: x})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		low, high string
		loaded    int64
		want      string
	}{
		{"1", "2", 1, `"1"`}, {"2", "4", 2, `"2" "3"`}, {"2", "2", 0, ""}, {"9", "1", 0, ""},
		{`"x"`, "4", 0, ""}, {"[1]", "4", 0, ""},
	} {
		low, high := jsondoc.Of([]byte(test.low)), jsondoc.Of([]byte(test.high))
		q, err := p.With([]bind.Parameter{{Name: "@low", Value: low}, {Name: "@high", Value: high}})
		if err != nil {
			t.Fatal(err)
		}
		page, err := q.Run(t.Context(), sources, eval.Env{}, exec.RunOptions{})
		if got := rowTexts(page); err != nil || got != test.want || page.Stats.Loaded != test.loaded {
			t.Errorf("[%s, %s): %s, %d read, %v", test.low, test.high, got, page.Stats.Loaded, err)
		}
	}
	q, err := p.With([]bind.Parameter{{Name: "@high", Value: jsondoc.NumberValue(3)}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := q.Run(t.Context(), sources, eval.Env{}, exec.RunOptions{})
	if err != nil || len(page.Rows) > 0 || !slices.Equal(q.Shape.Names, []string{"@high"}) {
		t.Errorf("%s, %v", rowTexts(page), err)
	}
	twice := []bind.Parameter{{Name: "@high", Value: jsondoc.NumberValue(3)}, {Name: "@high",
		Value: jsondoc.NumberValue(3)}}
	if _, err = p.With(twice); err == nil {
		t.Error("a parameter that is there twice is taken")
	}
}

// TestConcurrentWith calls Plan.With on one plan, and runs the results, in several goroutines at once.
func TestConcurrentWith(t *testing.T) {
	t.Parallel()
	x := planInfo(t).Index
	bodies := [][]byte{[]byte(`{"id":"1","a":1,"s":"abc","t":[1]}`)}
	for _, text := range []string{
		"SELECT * FROM c WHERE c.a = @a AND CONTAINS(c.s, @s)", "SELECT COUNT(1) AS n FROM c WHERE c.a <= @a",
		"SELECT c.a FROM c WHERE c.a >= @a AND EXISTS(SELECT * FROM t IN c.t WHERE t = @a) ORDER BY c.a",
		"SELECT DISTINCT VALUE c.a FROM c WHERE c.a IN (@a, 2)",
		"SELECT c.a, MAX(c.s) AS m FROM c WHERE c.a = @a GROUP BY c.a",
	} {
		params := []bind.Parameter{{Name: "@a", Value: jsondoc.NumberValue(1)}, {Name: "@s",
			Value: jsondoc.StringValue("b")}}
		p, err := Prepare(text, params, bind.ContainerInfo{Index: x, Lenient: true})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 4 {
			sources := newPageStateStore(t, x, bodies, 1) // each has its own scratch
			all.Go(func() {
				q, err := p.With(params)
				if err != nil {
					t.Error(err)
					return
				}
				page, err := q.Run(t.Context(), sources, eval.Env{}, exec.RunOptions{})
				if err != nil || len(page.Rows) != 1 {
					t.Errorf("%s: %s, %v", text, rowTexts(page), err)
				}
			})
		}
		all.Wait()
	}
}
