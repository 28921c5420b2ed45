package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
)

func pathTo(s string) Path { return PathTo(mustPath(s)) }

// TestLookupBesideOlderIndexers checks which indexes queries may use after a change of the indexing policy,
// while some documents are still indexed by an older policy: only those that both policies fill in the same
// way. Included, in contrast, depends only on the new policy.
func TestLookupBesideOlderIndexers(t *testing.T) {
	now := compile(t, `{"includedPaths":[{"path":"/*"},{"path":"/lower/?"}],"excludedPaths":[{"path":"/x/*"}],"fullTextIndexes":[{"path":"/text"}],
		"vectorIndexes":[{"path":"/v","type":"flat"}],"spatialIndexes":[{"path":"/at/*","types":["Point"]}],
		"compositeIndexes":[[{"path":"/a"},{"path":"/b"}],[{"path":"/a"},{"path":"/c"}],[{"path":"/lower"},{"path":"/c"}]]}`)
	old := compile(t, `{"includedPaths":[{"path":"/a/?"},{"path":"/tags/[]/?"},{"path":"/x/?"},{"path":"/lower/?"}],"excludedPaths":[{"path":"/*"}],
		"compositeIndexes":[[{"path":"/a"},{"path":"/c"}],[{"path":"/lower"},{"path":"/c"}]]}`)
	other, err := NewIndexer(IndexingSettings{Policy: old.def.Policy,
		Computed: []ComputedProperty{{"lower", "SELECT VALUE UPPER(c.name) FROM c"}}},
		map[string]ComputedPropertyFunc{
			"lower": lowerName})
	if err != nil {
		t.Fatal(err)
	}
	both, three := now.WithOlder(old), now.WithOlder(old, other)
	for _, c := range []struct {
		path                    Path
		included, usable, three bool
	}{
		{pathTo("/id"), true, true, true},
		{pathTo("/_ts"), true, true, true},
		{pathTo("/_etag"), false, false, false},
		{pathTo("/a"), true, true, true},
		{pathTo("/a/b"), true, false, false},
		{pathTo("/b"), true, false, false},
		{pathTo("/x"), false, false, false},
		{pathTo("/tags").Element(), true, true, true},
		{pathTo("/lower"), true, true, false},
		{pathTo("/twice"), false, false, false},
		{Path{}, false, false, false},
		{Path{{Name: "\xff"}}, false, false, false},
	} {
		if got := both.Included(c.path); got != c.included {
			t.Errorf("%s is included: %v", c.path, got)
		}
		if got := both.RangeIndexed(c.path); got != c.usable {
			t.Errorf("%s can be used: %v", c.path, got)
		}
		if got := three.RangeIndexed(c.path); got != c.three {
			t.Errorf("%s can be used with another computed property: %v", c.path, got)
		}
	}
	ready := func(x *Indexer) (list []bool) {
		for _, c := range x.Composites() {
			list = append(list, c.Ready)
		}
		return list
	}
	if got := fmt.Sprint(ready(now), ready(both),
		ready(three)); got != "[true true true] [false true true] [false true false]" {
		t.Errorf("composite indexes that can be used: %s", got)
	}
	_, at := now.Spatial(pathTo("/at/deep"))
	_, still := both.Spatial(pathTo("/at"))
	_, vectors := now.VectorPrefix(pathTo("/v"))
	_, vectorsStill := both.VectorPrefix(pathTo("/v"))
	if !at || still || !vectors || vectorsStill || !now.TextIndexed(pathTo("/text")) ||
		both.TextIndexed(pathTo("/text")) || now.TextIndexed(pathTo("/at")) {
		t.Error("spatial, vector and text indexes can be used in the wrong places")
	}
	var none *Indexer
	if none.RangeIndexed(pathTo("/a")) || none.TextIndexed(pathTo("/a")) || none.Composites() != nil ||
		none.Entries(nil, []byte(`{"id":"1"}`), 1) != nil {
		t.Error("a nil Indexer indexes something")
	}
}

// TestSpatialLookup checks that the cell ranges of a region contain the index entry of every random point
// in the region.
func TestSpatialLookup(t *testing.T) {
	x := compile(t, `{"spatialIndexes":[{"path":"/at/?","types":["Point"]}]}`)
	region, err := ParseGeometry(
		jsondoc.Of([]byte(`{"type":"Polygon","coordinates":[[[4,51],[6,51],[6,53],[4,53],[4,51]]]}`)), false)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	inside, proposed := 0, 0
	for range racetest.Campaign(2000, 500) {
		text := fmt.Appendf(nil, `{"type":"Point","coordinates":[%f,%f]}`, 3+4*r.Float64(), 50+4*r.Float64())
		point, err := ParseGeometry(jsondoc.Of(text), false)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, e := range x.Entries(nil, append(append([]byte(`{"id":"1","at":`), text...), '}'), 1) {
			for _, cells := range region.QueryCells(nil, 0) {
				lo, hi := x.SpatialRange(pathTo("/at"), cells)
				found = found || bytes.Compare(lo, e.Key) <= 0 && bytes.Compare(e.Key, hi) < 0
			}
		}
		if found {
			proposed++
		}
		if point.Intersects(region) {
			if inside++; !found {
				t.Errorf("%s is not found", text)
			}
		}
	}
	if inside == 0 || proposed > 2*inside {
		t.Errorf("%d points proposed for %d inside", proposed, inside)
	}
}

// TestDecodeWordsAndVectors checks that the words and the vector of a document are decoded unchanged from its
// index entries.
func TestDecodeWordsAndVectors(t *testing.T) {
	x := compile(t, `{"vectorIndexes":[{"path":"/v","type":"flat"}],"fullTextIndexes":[{"path":"/text"}]}`)
	entries := x.Entries(nil, []byte(`{"id":"1","v":[1,0.5,-2],"text":"red bikes, a red bike"}`), 1)
	value := func(key []byte) []byte {
		for _, e := range entries {
			if bytes.Equal(e.Key, key) {
				return e.Value
			}
		}
		t.Fatalf("no entry %s", FormatKey(key))
		return nil
	}
	prefix, _ := x.VectorPrefix(pathTo("/v"))
	if v := DecodeVector(nil, value(prefix)); fmt.Sprint(v) != "[1 0.5 -2]" {
		t.Errorf("the vector came back as %v", v)
	}
	for word, want := range map[string]uint64{"red": 2, "bike": 2, "": 4} {
		key := x.TextKey(pathTo("/text"), word)
		count, words := DecodeText(value(key))
		back, ok := TextWord(key)
		lo, hi := x.TextWords(pathTo("/text"))
		if count != want || words != 4 || back != word || !ok || bytes.Compare(lo, key) > 0 ||
			bytes.Compare(key, hi) >= 0 {
			t.Errorf("%q came back as %q, %d of %d", word, back, count, words)
		}
	}
}
