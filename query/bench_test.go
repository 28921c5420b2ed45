package query

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// benchBodies returns n documents of about 1 KB with 12 fields, for benchmarks.
func benchBodies(n int) [][]byte {
	pad := strings.Repeat("x", 700)
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = fmt.Appendf(nil,
			`{"id":"%08d","pk":"p%d","name":"name %d","city":"c%d","n":%d,"m":%d,"flag":%t,"tags":["t%d","u%d"],`+
				`"address":{"street":"s%d","zip":%d},"score":%d.5,"text":"%s"}`, i, i%97, i, i%50, i, i%1000,
			i%2 == 0, i%10, i%7, i, i%9999, i%100, pad)
	}
	return bodies
}

func benchSource(b *testing.B, n int) ([]source.DocumentSource, *index.Indexer) {
	b.Helper()
	x, err := index.NewIndexer(index.IndexingSettings{Policy: index.Default()}, nil)
	if err != nil {
		b.Fatal(err)
	}
	return newPageStateStore(b, x, benchBodies(n), 1), x
}

// BenchmarkScan measures a query with a filter on one field, which is in the middle of each document or
// absent, and for comparison a loop that reads every byte of the documents.
func BenchmarkScan(b *testing.B) {
	sources, _ := benchSource(b, 2000)
	b.Run("raw", func(b *testing.B) {
		sum := 0
		for b.Loop() {
			docs := sources[0].Scan(0)
			for docs.Next() {
				sum += strings.Count(string(docs.Document().Body()), "\x00")
			}
			_ = docs.Close()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*2000), "ns/doc")
	})
	for name, text := range map[string]string{"found": `SELECT * FROM c WHERE c.city = "nowhere"`,
		"absent": `SELECT * FROM c WHERE c.none = 1`,
		"range":  `SELECT * FROM c WHERE c.m > 5000 AND c.flag`, "get": ""} {
		b.Run(name, func(b *testing.B) {
			if text == "" {
				path := jsondoc.PathOf("city")
				for b.Loop() {
					docs := sources[0].Scan(0)
					for docs.Next() {
						_ = jsondoc.Get(docs.Document().Body(), path)
					}
					_ = docs.Close()
				}
			} else {
				p, err := Prepare(text, nil, bind.ContainerInfo{})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Run(context.Background(), sources, eval.Env{},
						exec.RunOptions{}); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*2000), "ns/doc")
		})
	}
}

// BenchmarkLeapfrog measures the intersection of two posting lists, one six times as long as the other.
func BenchmarkLeapfrog(b *testing.B) {
	const n = 100_000
	var entries int64
	var every2, every13 []uint64
	for i := uint64(1); i < n; i++ {
		if i%2 == 0 {
			every2 = append(every2, i)
		}
		if i%13 == 0 {
			every13 = append(every13, i)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		x := &exec.RIDIntersection{List: []source.PostingIterator{&exec.SortedRIDListIterator{Rids: every2},
			&exec.SortedRIDListIterator{Rids: every13}},
			Pass: func() error { entries++; return nil }}
		for x.Next() {
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(len(every2)+len(every13))), "ns/entry")
}

// BenchmarkQuery measures whole queries over 20,000 documents.
func BenchmarkQuery(b *testing.B) {
	sources, x := benchSource(b, 20_000)
	for _, text := range []string{
		`SELECT TOP 20 * FROM c WHERE c.city = "c7"`,
		`SELECT TOP 20 * FROM c WHERE c.city = "c7" AND c.m = 7`,
		`SELECT TOP 20 * FROM c ORDER BY c.n DESC`,
		`SELECT VALUE COUNT(1) FROM c WHERE c.city = "c7"`,
		`SELECT VALUE MAX(c.n) FROM c`,
		`SELECT c.city, COUNT(1) AS n FROM c GROUP BY c.city`,
	} {
		b.Run(strings.ReplaceAll(text, " ", "_"), func(b *testing.B) {
			p, err := Prepare(text, nil, bind.ContainerInfo{Index: x})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Run(context.Background(), sources, eval.Env{}, exec.RunOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPrepare parses, binds and plans a query.
func BenchmarkPrepare(b *testing.B) {
	_, x := benchSource(b, 1)
	for _, q := range []struct{ name, text string }{
		{"simple", `SELECT * FROM c WHERE c.id = @id`},
		{"order", `SELECT c.id, c.n FROM c WHERE c.city = "c7" AND c.m > 7 ORDER BY c.n OFFSET 0 LIMIT 20`},
		{"group",
			`SELECT c.city, COUNT(1) AS n, AVG(c.score) AS mean FROM c JOIN t IN c.tags WHERE STARTSWITH(t, "u") GROUP BY c.city`},
	} {
		b.Run(q.name, func(b *testing.B) {
			params := []bind.Parameter{{Name: "@id", Value: jsondoc.StringValue("00000007")}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Prepare(q.text, params, bind.ContainerInfo{Index: x}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWith measures planning a query for other parameter values: with Plan.With on an existing plan,
// and with Prepare from the text.
func BenchmarkWith(b *testing.B) {
	_, x := benchSource(b, 1)
	for _, q := range []struct{ name, text string }{
		{"point", `SELECT * FROM c WHERE c.id = @a`},
		{"two", `SELECT c.id, c.n FROM c WHERE c.city = @a AND c.m > @b`},
		{"order", `SELECT c.id, c.n FROM c WHERE c.city = @a AND c.m > @b ORDER BY c.n OFFSET 0 LIMIT 20`},
		{"in", `SELECT c.id FROM c WHERE c.city IN (@a, 'c1') AND STARTSWITH(c.name, @a)`},
		{"group", `SELECT c.city, COUNT(1) AS n FROM c WHERE c.id = @a AND c.m < @b GROUP BY c.city`},
	} {
		params := []bind.Parameter{{Name: "@a", Value: jsondoc.StringValue("00000007")}, {Name: "@b",
			Value: jsondoc.NumberValue(7)}}
		plan, err := Prepare(q.text, params, bind.ContainerInfo{Index: x})
		if err != nil {
			b.Fatal(err)
		}
		if plan.Shape.Fixed {
			b.Fatalf("%s depends on the values", q.text)
		}
		b.Run(q.name+"/anew", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Prepare(q.text, params, bind.ContainerInfo{Index: x})
			}
		})
		b.Run(q.name+"/with", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = plan.With(params)
			}
		})
	}
}
