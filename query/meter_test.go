package query

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
)

// costly returns queries, by name, that would take hours over the document that heavy returns, whose arrays
// and strings are long. Each query has one kind of expensive loop, such as joins, subqueries, array functions
// or regular expressions.
func costly() map[string]string {
	return map[string]string{
		"joins":        "SELECT VALUE COUNT(1) FROM c JOIN x IN c.n JOIN y IN c.n JOIN z IN c.n JOIN w IN c.n",
		"streamed":     "SELECT VALUE 1 FROM c JOIN x IN c.n JOIN y IN c.n JOIN z IN c.n JOIN w IN c.n WHERE x + y + z + w < 0",
		"sorted":       "SELECT VALUE x FROM c JOIN x IN c.n JOIN y IN c.n JOIN z IN c.n JOIN w IN c.n WHERE x + y + z + w < 0 ORDER BY c.id",
		"exists":       "SELECT VALUE 1 FROM c WHERE EXISTS(SELECT VALUE 1 FROM x IN c.n JOIN y IN c.n JOIN z IN c.n JOIN w IN c.n WHERE x + w < 0)",
		"array":        "SELECT VALUE ARRAY(SELECT VALUE x FROM x IN c.n JOIN y IN c.n JOIN z IN c.n JOIN w IN c.n WHERE x + w < 0) FROM c",
		"grouped":      "SELECT x FROM c JOIN x IN c.n JOIN y IN c.n JOIN z IN c.n JOIN w IN c.n GROUP BY x",
		"distinct":     "SELECT DISTINCT VALUE x FROM c JOIN x IN c.n JOIN y IN c.n JOIN z IN c.n JOIN w IN c.n",
		"concatenated": "SELECT VALUE " + doubled("ARRAY_CONCAT(%[1]s, %[1]s)", "c.n", 11) + " FROM c",
		"joined":       "SELECT VALUE " + doubled("CONCAT(%[1]s, %[1]s)", "c.s", 11) + " FROM c",
		"united":       "SELECT VALUE " + doubled("SetUnion(%[1]s, %[1]s)", "c.n", 11) + " FROM c",
		"replaced":     "SELECT VALUE " + doubled("REPLACE(%[1]s, %[1]s, c.s)", "c.s", 11) + " FROM c",
		"replicated": "SELECT VALUE " + doubled("(LENGTH(REPLICATE('ab', 5000)) + %[1]s + %[1]s)",
			"c.n[0]", 11) + " FROM c",
		"regex":         `SELECT VALUE COUNT(1) FROM c JOIN x IN c.e WHERE RegexMatch(x, "^(a+)+$")`,
		"regex of each": `SELECT VALUE REGEXREPLACEALL(c.long, "a|b", "") FROM c JOIN x IN c.n JOIN y IN c.n`,
		"paths": "SELECT VALUE COUNT(1) FROM c JOIN x IN c.n JOIN y IN c.n WHERE " +
			strings.Repeat("c.missing = x OR ", 200) + "false",
		"contains":     "SELECT VALUE COUNT(1) FROM c JOIN x IN c.n JOIN y IN c.n WHERE ARRAY_CONTAINS(c.n, -1 - x)",
		"included":     "SELECT VALUE COUNT(1) FROM c JOIN x IN c.n JOIN y IN c.n WHERE ARRAY_CONTAINS([c], c, true)",
		"like":         "SELECT VALUE COUNT(1) FROM c JOIN x IN c.n JOIN y IN c.n WHERE (c.long || ToString(x)) LIKE '%a%a%a%_____________x%'",
		"one like":     "SELECT VALUE c.long || c.long LIKE '%" + strings.Repeat("_", 60_000) + "x%' FROM c",
		"no container": "SELECT VALUE 1 FROM x IN (SELECT VALUE y FROM c JOIN y IN c.n JOIN z IN c.n JOIN w IN c.n JOIN v IN c.n WHERE y + v < 0)",
	}
}

// doubled applies form, a format that contains its argument twice, n times to the expression x, so that
// the result contains x 2^n times.
func doubled(form, x string, n int) string {
	for range n {
		x = fmt.Sprintf(form, x)
	}
	return x
}

// heavy returns a document with long arrays and strings, over which the queries of costly would take
// hours.
func heavy() []byte {
	var b strings.Builder
	b.WriteString(`{"id":"1","s":"aaaaaaaaaaaaaaaa","n":[0`)
	for i := range 3000 {
		fmt.Fprintf(&b, ",%d", i)
	}
	b.WriteString(`],"e":["` + strings.Repeat("a", 40) + `!"`)
	for range 1500 {
		b.WriteString(`,"` + strings.Repeat("a", 40) + `!"`)
	}
	b.WriteString(`],"long":"` + strings.Repeat("ab", 20_000) + `"}`)
	return []byte(b.String())
}

