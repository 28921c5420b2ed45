package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/internal/source"
	"github.com/mayflydb/mayfly/query/spill"
)

// spillCases are queries that need more memory than spillHeld bytes, the limit in the tests of temporary
// files.
var spillCases = []string{
	"SELECT c.s, COUNT(1) AS n, SUM(c.f) AS f, AVG(c.f) AS g, MIN(c.s) AS a, MAX(c.u) AS z FROM c GROUP BY c.s",
	"SELECT c.u, MAKELIST(c.n) AS l, MAKESET(c.m) AS m FROM c GROUP BY c.u",
	"SELECT c.s, COUNT(1) AS n FROM c GROUP BY c.s OFFSET 100 LIMIT 500",
	"SELECT c.s, c.o, SUM(c.m) AS n FROM c GROUP BY c.s, c.o ORDER BY c.o DESC",
	"SELECT VALUE COUNT(1) FROM (SELECT c.s, COUNT(1) AS n FROM c GROUP BY c.s) d",
	"SELECT DISTINCT VALUE c.s FROM c",
	"SELECT DISTINCT VALUE l FROM c JOIN l IN c.l",
	"SELECT DISTINCT c.s FROM c OFFSET 7 LIMIT 900",
	"SELECT DISTINCT VALUE c.s FROM c ORDER BY c.s",
	"SELECT VALUE c.n FROM c ORDER BY c.s",
	"SELECT VALUE c.n FROM c WHERE c.m != 3 ORDER BY c.s DESC",
	"SELECT c.n, l FROM c JOIN l IN c.l ORDER BY c.m",
	"SELECT VALUE c.n FROM c ORDER BY c.u, c.n DESC OFFSET 11 LIMIT 1700",
	"SELECT VALUE SUM(c.f) FROM c",
	"SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.n, c.s FROM c) d",
	"SELECT DISTINCT c.s, c.n FROM c ORDER BY c.m",
	"SELECT UPPER(d.s) AS t FROM (SELECT DISTINCT c.s FROM c WHERE c.m = 2) d",
}

const spillHeld = 200 << 10

// spillBodies returns n documents with fields whose values are rare, frequent or missing, for the tests of
// temporary files.
func spillBodies(n int) [][]byte {
	bodies := make([][]byte, n)
	for i := range bodies {
		u := fmt.Sprintf(`,"u":%d`, i*13%700)
		if i%11 == 0 {
			u = ""
		}
		bodies[i] = fmt.Appendf(nil,
			`{"id":"%d","n":%d,"m":%d,"f":%d.%d1,"s":"%s%d","l":[%d,%d,"%d"],"o":[1,[]]%s}`,
			i, i, i%7, i*37%1001, i%10, strings.Repeat("x", 40), i*7919%(n/2), i%100, i, i%1000, u)
	}
	return bodies
}

