package query

import (
	"context"
	"fmt"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestUnsatisfiableConditions checks which conditions are recognized as unsatisfiable, so that their plans
// read nothing. Satisfiable ones must not be.
func TestUnsatisfiableConditions(t *testing.T) {
	t.Parallel()
	x := planInfo(t).Index
	bodies := [][]byte{[]byte(`{"id":"1","a":1,"b":"x","t":[{"k":1}]}`),
		[]byte(`{"id":"2","a":true,"b":"y"}`)}
	for text, never := range map[string]bool{
		"c.a = 1 AND c.a = 2": true, "c.a > 5 AND c.a < 3": true, "c.a > 5 AND c.a < 5": true,
		"c.a >= 5 AND c.a <= 5": false, "c.a > 'x' AND c.a < 5": true, "c.a = undefined": true,
		"c.a = 1 AND IS_STRING(c.a)": true, "c.a = 1 AND NOT IS_DEFINED(c.a)": true, "c.a = 1 AND c.a": true,
		"c.a AND NOT c.a": true, "UPPER(c.b) = 1": true, "c.a + 1 = 'x'": true, "c.a + 1": true,
		"c.a IN (1, 2) AND c.a > 2": true, "c.a IN (1, 2) AND c.a > 1": false, "c.a IN (undefined)": true,
		"c.a BETWEEN 3 AND 2": true, "(c.a = 1 OR c.a = 2) AND c.a = 3": true,
		"(c.a = 1 OR c.a = 2) AND c.a = 2":                   false,
		"(c.a = 1 AND c.a = 2) OR c.b = 'x'":                 false,
		"(c.a = 1 AND c.a = 2) OR (c.b = 'x' AND c.b = 'y')": true,
		"STARTSWITH(c.b, 'x') AND c.b = 1":                   true, "c.b LIKE 'x%' AND IS_NUMBER(c.b)": true,
		"[c.a] = 1":            true,
		"c.a != 1 AND c.a = 1": true, "c.a != 1 AND c.a = 2": false, "c.a = 1 AND c.b = 1": false,
		"c.skip = 1 AND c.skip = 2": true,
		"c.a > [1]":                 true, "c.a = [1] AND IS_ARRAY(c.a)": false,
		"IS_INTEGER(c.a) AND c.a = 'x'":                                  true,
		"NOT IS_INTEGER(c.a) AND c.a = 1":                                false,
		"EXISTS(SELECT VALUE t FROM t IN c.t WHERE t.k = 1 AND t.k = 2)": false,
	} {
		p, err := Prepare("SELECT VALUE c.id FROM c WHERE "+text, nil, bind.ContainerInfo{Index: x})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := strings.Contains(p.String(), "nothing"); got != never {
			t.Errorf("%s: nothing can fulfil it: %t, want %t", text, got, never)
		}
		page, err := p.Run(t.Context(), newPageStateStore(t, x, bodies, 1), eval.Env{}, exec.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if s := page.Stats; never && (s.Loaded != 0 || s.IndexEntries != 0 || len(page.Rows) != 0) {
			t.Errorf("%s: %+v", text, s)
		}
	}
	for _, test := range []struct{ text, want string }{
		{"SELECT VALUE COUNT(1) FROM c WHERE c.a = 1 AND c.a = 2", "0"},
		{"SELECT VALUE c.a FROM c WHERE c.a = 1 AND c.a = 2 GROUP BY c.a", ""},
		{"SELECT VALUE s FROM (SELECT VALUE COUNT(1) FROM c WHERE c.a = 1 AND c.a = 2) s", "0"},
		{"SELECT VALUE s FROM (SELECT DISTINCT VALUE c.a FROM c WHERE c.a = 1 AND c.a = 2) s", ""},
		{"SELECT VALUE c.id FROM c JOIN (SELECT VALUE t FROM t IN c.t WHERE t.k = 1 AND t.k = 2)", ""},
		{"SELECT VALUE s FROM c JOIN (SELECT VALUE COUNT(1) FROM t IN c.t WHERE t.k = 1 AND t.k = 2) s",
			"0 0"},
	} {
		p, err := Prepare(test.text, nil, bind.ContainerInfo{Index: x})
		if err != nil {
			t.Fatalf("%s: %v", test.text, err)
		}
		page, err := p.Run(t.Context(), newPageStateStore(t, x, bodies, 1), eval.Env{}, exec.RunOptions{})
		if got := rowTexts(page); err != nil || got != test.want {
			t.Errorf("%s gives %q, %v", test.text, got, err)
		}
	}
}

func rowTexts(page exec.Page) string {
	var texts []string
	for _, row := range page.Rows {
		texts = append(texts, string(row))
	}
	return strings.Join(texts, " ")
}

// NeverIsRight checks with random conditions that no document fulfills a condition whose plan reads
// nothing because it was recognized as unsatisfiable.
func NeverIsRight(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 29))
	x := planInfo(t).Index
	values := []string{"", "null", "true", "false", "1", "2", "1.5", `"x"`, `"xy"`, "[1]", "{}"}
	var bodies [][]byte
	for _, a := range values {
		for _, b := range values {
			body := fmt.Sprintf(`{"id":"%d"`, len(bodies))
			for name, v := range map[string]string{"a": a, "skip": b} {
				if v != "" {
					body += fmt.Sprintf(`,"%s":%s`, name, v)
				}
			}
			bodies = append(bodies, []byte(body+"}"))
		}
	}
	sources := newPageStateStore(t, x, bodies, 1)
	never := 0
	for range neverConditions {
		text := contradiction(r, 3)
		p, err := Prepare("SELECT VALUE c.id FROM c WHERE "+text, nil, bind.ContainerInfo{Index: x})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !strings.Contains(p.String(), "nothing") {
			continue
		}
		never++
		holds, err := exec.PrepareCondition("FROM c WHERE "+text, bind.ContainerInfo{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, src := range sources {
			for docs := src.Scan(0); docs.Next(); {
				if in, err := holds.Match(context.Background(), docs.Document(), eval.Env{}); in ||
					err != nil {
					t.Fatalf("seed %d: nothing can fulfil %s, but %s does (%v)", seed, text,
						docs.Document().Body(), err)
				}
			}
		}
	}
	if never < neverConditions/50 {
		t.Errorf("%d of %d conditions: the test has gone blind", never, neverConditions)
	}
}

const neverConditions = 4000

func contradiction(r *rand.Rand, depth int) string {
	if depth > 0 && r.IntN(4) > 0 {
		parts := []string{contradiction(r, depth-1), contradiction(r, depth-1)}
		if r.IntN(6) == 0 {
			return "NOT (" + parts[0] + ")"
		}
		return "(" + strings.Join(parts, []string{" AND ", " AND ", " OR "}[r.IntN(3)]) + ")"
	}
	path := []string{"c.a", "c.a", "c.skip"}[r.IntN(3)]
	constant := func() string {
		return []string{"1", "2", "1.5", `"x"`, `"xy"`, "true", "false", "null", "undefined", "[1]", "{}",
			"NaN",
			"[undefined][0]"}[r.IntN(13)]
	}
	switch r.IntN(9) {
	case 0:
		return path
	case 1:
		return []string{"IS_STRING", "IS_NUMBER", "IS_DEFINED", "IS_BOOL", "IS_PRIMITIVE", "IS_INTEGER",
			"IS_ARRAY",
			"NOT IS_STRING", "NOT IS_DEFINED", "NOT IS_INTEGER"}[r.IntN(10)] + "(" + path + ")"
	case 2:
		return path + []string{" IN (", " NOT IN ("}[r.IntN(2)] + constant() + ", " + constant() + ")"
	case 3:
		return "(" + path + " BETWEEN " + constant() + " AND " + constant() + ")"
	case 4:
		return []string{"STARTSWITH(" + path + `, "x")`, path + ` LIKE "x%"`, "ARRAY_CONTAINS(" + path +
			", 1)",
			"UPPER(" + path + ") = " + constant(), path + " + 1 > " + constant(),
			"(" + path + " ?? 1) = " + constant(), "(c.a ? c.skip : 1) = " + constant()}[r.IntN(7)]
	}
	sides := []string{path, constant()}
	if r.IntN(4) == 0 {
		slices.Reverse(sides)
	}
	return strings.Join(sides, []string{" = ", " = ", " < ", " <= ", " > ", " >= ", " != "}[r.IntN(7)])
}