// TestRunTimeLimit checks that a run ends when its time limit is exceeded and when its context is canceled,
// even during one row. The test clock advances by a second each time it is read.
func TestRunTimeLimit(t *testing.T) {
	sources := newPageStateStore(t, nil, [][]byte{heavy()}, 1)
	for name, text := range costly() {
		t.Run(name, func(t *testing.T) {
			p := mustPrepare(t, text, bind.ContainerInfo{Lenient: true})
			watch := time.Duration(0)
			env := eval.Env{Elapsed: func() time.Duration { watch += time.Second; return watch },
				Limit: 3 * time.Second}
			var late *queryerror.TimeLimitError
			if _, err := p.Run(t.Context(), sources, env, exec.RunOptions{}); !errors.As(err, &late) ||
				late.Limit != env.Limit {
				t.Errorf("%v", err)
			}
			ctx := &countdownContext{Context: t.Context(), left: 2}
			if _, err := p.Run(ctx, sources, eval.Env{}, exec.RunOptions{}); !errors.Is(err,
				context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	}
}

// countdownContext is a context that is canceled after its state has been checked left times.
type countdownContext struct {
	context.Context
	left int
}

func (c *countdownContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestConditionLimit checks that the evaluation of a patch condition has a time limit.
func TestConditionLimit(t *testing.T) {
	c, err := exec.PrepareCondition(
		`FROM c WHERE EXISTS(SELECT VALUE 1 FROM x IN c.e WHERE RegexMatch(x, "^(a+)+$"))`,
		bind.ContainerInfo{})
	if err != nil {
		t.Fatal(err)
	}
	watch := time.Duration(0)
	env := eval.Env{Elapsed: func() time.Duration { watch += time.Second; return watch },
		Limit: 5 * time.Second}
	var late *queryerror.TimeLimitError
	if _, err := c.Match(t.Context(), &memoryDocument{1, heavy()}, env); !errors.As(err, &late) {
		t.Errorf("%v", err)
	}
}

// TestCreatedValueMemoryLimit checks that a query fails with a MemoryError if the values that it creates for
// one row are too large.
func TestCreatedValueMemoryLimit(t *testing.T) {
	racetest.Sequential(t)
	body := []byte(`{"id":"1","s":"` + strings.Repeat("x", 1_000_000) + `"}`)
	sources := newPageStateStore(t, nil, [][]byte{body}, 1)
	for name, text := range map[string]string{
		"array":     "SELECT VALUE [" + strings.Repeat("c.s,", 40) + "c.s] FROM c",
		"object":    "SELECT " + strings.Repeat("[c.s, c.s, c.s, c.s, c.s, c.s], ", 10) + "c.s FROM c",
		"arguments": "SELECT VALUE CONCAT(" + strings.Repeat("UPPER(c.s),", 90) + "c.s) FROM c",
		"operands": "SELECT VALUE " + strings.Repeat("UPPER(c.s) || (", 90) + "c.s" +
			strings.Repeat(")", 90) + " FROM c",
	} {
		var much *queryerror.MemoryError
		if _, err := mustPrepare(t, text, bind.ContainerInfo{Lenient: true}).Run(t.Context(), sources,
			eval.Env{},
			exec.RunOptions{}); !errors.As(err, &much) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCostlyConstants checks that constant expressions that are expensive to evaluate are evaluated during
// the run, which has a time limit, and not when the query is prepared.
func TestCostlyConstants(t *testing.T) {
	regexes := make([]string, 2000)
	for i := range regexes {
		regexes[i] = fmt.Sprintf(`RegexMatch("%s!", "^(a+)+%d$")`, strings.Repeat("a", 60), i)
	}
	p := mustPrepare(t, "SELECT VALUE 1 FROM c WHERE "+strings.Join(regexes, " OR "), bind.ContainerInfo{})
	watch := time.Duration(0)
	env := eval.Env{Elapsed: func() time.Duration { watch += time.Second; return watch },
		Limit: 3 * time.Second}
	var late *queryerror.TimeLimitError
	sources := newPageStateStore(t, nil, [][]byte{[]byte(`{"id":"1"}`)}, 1)
	if _, err := p.Run(t.Context(), sources, env, exec.RunOptions{}); !errors.As(err, &late) {
		t.Errorf("%v", err)
	}
	if v, err := answerTo("SELECT VALUE 1 + 2 * 3"); err != nil || !jsondoc.Equal(v, jsondoc.NumberValue(7)) {
		t.Errorf("%s, %v", v.Raw(), err)
	}
}
