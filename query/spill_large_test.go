package query

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/spill"
)

// TestSpillLarge checks GROUP BY, DISTINCT and ORDER BY over far more rows than fit into memory: all pages
// together read each document about twice, and the memory kept between pages is bounded.
func TestSpillLarge(t *testing.T) {
	const n = spilledDocuments
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = fmt.Appendf(nil, `{"id":"%d","k":%d}`, i, uint64(i)*2654435761%uint64(n))
	}
	sources := newPageStateStore(t, nil, bodies, 1)
	sources[0].(*fakePartitionRangeSource).version = "1"
	for _, text := range []string{"SELECT c.k, COUNT(1) AS n FROM c GROUP BY c.k",
		"SELECT DISTINCT VALUE c.k FROM c",
		"SELECT VALUE c.k FROM c ORDER BY c.k"} {
		dir, err := spill.Open(t.TempDir(), 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		env := eval.Env{MaxHeld: n * 8, Temp: dir, Elapsed: func() time.Duration { return 0 }}
		p := mustPrepare(t, text, bind.ContainerInfo{Lenient: true})
		memory := &testPageStateStore{kept: map[string]*exec.StateBetweenPages{}}
		o := exec.RunOptions{MaxBytes: 200 << 10, Memory: memory}
		rows, loaded, pages, size := 0, int64(0), 0, 0
		sum := fnv.New64a()
		for pages == 0 || o.Cursor != "" {
			page, err := p.Run(context.Background(), sources, env, o)
			if err != nil {
				t.Fatal(text, err)
			}
			for _, row := range page.Rows {
				_, _ = sum.Write(binary.AppendUvarint(nil, uint64(len(row))))
			}
			rows, loaded, o.Cursor = rows+len(page.Rows), loaded+page.Stats.Loaded, page.Cursor
			for _, g := range memory.kept {
				size = max(size, g.Size())
			}
			pages++
		}
		t.Logf("%s: %d rows, %d pages, %d documents read, at most %d bytes kept from page to page", text,
			rows,
			pages, loaded, size)
		if rows != n || loaded > int64(2*n+3*pages+rows) || size > env.MaxHeld+(2<<20) {
			t.Errorf("%s: %d rows, %d documents read on %d pages, %d bytes kept", text, rows, loaded, pages,
				size)
		}
	}
}
