package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/scan"
)

func benchIndexed(b *testing.B, policy string, fill int) (*Container, *Database) {
	b.Helper()
	_, c, _ := benchStore(b, 0)
	p, err := index.Parse([]byte(policy))
	if err != nil {
		b.Fatal(err)
	}
	spec := c.Info().Spec
	spec.Indexing, spec.DefaultTTL = p, 0
	if _, err := c.d.ReplaceContainer(b.Context(), "c", spec, WriteOptions{}); err != nil {
		b.Fatal(err)
	}
	benchFill(b, c, 0, fill)
	return c, c.d
}

// BenchmarkCreateBy measures creates of documents of 1 KB with the default indexing policy (16 index
// entries) and without an index.
func BenchmarkCreateBy(b *testing.B) {
	for _, p := range []struct{ name, policy string }{
		{"default", `{}`},
		{"none", `{"indexingMode":"none"}`},
	} {
		b.Run(p.name, func(b *testing.B) {
			c, _ := benchIndexed(b, p.policy, 0)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, _, err := c.Create(b.Context(), benchKey(i).Partition, benchBody(i),
					WriteOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCreateDurable measures creates by many concurrent writers on a disk.
func BenchmarkCreateDurable(b *testing.B) {
	for _, p := range []struct{ name, policy string }{
		{"default", `{}`},
		{"none", `{"indexingMode":"none"}`},
	} {
		b.Run(p.name, func(b *testing.B) {
			e, err := pebble.Open(b.Context(), pebble.Options{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			db, err := Open(b.Context(), e, Options{ManualReaper: true})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			policy, err := index.Parse([]byte(p.policy))
			if err != nil {
				b.Fatal(err)
			}
			d, err := db.CreateDatabase(b.Context(), "d", definition.Throughput{})
			if err != nil {
				b.Fatal(err)
			}
			c, err := d.CreateContainer(b.Context(), definition.ContainerSpec{ID: "c", Indexing: policy,
				PartitionKey: definition.PartitionKeyDefinition{Paths: []string{"/pk"},
					Kind: definition.KindHash, Version: 2}}, definition.Throughput{})
			if err != nil {
				b.Fatal(err)
			}
			var next atomic.Int64
			b.SetParallelism(32)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := int(next.Add(1))
					if _, _, err := c.Create(context.Background(), benchKey(i).Partition, benchBody(i),
						WriteOptions{}); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkReplaceBy measures replaces of documents in which two values change.
func BenchmarkReplaceBy(b *testing.B) {
	for _, p := range []struct{ name, policy string }{
		{"default", `{}`},
		{"none", `{"indexingMode":"none"}`},
	} {
		b.Run(p.name, func(b *testing.B) {
			c, _ := benchIndexed(b, p.policy, 1000)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				n := i % 1000
				body := fmt.Appendf(nil, `{"more":%d,%s`, i, benchBody(n)[1:])
				if _, _, err := c.Upsert(b.Context(), benchKey(n).Partition, body,
					WriteOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// inSource runs fn with the data source (scan.DocumentSource) of the first range of a container.
func inSource(b *testing.B, c *Container, fn func(s *scan.DocumentSource)) {
	b.Helper()
	err := c.withSources(context.Background(), KeyOrRange{},
		func(_ *scan.ResolvedKeyOrRange, sources []*scan.DocumentSource,
			_ []*container.Partition) error {
			fn(sources[0])
			return nil
		})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLeapfrog measures the intersection of two posting lists. Its figures are per posting examined.
func BenchmarkLeapfrog(b *testing.B) {
	c, _ := benchIndexed(b, `{"includedPaths":[{"path":"/x/?"},{"path":"/y/?"}],"excludedPaths":[{"path":"/*"}]}`, 0)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 50_000 {
		body := fmt.Appendf(nil, `{"id":"%d","pk":"p","x":%d,"y":%d}`, i, r.IntN(2), r.IntN(2))
		if _, _, err := c.Create(b.Context(), definition.PartitionKey{}, body, WriteOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	inSource(b, c, func(s *scan.DocumentSource) {
		x, _ := s.Index().Term(index.Path{{Name: "x"}}, jsondoc.NumberValue(1))
		y, _ := s.Index().Term(index.Path{{Name: "y"}}, jsondoc.NumberValue(1))
		b.ReportAllocs()
		b.ResetTimer()
		for looked := 0; looked < b.N; {
			p, q := s.Postings(x), s.Postings(y)
			looked += leapfrog(p, q)
			p.Close()
			q.Close()
		}
	})
}

// leapfrog intersects two posting lists in the way a query does, and returns how many postings it has
// examined.
func leapfrog(p, q query.PostingIterator) (looked int) {
	for more := p.Next() && q.Next(); more; {
		for n := 0; more && p.RID() < q.RID(); n++ {
			looked++
			if more = p.Next(); more && n == 16 {
				more = p.SeekGE(q.RID())
			}
		}
		if looked++; more && p.RID() == q.RID() {
			more = p.Next()
		}
		p, q = q, p
	}
	return looked
}

// BenchmarkScan measures reading all documents of a range in order. Its figures are per document.
func BenchmarkScan(b *testing.B) {
	c, _ := benchIndexed(b, `{"indexingMode":"none"}`, 20_000)
	inSource(b, c, func(s *scan.DocumentSource) {
		b.ReportAllocs()
		b.ResetTimer()
		for n := 0; n < b.N; {
			it := s.Scan(0)
			for ; n < b.N && it.Next(); n++ {
				if it.Document().RID() == 0 {
					b.Fatal("a document without a rid")
				}
			}
			it.Close()
		}
	})
}

// BenchmarkFetch measures reading documents by their rids. Its figures are per document.
func BenchmarkFetch(b *testing.B) {
	const n = 20_000
	c, _ := benchIndexed(b, `{"indexingMode":"none"}`, n)
	for name, step := range map[string]int{"ascending": 3, "random": 7919} {
		b.Run(name, func(b *testing.B) {
			inSource(b, c, func(s *scan.DocumentSource) {
				var rids []uint64
				for it := s.Scan(0); it.Next() || it.Close() != nil; {
					rids = append(rids, it.Document().RID())
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					if _, ok, err := s.Fetch(rids[i*step%n]); !ok || err != nil {
						b.Fatal(ok, err)
					}
				}
			})
		})
	}
}
