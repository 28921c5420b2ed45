package query

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// mostlyExpiredSource is an in-memory source in which the documents in dead count as expired, although
// they still have index entries.
type mostlyExpiredSource struct {
	*fakePartitionRangeSource
	dead    map[uint64]bool
	outside map[uint64]bool // of the partition that the scope is; nil: there is none
}

func (g *mostlyExpiredSource) Partition() (source.PostingIterator, bool) {
	if g.outside == nil {
		return nil, false
	}
	var list []uint64
	for _, d := range g.docs {
		if !g.outside[d.rid] {
			list = append(list, d.rid)
		}
	}
	return g.rids(list), true
}

func (g *mostlyExpiredSource) Fetch(rid uint64) (source.Document, bool, error) {
	d, ok, err := g.fakePartitionRangeSource.Fetch(rid)
	return d, ok && !g.dead[rid], err
}

func (g *mostlyExpiredSource) Scan(after uint64) source.DocumentIterator {
	return &mostlyExpiredDocumentIterator{memoryDocumentIterator: g.fakePartitionRangeSource.Scan(after).(*memoryDocumentIterator), dead: g.dead}
}

func (g *mostlyExpiredSource) Count() (int64, bool) { return 0, false }

// CountEntries implements source.IndexEntryCounter. It calls pass once for each entry.
func (g *mostlyExpiredSource) CountEntries(lo, hi []byte, pass func(n int) error) (n int64, err error) {
	for range g.span(lo, hi) {
		if err := pass(1); err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// KnownEntries implements source.IndexEntryCounter. It knows the numbers of entries of every second key.
func (g *mostlyExpiredSource) KnownEntries(lo, hi []byte) (int64, bool) {
	return int64(len(g.span(lo, hi))), len(lo)%2 == 0
}

// Dead implements source.DeadDocumentLister: it lists the dead documents of the scope.
func (g *mostlyExpiredSource) Dead(int) (rids []uint64, ok bool, err error) {
	for rid, dead := range g.dead {
		if dead && !g.outside[rid] {
			rids = append(rids, rid)
		}
	}
	slices.Sort(rids)
	return rids, true, nil
}

type mostlyExpiredDocumentIterator struct {
	*memoryDocumentIterator
	dead map[uint64]bool
	skip func(uint64) bool
}

func (s *mostlyExpiredDocumentIterator) Skip(on func(uint64) bool) { s.skip = on }

func (s *mostlyExpiredDocumentIterator) Next() bool {
	for s.memoryDocumentIterator.Next() {
		rid := s.Document().RID()
		if !s.dead[rid] {
			return true
		}
		if s.skip != nil && !s.skip(rid) {
			return false
		}
	}
	return false
}

// ticking returns a function for Env.Elapsed by which the time advances by step at each call.
func ticking(step time.Duration) func() time.Duration {
	past := time.Duration(0)
	return func() time.Duration { past += step; return past }
}

// TestPagesWithoutTimeBudget runs queries over mostly expired documents with so little time that each page
// ends as early as possible. All pages together must return the rows of a single page over the live
// documents, and each page must make progress.
func TestPagesWithoutTimeBudget(t *testing.T) {
	racetest.Sequential(t)
	policies := []string{
		`{"indexingMode":"consistent","includedPaths":[{"path":"/*"}]}`,
		`{"indexingMode":"consistent","includedPaths":[{"path":"/*"}],"compositeIndexes":[
			[{"path":"/a"},{"path":"/b"}],[{"path":"/b"},{"path":"/a","order":"descending"}],
			[{"path":"/b"},{"path":"/s"}],[{"path":"/s","order":"descending"},{"path":"/a"}]]}`,
	}
	paused := 0
	for seed := range uint64(racetest.Campaign(4, 1)) {
		r := rand.New(rand.NewPCG(seed, 2))
		bodies := randomDocuments(r, 2500)
		dead := map[uint64]bool{}
		for rid := range bodies {
			if r.IntN(20) > 0 {
				dead[uint64(rid+1)] = true
			}
		}
		for _, policy := range policies {
			x, err := index.NewIndexer(index.IndexingSettings{Policy: mustPolicy(policy)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			sources := map[int][]source.DocumentSource{}
			for _, n := range []int{1, 3} {
				for _, m := range newPageStateStore(t, x, bodies, n) {
					sources[n] = append(sources[n], &mostlyExpiredSource{m.(*fakePartitionRangeSource),
						dead, nil})
				}
			}
			for range 25 {
				text, n := randomQuery(r), 1+2*r.IntN(2)
				want, err := runAll(text, nil, bind.ContainerInfo{Index: x, Lenient: true}, sources[n],
					exec.RunOptions{})
				if err != nil {
					t.Fatalf("seed %d: %s: %v", seed, text, err)
				}
				p := mustPrepare(t, text, bind.ContainerInfo{Index: x, Lenient: true})
				o := exec.RunOptions{MaxItems: []int{0, 1, 5}[r.IntN(3)], Budget: 1}
				got, empty, err := hurried(p, sources[n], o)
				if err != nil {
					t.Fatalf("seed %d, %d sources: %s: %v\n%s", seed, n, text, err, p)
				}
				if a, b := arrayOf(got).Raw(), arrayOf(want).Raw(); string(a) != string(b) {
					t.Fatalf("seed %d, %d sources: %s\ngot  %s\nwant %s\n%s", seed, n, text, a, b, p)
				}
				if p.Form == cursor.Sorting {
					paused += empty
				}
			}
		}
	}
	if paused == 0 {
		t.Error("no page of an ordered query has ended without a row")
	}
}

// hurried runs a plan page by page, with so little time that each page ends as early as possible. It
// returns all rows, and the number of pages, apart from the last one, without rows.
func hurried(p *Plan, sources []source.DocumentSource,
	o exec.RunOptions) (rows []jsondoc.Value, empty int, err error) {
	for n := 0; ; n++ {
		env := eval.Env{Now: time.Unix(1_780_000_000, 0).UTC(), Elapsed: ticking(1)}
		page, err := p.Run(context.Background(), sources, env, o)
		if err != nil {
			return nil, 0, err
		}
		for _, row := range page.Rows {
			rows = append(rows, jsondoc.Of(row))
		}
		if page.Cursor == "" {
			return rows, empty, nil
		}
		if page.Cursor == o.Cursor || n > 5000 {
			return nil, 0, fmt.Errorf("page %d gets nowhere", n)
		}
		if o.Cursor = page.Cursor; len(page.Rows) == 0 {
			empty++
		}
	}
}
