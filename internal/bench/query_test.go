package bench

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/progress"
	"github.com/mayflydb/mayfly/ttl"
)

func TestValidateQueries(t *testing.T) {
	for _, c := range []struct {
		docs   []int
		shapes string
		ok     bool
	}{
		{nil, "", true},
		{[]int{10_000}, "GROUP|COUNT", true},
		{[]int{10_000, 100_000, 1_000_000}, "", true},
		{[]int{1000, 2000}, "", true},
		{[]int{10_000, 10_000}, "", false},
		{[]int{100_000, 10_000}, "", false},
		{[]int{900}, "", false},
		{[]int{-1000, 1000}, "", false},
		{[]int{1050, 2100}, "", false},
		{[]int{10_000, 1 << 40}, "", false},
		{nil, "GROUP(", false},
	} {
		b := &BenchmarkRun{Options: Options{Docs: c.docs, Shapes: c.shapes, Seconds: 1}}
		if err := b.validate(); (err == nil) != c.ok {
			t.Errorf("%v, %q: %v", c.docs, c.shapes, err)
		}
	}
}

// TestQueryDocuments checks that the numbers of documents with a given value, by which queries select, are
// as defined in sets of any size.
func TestQueryDocuments(t *testing.T) {
	for _, l := range []valueDistribution{{1000}, {3000}, {20_000}} {
		counts, rare := map[any]int{}, 0
		for i := range l.docs {
			body := l.json(i)
			var d struct {
				ID, PK, Status, Cat, Name, Mail string
				Ten, N, Seq                     int
				Rare                            *int
				Tags                            []string
				Heads, Tails                    bool
				Address                         struct{ City string }
			}
			if err := json.Unmarshal(body, &d); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			if len(body) != queryDocBytes || d.ID != newDocument(i).id || d.Heads == d.Tails || d.Seq != i {
				t.Fatalf("document %d has %d bytes: %s", i, len(body), body)
			}
			if d.Rare != nil {
				rare++
			}
			type number int
			name, _, _ := strings.Cut(d.Name, "-")
			for _, v := range []any{d.PK, d.Status, d.Cat, d.Ten, number(d.N), d.Tags[1], name,
				d.Address.City} {
				counts[v]++
			}
			_, domain, _ := strings.Cut(d.Mail, "@")
			counts[domain]++
		}
		if rare != rareDocs {
			t.Errorf("%d documents: %d are rare", l.docs, rare)
		}
		for v, want := range map[any]int{
			"open": l.docs / 4, "cat-07": l.docs / 100, 3: l.docs / 10, "quiet": quietDocs,
			"t000001": fewDocs, "city000001": fewDocs, "000001": fewDocs, "000001.org": fewDocs,
		} {
			if counts[v] != want {
				t.Errorf("%d documents: %d with %v, not %d", l.docs, counts[v], v, want)
			}
		}
		for k := range queryTurns {
			if n := counts[active(l, k)]; n < fewDocs/2 {
				t.Errorf("%d documents: %d in partition %s", l.docs, n, active(l, k))
			}
		}
	}
}

func TestSearchDocuments(t *testing.T) {
	l := valueDistribution{3000}
	g := l.askedFew(1)
	place, err := index.ParseGeometry(hereParam(l, 1)[0].Value, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.docs {
		body := l.searchedJSON(i)
		if !json.Valid(body) {
			t.Fatalf("document %d: %s", i, body)
		}
		there, err := index.ParseGeometry(jsondoc.Get(body, jsondoc.PathOf("at")), false)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		member := i%l.fewGroups() == g
		if near := place.Distance(there); (near < nearMetres) != member || !member && near < 10*nearMetres {
			t.Errorf("document %d lies %.0f m away; of the group: %t", i, near, member)
		}
		if text := jsondoc.Get(body, jsondoc.PathOf("text")).Str(); strings.Contains(text, topic(g)) != member {
			t.Errorf("document %d says %q; of the group: %t", i, text, member)
		}
	}
}

// TestQueryShapes runs each kind of query once, and checks that it succeeds, that it finds documents if it
// should, and that it finds 100 if its name ends with "(100)".
func TestQueryShapes(t *testing.T) {
	l := valueDistribution{1000}
	for _, c := range []struct {
		set    queryBenchmarkDataSet
		shapes []queryShape
	}{
		{queryBenchmarkDataSet{valueDistribution: l, spec: querySpec(), text: l.json}, shapes()},
		{queryBenchmarkDataSet{valueDistribution: l, spec: searchSpec(), text: l.searchedJSON},
			searchShapes()},
	} {
		b := &BenchmarkRun{Options: Options{Seconds: 1}, clock: ttl.SystemClock{}, progress: &progress.Bar{}}
		db, container, err := b.queryContainer(t.Context(),
			storeOpenOptions{engine: pebble.Options{Memory: true}},
			c.set.spec)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for from := 0; from < l.docs; from += 100 {
			if err := c.set.load(t.Context(), container, from, from+100); err != nil {
				t.Fatal(err)
			}
		}
		names := map[string]bool{}
		for _, s := range c.shapes {
			if names[s.name] {
				t.Errorf("two shapes are named %s", s.name)
			}
			names[s.name] = true
			a := &repeatedQuery{queryShape: s, valueDistribution: l, b: b, c: container}
			seen := a.ask(t.Context(), 1)
			none := strings.Contains(s.text, "c.tails") || strings.Contains(s.text, "-1")
			if seen.Failure != "" || (seen.Rows == 0) != none && !strings.Contains(s.name, "1 %") {
				t.Errorf("%s: %+v", s.name, seen)
			}
			hundred := strings.HasSuffix(s.name, "(100)") && s.partition == nil && seen.Rows > 1 &&
				!strings.Contains(s.name, "equalities") && !strings.Contains(s.name, "vector")
			if hundred && seen.Rows != fewDocs {
				t.Errorf("%s: %d rows", s.name, seen.Rows)
			}
		}
	}
}

func TestRunInterleaved(t *testing.T) {
	sides := []*repeatedQuery{{cpu: []float64{1, 2, 3}}, {cpu: []float64{8, 4, 6}}}
	for i, a := range sides {
		a.b = &BenchmarkRun{Options: Options{Seconds: 1}, clock: ttl.SystemClock{}}
		a.spent, a.docs, a.queryShape.name, a.growth = 1e9, i, "x", served()
	}
	found, err := runInterleaved(t.Context(), sides)
	if err != nil {
		t.Fatal(err)
	}
	if found[0].Growth != nil || *found[1].Growth != 3 || *found[1].Within || found[1].Documents != 1 {
		t.Errorf("%+v", found)
	}
	var out strings.Builder
	r := newReport(&out)
	r.addShape(found)
	if r.over != 1 || !strings.Contains(out.String(), "3.00  OVER BUDGET (<= 1.5)") {
		t.Errorf("%d over, %s", r.over, out.String())
	}
}
