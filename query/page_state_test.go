package query

import (
	"context"
	"fmt"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"slices"
	"testing"
)

// testPageStateStore is an in-memory PageStateStore. If forget is set it stores nothing.
type testPageStateStore struct {
	kept   map[string]*exec.StateBetweenPages
	forget bool
}

func (k *testPageStateStore) Take(cursor string) *exec.StateBetweenPages {
	g := k.kept[cursor]
	delete(k.kept, cursor)
	return g
}

func (k *testPageStateStore) Keep(cursor string, g *exec.StateBetweenPages) {
	if k.forget {
		g.Close()
	} else {
		k.kept[cursor] = g
	}
}

// TestDistinctPages checks that the pages of a DISTINCT query return each row once, whether or not the
// state of a page is stored for the next one. If it is stored, no document is read twice, except the one
// that a page reads ahead.
func TestDistinctPages(t *testing.T) {
	t.Parallel()
	const n = 60
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = fmt.Appendf(nil, `{"id":"%d","a":%d,"l":[%d,%d,%d],"s":"%d"}`, i, i%17, i%4, i%7, i%4,
			i/2)
	}
	for _, text := range []string{
		"SELECT DISTINCT VALUE c.a FROM c", "SELECT DISTINCT c.s FROM c",
		"SELECT DISTINCT l, c.a FROM c JOIN l IN c.l", "SELECT DISTINCT VALUE l FROM c JOIN l IN c.l",
		"SELECT DISTINCT c.s FROM c OFFSET 3 LIMIT 20", "SELECT DISTINCT TOP 9 c.a FROM c",
		"SELECT DISTINCT VALUE c.a FROM c WHERE c.a > 4",
	} {
		p := mustPrepare(t, text, bind.ContainerInfo{})
		for _, forget := range []bool{false, true} {
			for _, size := range []int{1, 2, 5, 1000} {
				sources := newPageStateStore(t, nil, bodies, 3)
				whole, err := p.Run(context.Background(), sources, eval.Env{}, exec.RunOptions{})
				if err != nil || whole.Cursor != "" {
					t.Fatal(text, whole.Cursor, err)
				}
				memory := &testPageStateStore{kept: map[string]*exec.StateBetweenPages{}, forget: forget}
				o := exec.RunOptions{MaxItems: size, Memory: memory}
				var rows []string
				loaded, pages := int64(0), 0
				for ; pages == 0 || o.Cursor != ""; pages++ {
					page, err := p.Run(context.Background(), sources, eval.Env{}, o)
					if err != nil || len(page.Rows) > size || pages > 0 && len(page.Rows) == 0 {
						t.Fatalf("%s by %d: %d rows, %v", text, size, len(page.Rows), err)
					}
					for _, row := range page.Rows {
						rows = append(rows, string(row))
					}
					loaded, o.Cursor = loaded+page.Stats.Loaded, page.Cursor
				}
				var want []string
				for _, row := range whole.Rows {
					want = append(want, string(row))
				}
				if !slices.Equal(rows, want) {
					t.Errorf("%s by %d, forget %t:\ngot  %v\nwant %v", text, size, forget, rows, want)
				}
				if limit := whole.Stats.Loaded + int64(pages); !forget && loaded > limit {
					t.Errorf("%s by %d: %d documents read, want at most %d", text, size, loaded, limit)
				}
			}
		}
	}
}
