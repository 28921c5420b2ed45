package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// maxDocumentsReadTestCase is a typical query with limits for the documents and index entries that its first
// page may read; -1 means no limit. %d in the text stands for the number of documents.
type maxDocumentsReadTestCase struct {
	name, text, pk  string
	loaded, entries int64 // at most; entries also as a share of the documents, see all
	all             bool  // entries are of all documents
}

func shapes() []maxDocumentsReadTestCase {
	return []maxDocumentsReadTestCase{
		{name: "id", text: "SELECT * FROM c WHERE c.id = '77'", loaded: 1, entries: 2},
		{name: "count", text: "SELECT VALUE COUNT(1) FROM c"},
		{name: "count of a quarter", text: "SELECT VALUE COUNT(1) FROM c WHERE c.status = 1", all: true},
		{name: "count of a range", text: "SELECT VALUE COUNT(1) FROM c WHERE c.n > %d - 100", entries: 100},
		{name: "count of a rare path", text: "SELECT VALUE COUNT(c.rare) FROM c", entries: 10},
		{name: "count of two", text: "SELECT VALUE COUNT(1) FROM c WHERE c.status = 1 AND c.n > 200",
			loaded: 1000,
			all:    true},
		{name: "groups", text: "SELECT c.status FROM c GROUP BY c.status", entries: 60},
		{name: "counted groups", text: "SELECT c.status, COUNT(1) AS n FROM c GROUP BY c.status", all: true},
		{name: "distinct", text: "SELECT DISTINCT VALUE c.status FROM c", entries: 60},
		{name: "distinct in order", text: "SELECT DISTINCT VALUE c.status FROM c ORDER BY c.status DESC",
			entries: 60},
		{name: "min and max", text: "SELECT MIN(c.n) AS a, MAX(c.seq) AS b FROM c", entries: 4},
		{name: "max of a partition", text: "SELECT VALUE MAX(c.n) FROM c", pk: "quiet", loaded: 10,
			entries: 10},
		{name: "in order", text: "SELECT TOP 100 * FROM c ORDER BY c.n", loaded: 100, entries: 101},
		{name: "offset", text: "SELECT * FROM c ORDER BY c.n OFFSET 1500 LIMIT 5", loaded: 5, entries: 1506},
		{name: "the latest of a partition", text: "SELECT TOP 5 * FROM c ORDER BY c._ts DESC", pk: "quiet",
			loaded:  5,
			entries: 12},
		{name: "a partition in order", text: "SELECT TOP 5 * FROM c ORDER BY c.n", pk: "quiet", loaded: 10,
			entries: 10},
		{name: "two ranges, the wide one first", text: "SELECT * FROM c WHERE c.n > 1 AND c.seq > %d - 50",
			loaded:  50,
			entries: 200},
		{name: "two ranges, the narrow one first", text: "SELECT * FROM c WHERE c.seq > %d - 50 AND c.n > 1",
			loaded:  50,
			entries: 200},
		{name: "equality and range", text: "SELECT * FROM c WHERE c.status = 1 AND c.seq > %d - 50",
			loaded:  50,
			entries: 200},
		{name: "equality and range of a composite index",
			text:   "SELECT * FROM c WHERE c.cat = 1 AND c.seq > %d - 500",
			loaded: 5, entries: 10},
		{name: "range in the order of another path",
			text: "SELECT * FROM c WHERE c.n > %d - 90 ORDER BY c.seq", loaded: 90,
			entries: 100},
		{name: "contains", text: "SELECT c.id FROM c WHERE CONTAINS(c.name, '1777')", loaded: 2100,
			all: true},
		{name: "starts with, in any case",
			text:   "SELECT c.id FROM c WHERE STARTSWITH(c.name, 'NAME 1777', true)",
			loaded: 2100, all: true},
		{name: "array contains", text: "SELECT c.id FROM c WHERE ARRAY_CONTAINS(c.tags, 7, false)",
			loaded:  101, // the last reports whether a row follows
			entries: 101},
		{name: "array contains any", text: "SELECT c.id FROM c WHERE ARRAY_CONTAINS_ANY(c.tags, 7, 8)",
			loaded:  101, // the last reports whether a row follows
			entries: 102},
		{name: "many values", text: "SELECT c.id FROM c WHERE c.n IN (" + numbers(2100) + ")", loaded: 100,
			entries: 2100},
	}
}

func numbers(n int) (list string) {
	for i := range n {
		list += fmt.Sprintf("%d,", -i)
	}
	return list + "1"
}

// TestQueryReadsIndependentOfSize checks that typical queries that an index supports do not read more if the
// container has more documents, whatever the order of their conditions.
func TestQueryReadsIndependentOfSize(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	read := map[string][]query.Stats{}
	sizes := []int{3000, 12_000}
	for _, n := range sizes {
		b := newQueryBench(t, store.Options{}, false,
			`"indexingPolicy":{"compositeIndexes":[[{"path":"/cat"},{"path":"/seq"}]]}`)
		fillShapes(b, n)
		for _, s := range shapes() {
			text := s.text
			if strings.Contains(text, "%d") {
				text = fmt.Sprintf(text, n)
			}
			q := store.QueryRequest{Text: text, ListOptions: store.ListOptions{MaxItems: 100}}
			if s.pk != "" {
				q.Scope.Partition = definition.NewPartitionKey(jsondoc.StringValue(s.pk))
			}
			p, _, err := b.c.Query(b.ctx, q)
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			read[s.name] = append(read[s.name], p.Stats)
			entries := s.entries
			if s.all {
				entries = 2*int64(n) + 2000
			}
			if p.Stats.Loaded > s.loaded || p.Stats.IndexEntries > entries {
				t.Errorf("%d documents, %s: reads %d documents and %d entries, not %d and %d at most", n,
					s.name,
					p.Stats.Loaded, p.Stats.IndexEntries, s.loaded, entries)
			}
		}
		b.close()
	}
	for _, s := range shapes() {
		a, b := read[s.name][0], read[s.name][1]
		if float64(b.Loaded) > 1.5*float64(a.Loaded)+1 || !s.all &&
			float64(b.IndexEntries) > 1.5*float64(a.IndexEntries)+1 {
			t.Errorf("%s grows with the container: %d documents and %d entries, then %d and %d", s.name,
				a.Loaded,
				a.IndexEntries, b.Loaded, b.IndexEntries)
		}
	}
}

// fillShapes writes n documents. The first ten are in the partition "quiet", the others in 100 partitions.
func fillShapes(b *testStore, n int) {
	for i := range n {
		pk, rare := fmt.Sprint("p", i%100), ""
		if i < 10 {
			pk = "quiet"
		}
		if i%100 == 7 && i < 1000 {
			rare = `,"rare":1`
		}
		b.put(fmt.Sprintf(`{"id":"%d","pk":"%s","status":%d,"cat":%d,"n":%d,"seq":%d,"name":"name %d","tags":[%d,%d]%s}`,
			i, pk, (i*7)%4, i%100, (i*7919)%n, i, i, i%10, 10+i%3, rare))
		b.clock.Advance(time.Second)
	}
}
