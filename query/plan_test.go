package query

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/datatest"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
)

// planInfo returns the description of a container with an index of every kind, for Prepare.
func planInfo(t testing.TB) bind.ContainerInfo {
	t.Helper()
	policy := mustPolicy(`{"indexingMode":"consistent","includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/skip/*"},{"path":"/v/*"}],
		"compositeIndexes":[[{"path":"/a"},{"path":"/b"}],[{"path":"/k"},{"path":"/ts","order":"descending"}]],
		"spatialIndexes":[{"path":"/g/*","types":["Point"]}],"vectorIndexes":[{"path":"/v","type":"flat"}],"fullTextIndexes":[{"path":"/x"}]}`)
	x, err := index.NewIndexer(index.IndexingSettings{Policy: policy, Vectors: map[string]int{"/v": 3}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return bind.ContainerInfo{Index: x, PartitionPaths: []jsondoc.Path{jsondoc.PathOf("pk")}}
}

// TestPlans compares the printed plans of queries with the golden file testdata/plans.txt.
func TestPlans(t *testing.T) {
	t.Parallel()
	datatest.Run(t, "testdata/plans.txt", func(t *testing.T, c *datatest.TestFileCommand) string {
		info := planInfo(t)
		switch c.Cmd {
		case "plan":
		case "lenient":
			info.Lenient = true
		case "unindexed":
			info.Index, info.Lenient = nil, true
		default:
			return c.Unknown()
		}
		var out strings.Builder
		for text := range strings.Lines(c.Input) {
			p, err := Prepare(strings.TrimSpace(text), nil, info)
			if err != nil {
				out.WriteString("error: " + err.Error() + "\n")
			} else {
				out.WriteString(p.String())
			}
		}
		return out.String()
	})
}

func TestExplain(t *testing.T) {
	info := planInfo(t)
	x := info.Index
	var bodies [][]byte
	for _, text := range []string{`{"id":"1","p":1,"q":1,"l":[1,2]}`, `{"id":"2","p":1,"q":2,"l":[3]}`,
		`{"id":"3","p":2}`} {
		bodies = append(bodies, []byte(text))
	}
	p,
		err := Prepare("SELECT TOP 2 VALUE l FROM c JOIN l IN c.l WHERE c.p = 1 AND c.q >= 1 AND (c.skip = 3 OR true)", nil, info)
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Duration(0)
	env := eval.Env{Elapsed: func() time.Duration { clock += time.Millisecond; return clock }}
	page, err := p.Run(context.Background(), newPageStateStore(t, x, bodies, 1), env,
		exec.RunOptions{Trace: true})
	if err != nil {
		t.Fatal(err)
	}
	want := `limit 2 -> 2 in 4ms (2 bytes)
  project value l -> 2 in 6ms
    for each l in c.l -> 2 in 7ms
      filter (c.p = 1) AND (c.q >= 1) -> 1 in 1ms
        index, the fewest of (/p = 1; range /q >= 1) -> 1 in 1ms (4 index entries, 32 bytes)
          chosen: rids, 2 of (/p = 1: 2; range /q >= 1: 2)
in 27ms
a composite index would help: (/p ASC, /q ASC)
`
	if got := p.Explain(page.Stats); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	use := p.IndexUse()
	if strings.Join(use.Single, " ") != "/q/? /p/?" || len(use.PotentialComposite) != 1 {
		t.Errorf("%+v", use)
	}
}
