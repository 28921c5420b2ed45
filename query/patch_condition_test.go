package query

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
)

// TestComputedProperties checks that queries can use computed properties like stored ones, that they hide
// stored properties of the same name, and that they are not part of the whole document, as in SELECT *.
func TestComputedProperties(t *testing.T) {
	t.Parallel()
	list := []bind.ComputedProperty{{Name: "low", Query: "SELECT VALUE LOWER(x.name) FROM x"}, {Name: "pair",
		Query: "SELECT VALUE {a: c.n, b: [c.n]} FROM c"},
		{Name: "hidden", Query: "SELECT VALUE c.nope FROM c"}}
	evaluate, err := plan.NewComputed(list)
	if err != nil {
		t.Fatal(err)
	}
	policy := mustPolicy(`{"indexingMode":"consistent","includedPaths":[{"path":"/*"},{"path":"/low/?"}]}`)
	x, err := index.NewIndexer(index.IndexingSettings{Policy: policy, Computed: list},
		map[string]index.ComputedPropertyFunc{
			"low": func(body []byte) jsondoc.Value { return evaluate("low", body) },
		})
	if err != nil {
		t.Fatal(err)
	}
	bodies := [][]byte{[]byte(`{"id":"1","name":"B","n":1,"hidden":7}`),
		[]byte(`{"id":"2","name":"a","n":2}`), []byte(`{"id":"3"}`)}
	for _, info := range []bind.ContainerInfo{{Computed: list, Lenient: true}, {Computed: list, Index: x}} {
		sources := newPageStateStore(t, info.Index, bodies, 1)
		for text, want := range map[string]string{
			"SELECT c.low, c.pair.b[0] AS n FROM c":                   `[{"low":"b","n":1},{"low":"a","n":2},{"n":[]}]`,
			"SELECT VALUE c.id FROM c ORDER BY c.low":                 `["3","2","1"]`,
			"SELECT VALUE c.id FROM c WHERE c.low = 'b'":              `["1"]`,
			"SELECT VALUE c.hidden FROM c":                            `[]`,
			"SELECT c.low, COUNT(1) AS k FROM c GROUP BY c.low":       `[{"k":1},{"low":"a","k":1},{"low":"b","k":1}]`,
			"SELECT VALUE IS_DEFINED(x.low) FROM (SELECT * FROM c) x": `[false,false,false]`,
		} {
			want = strings.Replace(want, `{"n":[]}`, `{}`, 1)
			got, err := runAll(text, nil, info, sources, exec.RunOptions{})
			if err != nil || string(arrayOf(got).Raw()) != want {
				t.Errorf("%s gives %s (%v), want %s", text, arrayOf(got).Raw(), err, want)
			}
		}
	}
	for _, bad := range []string{"SELECT c.a FROM c", "SELECT VALUE c.a FROM c WHERE true", "SELECT VALUE 1",
		"SELECT VALUE x FROM x IN c.l", "nonsense"} {
		var wrong *queryerror.Error
		if _, err := plan.NewComputed([]bind.ComputedProperty{{Name: "p", Query: bad}}); !errors.As(err,
			&wrong) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestPlanIsShared runs one plan in several goroutines at once, so that the race detector shows that runs
// do not change the plan.
func TestPlanIsShared(t *testing.T) {
	t.Parallel()
	info := planInfo(t)
	bodies := numbered(40, `{"id":"%","n":%,"l":[%,1],"x":"red sea %","v":[1,0,%]}`)
	for _, text := range []string{
		`SELECT c.id, l, UPPER(c.x), c.x LIKE "%sea%", c.n IN (1, 2, 3, 4, 5, 6, 7, 8, 9) FROM c JOIN l IN c.l WHERE RegexMatch(c.x, "s.a")`,
		`SELECT VALUE c.id FROM c WHERE FullTextContains(c.x, "sea") ORDER BY c.n DESC`,
		`SELECT c.n % 3 AS m, COUNT(1) AS k, MAKELIST(c.id) AS ids FROM c GROUP BY c.n % 3`,
		`SELECT TOP 5 VALUE c.id FROM c ORDER BY RANK RRF(FullTextScore(c.x, "red"), VectorDistance(c.v, [0, 0, 1]))`,
		`SELECT MIN(c.n), MAX(c.n), ARRAY_LENGTH(MAKESET(c.x)) FROM c`,
	} {
		p := mustPrepare(t, text, info)
		results := make(chan string)
		for range 4 {
			sources := newPageStateStore(t, info.Index, bodies, 2)
			go func() {
				page, err := p.Run(context.Background(), sources, eval.Env{}, exec.RunOptions{})
				results <- fmt.Sprint(rowsText(page), err)
			}()
		}
		want := <-results
		for range 3 {
			if got := <-results; got != want {
				t.Errorf("%s: %s, then %s", text, want, got)
			}
		}
	}
}
