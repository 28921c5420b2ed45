package store

import (
	"fmt"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// These benchmarks ask queries of a store in memory: planning, the walk through the indexes, reading and
// checking the documents, and the rows. The command mayfly bench measures the same on sets of different
// sizes, and scans beside the bare engine.

// benchQueryPolicy is an indexing policy that excludes the paths in the conditions of the benchmarked
// scans, so that these conditions cannot use the index.
const benchQueryPolicy = `{"excludedPaths":[{"path":"/active/?"},{"path":"/nothing/?"},{"path":"/note/?"}],
	"compositeIndexes":[[{"path":"/age"},{"path":"/name"}]]}`

const benchQueryDocs = 20_000

// benchQuery measures a query that returns one page. It runs the query once before the measurement, to
// fill the caches, and fails unless the page has the given number of rows.
func benchQuery(b *testing.B, c *Container, rows int, text string, params ...QueryParameter) {
	b.Helper()
	ask := func() {
		page, _, err := c.Query(b.Context(),
			QueryRequest{Text: text, Parameters: params, ListOptions: ListOptions{MaxItems: -1}})
		if err != nil {
			b.Fatal(err)
		}
		if len(page.Rows) != rows || page.Continuation != "" {
			b.Fatalf("%d rows, not %d; continuation %q", len(page.Rows), rows, page.Continuation)
		}
	}
	ask()
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}

// benchScanFilter measures a query that scans all documents for a condition that none fulfils. It also
// reports the time per document.
func benchScanFilter(b *testing.B, condition string) {
	c, _ := benchIndexed(b, benchQueryPolicy, benchQueryDocs)
	benchQuery(b, c, 0, "SELECT * FROM c WHERE "+condition)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchQueryDocs, "ns/doc")
}

// BenchmarkScanFilterFound measures a scan whose condition reads a property in the middle of each
// document.
func BenchmarkScanFilterFound(b *testing.B) { benchScanFilter(b, "c.active = 'maybe'") }

// BenchmarkScanFilterAbsent measures a scan whose condition reads a property that no document has.
func BenchmarkScanFilterAbsent(b *testing.B) { benchScanFilter(b, "c.nothing = 1") }

// BenchmarkOrderByLimit measures queries for the first rows of an ORDER BY: over the index of one path,
// ascending, descending and from a value on, and over a composite index after an equality.
func BenchmarkOrderByLimit(b *testing.B) {
	c, _ := benchIndexed(b, benchQueryPolicy, benchQueryDocs)
	for _, q := range []struct{ name, text string }{
		{"path", `SELECT * FROM c ORDER BY c.name OFFSET 0 LIMIT 20`},
		{"backwards", `SELECT * FROM c ORDER BY c.name DESC OFFSET 0 LIMIT 20`},
		{"range", `SELECT * FROM c WHERE c.name >= 'n00010000' ORDER BY c.name OFFSET 0 LIMIT 20`},
		{"composite", `SELECT * FROM c WHERE c.age = 40 ORDER BY c.name OFFSET 0 LIMIT 20`},
	} {
		b.Run(q.name, func(b *testing.B) { benchQuery(b, c, 20, q.text) })
	}
}

// BenchmarkQueryBy measures queries by equality: for one document, for the 250 documents with a value, for
// those of them that also have a second value, and for a count.
func BenchmarkQueryBy(b *testing.B) {
	c, _ := benchIndexed(b, benchQueryPolicy, benchQueryDocs)
	age := QueryParameter{Name: "@age", Value: jsondoc.NumberValue(40)}
	b.Run("id", func(b *testing.B) { benchQuery(b, c, 1, `SELECT * FROM c WHERE c.id = '0000012345'`) })
	b.Run("equality", func(b *testing.B) {
		benchQuery(b, c, 250, `SELECT c.id FROM c WHERE c.age = @age`,
			age)
	})
	b.Run("intersection", func(b *testing.B) {
		benchQuery(b, c, 50, `SELECT c.id FROM c WHERE c.age = @age AND c.score = 40.5`, age)
	})
	b.Run("count", func(b *testing.B) {
		benchQuery(b, c, 1, `SELECT VALUE COUNT(1) FROM c WHERE c.age = @age`,
			age)
	})
}

// BenchmarkQueryByParameter measures queries that are repeated with other parameter values each time, so
// that they use a plan that was made for other values.
func BenchmarkQueryByParameter(b *testing.B) {
	c, _ := benchIndexed(b, benchQueryPolicy, benchQueryDocs)
	for _, q := range []struct{ name, text string }{
		{"id", `SELECT * FROM c WHERE c.id = @id`},
		{"range", `SELECT TOP 1 c.id FROM c WHERE c.name >= @name AND c.age > @age`},
		{"order", `SELECT TOP 1 c.id FROM c WHERE c.name >= @name AND c.age > @age ORDER BY c.name`},
	} {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				params := []QueryParameter{
					{Name: "@id", Value: jsondoc.StringValue(fmt.Sprintf("%010d", n%benchQueryDocs))},
					{Name: "@name", Value: jsondoc.StringValue(fmt.Sprintf("n%08d", n%10_000))},
					{Name: "@age", Value: jsondoc.NumberValue(float64(n) / 1e9)}, // always another
				}
				page, _, err := c.Query(b.Context(), QueryRequest{Text: q.text, Parameters: params})
				if err != nil || len(page.Rows) != 1 {
					b.Fatal(len(page.Rows), err)
				}
			}
		})
	}
}
