package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/tidwall/gjson"
)

// TestGroupPages checks that the pages of a GROUP BY query return the groups in the order of their keys,
// each exactly once and complete, for several page sizes.
func TestGroupPages(t *testing.T) {
	t.Parallel()
	const n = 300
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = fmt.Appendf(nil, `{"id":"%d","a":%d,"s":"%s%03d"}`, i, i*7%50, strings.Repeat("s", 400),
			i*11%100)
	}
	for _, c := range []struct {
		text   string
		groups int
	}{
		{"SELECT VALUE {k: c.a, n: COUNT(1)} FROM c GROUP BY c.a", 50},
		{"SELECT VALUE {k: c.s, n: COUNT(1)} FROM c GROUP BY c.s", 100},
		{"SELECT VALUE {k: c.s, n: COUNT(1)} FROM c GROUP BY c.s OFFSET 7 LIMIT 60", 60},
	} {
		p := mustPrepare(t, c.text, bind.ContainerInfo{})
		for _, size := range []int{1, 1000, 1 << 20} {
			var keys []string
			for o := (exec.RunOptions{MaxBytes: size}); ; {
				page, err := p.Run(context.Background(), newPageStateStore(t, nil, bodies, 3), eval.Env{}, o)
				if err != nil {
					t.Fatal(c.text, err)
				}
				for _, row := range page.Rows {
					k := gjson.GetBytes(row, "k")
					if keys = append(keys, fmt.Sprintf("%9s", k.String())); gjson.GetBytes(row,
						"n").Int() != int64(n/map[bool]int{true: 50, false: 100}[k.Type == gjson.Number]) {
						t.Errorf("%s: %s", c.text, row)
					}
				}
				if o.Cursor = page.Cursor; o.Cursor == "" {
					break
				}
			}
			if len(keys) != c.groups || !slices.IsSorted(keys) ||
				len(slices.Compact(slices.Clone(keys))) != c.groups {
				t.Errorf("%s by %d: %d groups", c.text, size, len(keys))
			}
		}
	}
}

// TestManyGroups checks a GROUP BY query with more groups than fit into one page.
func TestManyGroups(t *testing.T) {
	t.Parallel()
	const n = 150_000
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = fmt.Appendf(nil, `{"id":"%d"}`, i)
	}
	sources := newPageStateStore(t, nil, bodies, 2)
	p := mustPrepare(t, "SELECT c.id, COUNT(1) AS n FROM c GROUP BY c.id", bind.ContainerInfo{})
	seen := map[string]bool{}
	pages := 0
	for o := (exec.RunOptions{MaxBytes: 64 << 20}); pages == 0 || o.Cursor != ""; pages++ {
		page, err := p.Run(context.Background(), sources, eval.Env{}, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range page.Rows {
			seen[string(row)] = true
		}
		o.Cursor = page.Cursor
	}
	if len(seen) != n || pages < 2 {
		t.Errorf("%d groups in %d pages", len(seen), pages)
	}
}
