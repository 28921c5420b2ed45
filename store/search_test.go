package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/store/fault"
)

// searchPolicy returns an indexing policy with full-text indexes and vector indexes of the given type.
func searchPolicy(vectors string) string {
	return fmt.Sprintf(`{"fullTextIndexes":[{"path":"/s"}],"vectorIndexes":[{"path":"/list","type":%q}]}`,
		vectors)
}

// TestSearchWithAndWithoutIndexes checks that full-text and vector queries have the same results with and
// without their indexes, even if these contain expired documents.
func TestSearchWithAndWithoutIndexes(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	for seed, vectors := range []string{"flat", "quantizedFlat", "diskANN", "flat"} {
		t.Run(fmt.Sprint(vectors, " seed=", seed), func(t *testing.T) {
			g := newIndexRig(t, uint64(seed), 1+seed%3, seed == 3, searchPolicy(vectors))
			for i := range 300 {
				g.step(g.r, 0, 120)
				if i == 200 && seed == 1 {
					pk := g.c.def.Extract([]byte(`{"pk":"p2","sub":"s0"}`))
					if _, err := g.c.DeletePartition(t.Context(), pk); err != nil {
						t.Error(err)
					}
				}
			}
			g.clock.Advance(8 * time.Second)
			before := g.searches()
			g.replace(`{}`)
			if err := g.db.IndexNow(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i, after := range g.searches() {
				if before[i] != after {
					t.Errorf("with indexes\n%s\nwithout\n%s", before[i], after)
				}
			}
			g.replace(searchPolicy(vectors))
			for i, after := range g.searches() { // while documents are being indexed anew
				if before[i] != after {
					t.Errorf("with indexes\n%s\nto be made anew\n%s", before[i], after)
				}
			}
			if err := g.db.IndexNow(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i, after := range g.searches() {
				if before[i] != after {
					t.Errorf("with indexes\n%s\nmade anew\n%s", before[i], after)
				}
			}
			g.check()
			if err := g.db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// searches returns the results of several full-text and vector queries in all scopes.
func (g *indexConsistencyFixture) searches() (answers []string) {
	g.t.Helper()
	for _, scope := range g.scopes() {
		for _, text := range []string{
			`SELECT VALUE c.id FROM c ORDER BY RANK FullTextScore(c.s, "red", "long")`,
			`SELECT TOP 9 VALUE c.id FROM c ORDER BY RANK FullTextScore(c.s, "red bikes", "x")`,
			`SELECT TOP 9 VALUE c.id FROM c WHERE c.n > 1
				ORDER BY RANK FullTextScore(c.s, "xy", {"term": "bake", "distance": 1})`,
			`SELECT VALUE c.id FROM c ORDER BY VectorDistance(c.list, [1,2])`,
			`SELECT TOP 3 VALUE c.id FROM c WHERE c.a = 1 ORDER BY VectorDistance(c.list, [1,2])`,
			`SELECT TOP 3 VALUE c.id FROM c WHERE IS_DEFINED(c.a)
				ORDER BY VectorDistance(c.list, [1,2], false, {"distanceFunction":"euclidean"})`,
			`SELECT COUNT(1), SUM(_FullTextWordCount(c.s)), COUNTIF(FullTextContains(c.s, "red")) FROM c`,
			`SELECT TOP 20 c.id FROM c WHERE IS_DEFINED(c.a)
				ORDER BY _FullTextScore(c.s, ["red", "long"], 90, 200, [9, 30]) DESC`,
			`SELECT TOP 20 VALUE c.id FROM c
				ORDER BY RANK RRF(VectorDistance(c.list, [1,2]), FullTextScore(c.s, "red", "x"))`,
		} {
			q := QueryRequest{Text: text, ListOptions: ListOptions{Scope: scope, MaxItems: 5}}
			var b strings.Builder
			fmt.Fprintf(&b, "%+v %s:", scope, text)
			for row, err := range g.c.Rows(g.t.Context(), q) {
				if err != nil {
					fmt.Fprint(&b, " ", fault.ErrorCode(err))
					g.t.Errorf("%s: %v", text, err)
					break
				}
				b.WriteString(" " + string(row))
			}
			answers = append(answers, b.String())
		}
	}
	return answers
}