// pagesOf runs a plan page by page. It returns all rows, the number of documents read, and the number of
// pages.
func pagesOf(t *testing.T, p *Plan, sources []source.DocumentSource, env eval.Env,
	o exec.RunOptions) (rows []string,
	loaded int64,
	pages int) {
	t.Helper()
	for pages == 0 || o.Cursor != "" {
		page, err := p.Run(context.Background(), sources, env, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range page.Rows {
			rows = append(rows, string(row))
		}
		o.Cursor = page.Cursor
		loaded += page.Stats.Loaded
		pages++
	}
	return rows, loaded, pages
}

// TestSpill checks that queries with little memory and temporary files return the same rows as with enough
// memory, for several page sizes, whether or not page states are stored. With stored states documents are
// not read again for each page. No temporary file is left.
func TestSpill(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	const n = 4000
	bodies := spillBodies(n)
	for _, text := range spillCases {
		p := mustPrepare(t, text, bind.ContainerInfo{Lenient: true})
		want, _, _ := pagesOf(t, p, newPageStateStore(t, nil, bodies, 3), eval.Env{},
			exec.RunOptions{MaxBytes: 1 << 30})
		for _, forget := range []bool{false, true} {
			dir, err := spill.Open(t.TempDir(), 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			env := eval.Env{MaxHeld: spillHeld, Temp: dir}
			sources := newPageStateStore(t, nil, bodies, 3)
			for _, src := range sources {
				src.(*fakePartitionRangeSource).version = "1"
			}
			memory := &testPageStateStore{kept: map[string]*exec.StateBetweenPages{}, forget: forget}
			o := exec.RunOptions{MaxItems: 200, MaxBytes: 8 << 10, Memory: memory}
			if forget {
				o.MaxItems, o.MaxBytes = 700, 100<<10
			}
			rows, loaded, pages := pagesOf(t, p, sources, env, o)
			if p.ByTurn { // their order is another one where a page does not have them all
				slices.Sort(rows)
				slices.Sort(want)
			}
			if !slices.Equal(rows, want) {
				t.Errorf("%s, forget %t: %d rows, want %d", text, forget, len(rows), len(want))
			}
			if most := int64(5*n + 2*pages + len(rows)); !forget && loaded > most {
				t.Errorf("%s: %d documents read for %d pages", text, loaded, pages)
			}
			for _, g := range memory.kept {
				t.Errorf("%s: a result is left", text)
				g.Close()
			}
			if dir.Files() != 0 || dir.Used() != 0 {
				t.Errorf("%s, forget %t: %d files are left", text, forget, dir.Files())
			}
		}
	}
}

// TestSpillAfterChange checks that the rows that a page has stored in temporary files for the next page are
// not used if a document has changed in between.
func TestSpillAfterChange(t *testing.T) {
	t.Parallel()
	dir, err := spill.Open(t.TempDir(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	sources := newPageStateStore(t, nil, spillBodies(1000), 1)
	m := sources[0].(*fakePartitionRangeSource)
	m.version = "1"
	memory := &testPageStateStore{kept: map[string]*exec.StateBetweenPages{}}
	env := eval.Env{Temp: dir}
	for _, text := range []string{"SELECT c.s, COUNT(1) AS n FROM c GROUP BY c.s",
		"SELECT VALUE c.n FROM c ORDER BY c.s"} {
		p := mustPrepare(t, text, bind.ContainerInfo{Lenient: true})
		o := exec.RunOptions{MaxItems: 10, MaxBytes: 1000, Memory: memory}
		for range 2 {
			page, err := p.Run(context.Background(), sources, env, o)
			if err != nil {
				t.Fatal(err)
			}
			o.Cursor = page.Cursor
		}
		m.version += "2"
		page, err := p.Run(context.Background(), sources, env, o)
		if err != nil || page.Stats.Loaded < 1000 || len(page.Rows) == 0 {
			t.Errorf("%s: %d documents read, %v", text, page.Stats.Loaded, err)
		}
	}
	for _, g := range memory.kept {
		g.Close()
	}
	if dir.Files() != 0 {
		t.Error(dir.Files(), "files are left")
	}
}

// TestSpillQuota checks that a query fails, with no rows and no files left, if the folder for temporary
// files is full.
func TestSpillQuota(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"SELECT c.s, COUNT(1) AS n FROM c GROUP BY c.s ORDER BY c.s",
		"SELECT DISTINCT VALUE c.s FROM c", "SELECT c.s, COUNT(1) AS n FROM c GROUP BY c.s"} {
		dir, err := spill.Open(t.TempDir(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		p := mustPrepare(t, text, bind.ContainerInfo{Lenient: true})
		page, err := p.Run(context.Background(), newPageStateStore(t, nil, spillBodies(4000), 1),
			eval.Env{MaxHeld: 100 << 10, Temp: dir}, exec.RunOptions{MaxItems: 1 << 20})
		var memory *queryerror.MemoryError
		if !errors.As(err, &memory) || !errors.Is(err, spill.ErrQuota) || len(page.Rows) > 0 {
			t.Errorf("%s: %d rows, %v", text, len(page.Rows), err)
		}
		if dir.Files() != 0 || dir.Used() != 0 {
			t.Error(dir.Files(), "files are left")
		}
		_, err = p.Run(context.Background(), newPageStateStore(t, nil, spillBodies(4000), 1),
			eval.Env{MaxHeld: 30 << 10}, exec.RunOptions{MaxItems: 1 << 20})
		if errors.As(err, &memory) && !memory.NoTemp {
			t.Errorf("%s: %v", text, err)
		}
	}
}
