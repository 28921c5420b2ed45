package query

import (
	"testing"

	"github.com/mayflydb/mayfly/query/internal/exec"
)

// TestOrderOfGroups checks the order of groups: groups by one indexed path, alone or with COUNT(1), come
// in the order of the index, and all others in the order in which they first occur.
func TestOrderOfGroups(t *testing.T) {
	t.Parallel()
	info := defaultInfo(t)
	var bodies [][]byte
	for _, text := range []string{`{"id":"1","n":3,"m":1,"a":9}`, `{"id":"2","n":1,"m":2,"a":8}`,
		`{"id":"3","n":3,"m":1,"a":7}`,
		`{"id":"4","n":2,"m":3,"a":6}`} {
		bodies = append(bodies, []byte(text))
	}
	for _, c := range []struct{ text, want string }{
		{"SELECT VALUE c.n FROM c GROUP BY c.n", `[1,2,3]`},
		{"SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n", `[{"n":1,"k":1},{"n":2,"k":1},{"n":3,"k":2}]`},
		{"SELECT c.n, MIN(c.a) AS a FROM c GROUP BY c.n", `[{"n":3,"a":7},{"n":1,"a":8},{"n":2,"a":6}]`},
		{"SELECT c.n, SUM(c.a) AS a FROM c WHERE c.a > 0 GROUP BY c.n",
			`[{"n":3,"a":16},{"n":1,"a":8},{"n":2,"a":6}]`},
		{"SELECT c.n, c.m FROM c GROUP BY c.n, c.m", `[{"n":3,"m":1},{"n":1,"m":2},{"n":2,"m":3}]`},
		{"SELECT VALUE c.n % 2 FROM c GROUP BY c.n % 2", `[1,0]`},
		{"SELECT c.n, AVG(c.a) AS a FROM c GROUP BY c.n OFFSET 1 LIMIT 1", `[{"n":1,"a":8}]`},
		{"SELECT TOP 2 c.n, MAX(c.a) AS a FROM c GROUP BY c.n", `[{"n":3,"a":9},{"n":1,"a":8}]`},
	} {
		for _, n := range []int{1, 2} {
			rows, err := runAll(c.text, nil, info, newPageStateStore(t, info.Index, bodies, n),
				exec.RunOptions{})
			if got := string(arrayOf(rows).Raw()); err != nil || got != c.want {
				t.Errorf("%s: %s, %v, want %s", c.text, got, err, c.want)
			}
		}
		// In pages that do not have them all they are the same, each of them once.
		rows, err := runAll(c.text, nil, info, newPageStateStore(t, info.Index, bodies, 2),
			exec.RunOptions{MaxBytes: 8})
		if whole, _ := runAll(c.text, nil, info, newPageStateStore(t, info.Index, bodies, 2),
			exec.RunOptions{}); err != nil || len(rows) != len(whole) {
			t.Errorf("%s in pages: %s, %v", c.text, arrayOf(rows).Raw(), err)
		}
	}
}
