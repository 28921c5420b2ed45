package query

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/exec"
)

// TestParameterInPath checks that a parameter in a path, as in c[@name], selects the path by its value in
// every clause, also after Plan.With with another value.
func TestParameterInPath(t *testing.T) {
	t.Parallel()
	info := defaultInfo(t)
	sources := newPageStateStore(t, info.Index, numbered(3, `{"id":"%","n":%,"m":-%,"l":[%]}`), 2)
	for _, c := range []struct{ text, n, m string }{
		{"SELECT VALUE c.id FROM c ORDER BY c[@p]", `["0","1","2"]`, `["2","1","0"]`},
		{"SELECT VALUE c.id FROM c ORDER BY c[@p] DESC", `["2","1","0"]`, `["0","1","2"]`},
		{"SELECT c[@p] FROM c WHERE c[@p] > 1", `[{"$1":2}]`, `[]`},
		{"SELECT VALUE c.id FROM c WHERE c[@p] = -2", `[]`, `["2"]`},
		{"SELECT VALUE MIN(c[@p]) FROM c", `[0]`, `[-2]`},
		{"SELECT VALUE c[@p] FROM c GROUP BY c[@p]", `[0,1,2]`, `[-2,-1,-0.0]`},
	} {
		var plan *Plan
		for _, value := range []string{"n", "m", "n"} {
			params := []bind.Parameter{{Name: "@p", Value: jsondoc.StringValue(value)}}
			var err error
			if plan == nil {
				plan, err = Prepare(c.text, params, info)
			} else {
				plan, err = plan.With(params)
			}
			if err != nil {
				t.Fatalf("%s: %v", c.text, err)
			}
			want := c.n
			if value == "m" {
				want = c.m
			}
			rows, err := runPlan(plan, sources, exec.RunOptions{MaxItems: 2})
			if got := arrayOf(rows); err != nil || !jsondoc.Equal(got, jsondoc.Of([]byte(want))) {
				t.Errorf("%s by %s: %s, %v, want %s", c.text, value, got.Raw(), err, want)
			}
		}
	}
}
