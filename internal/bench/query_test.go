package bench

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
)

func TestValidateSizes(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		ok    bool
	}{
		{[]int{10_000, 100_000, 1_000_000}, true},
		{[]int{1000, 2000}, true},
		{[]int{20_000, 30_000}, true},
		{nil, false},
		{[]int{10_000}, false},
		{[]int{10_000, 10_000}, false},
		{[]int{100_000, 10_000}, false},
		{[]int{900, 1800}, false},
		{[]int{-1000, 1000}, false},
		{[]int{1050, 2100}, false},
		{[]int{10_000, 15_000}, false},
		{[]int{10_000, 1 << 40}, false},
	} {
		b := &Bench{Options: Options{Sizes: c.sizes}}
		if err := b.validateSizes(); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.sizes, err)
		}
	}
}

// smallSets are layouts whose documents can all be looked at.
func smallSets() []layout { return []layout{{1000, 1000}, {3000, 1000}} }

// What queries are compared by must not depend on the size of the set.
func TestQueryDocuments(t *testing.T) {
	for _, l := range smallSets() {
		groups, seqs, picked := map[int]int{}, map[int]bool{}, 0
		pickedOf := map[int]int{}
		for i := range l.docs {
			body := l.json(i)
			var d struct {
				ID, PK, Note         string
				Group, Seq, Weight   int
				Picked, Heads, Tails bool
			}
			if err := json.Unmarshal(body, &d); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			if len(body) != benchDocBytes || d.ID != newDocument(i).id || d.PK != newDocument(i).pk || d.Heads == d.Tails || d.Weight != i%weights {
				t.Fatalf("document %d: %s", i, body)
			}
			groups[d.Group]++
			seqs[d.Seq] = true
			if d.Picked {
				picked++
				pickedOf[d.Group]++
			}
			if bytes.Contains(body, []byte(`"nothing"`)) {
				t.Fatalf("document %d has the property that none has", i)
			}
		}
		if len(groups) != l.groups() || picked != l.list || len(seqs) != l.docs || !seqs[0] || !seqs[l.docs-1] {
			t.Errorf("%+v: %d groups, %d picked, %d numbers", l, len(groups), picked, len(seqs))
		}
		for g, n := range groups {
			if n != 10 {
				t.Errorf("%+v: %d documents in group %d", l, n, g)
			}
		}
		asked := map[int]bool{}
		for k := range queryTurns {
			g := l.askedGroup(k)
			if asked[g] = true; pickedOf[g] != 10 {
				t.Errorf("%+v: of group %d, which is asked for, %d documents are picked", l, g, pickedOf[g])
			}
			if l.asked(k)+l.rows() > l.docs {
				t.Errorf("%+v: the range from %d on leaves the set", l, l.asked(k))
			}
		}
		if len(asked) != queryTurns {
			t.Errorf("%+v: %d different groups are asked for, not %d", l, len(asked), queryTurns)
		}
	}
}

func TestPlacedDocuments(t *testing.T) {
	for _, l := range smallSets() {
		g := l.askedGroup(5)
		at := placeQuestions()[0].params(l, 5)[0].Value
		here, err := index.ParseGeometry(at, false)
		if err != nil {
			t.Fatal(err)
		}
		for i := range l.docs {
			body := l.placedJSON(i)
			if !json.Valid(body) || len(body) != benchDocBytes {
				t.Fatalf("document %d: %s", i, body)
			}
			there, err := index.ParseGeometry(doc.Get(body, doc.PathOf("at")), false)
			if err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			member := l.group(i) == g
			if near := here.Distance(there); (near < nearMetres) != member || !member && near < 10*nearMetres {
				t.Errorf("%+v: document %d lies %.0f m away; of the group: %t", l, i, near, member)
			}
			if text := doc.Get(body, doc.PathOf("text")).Str(); strings.Contains(text, l.topic(g)) != member {
				t.Errorf("%+v: document %d says %q; of the group: %t", l, i, text, member)
			}
		}
	}
}
