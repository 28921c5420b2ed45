package index

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mayflydb/mayfly/internal/datatest"
	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// TestEntries compares the index entries of documents, under several policies, with those in
// testdata/entries.txt.
func TestEntries(t *testing.T) {
	var x *Indexer
	datatest.Run(t, "testdata/entries.txt", func(t *testing.T, c *datatest.TestFileCommand) string {
		switch c.Cmd {
		case "policy":
			x = compile(t, c.Input)
			return "ok"
		case "entries":
			var b strings.Builder
			for _, e := range x.Entries(nil, []byte(strings.TrimSpace(c.Input)), 1_700_000_000) {
				fmt.Fprintln(&b, FormatKey(e.Key)+formatValue(e))
			}
			return b.String()
		case "bytes":
			var b strings.Builder
			for _, e := range x.Entries(nil, []byte(strings.TrimSpace(c.Input)), 1_700_000_000) {
				fmt.Fprintf(&b, "%x %q\n", e.Key, e.Key)
			}
			return b.String()
		}
		return c.Unknown()
	})
}

func formatValue(e Entry) string {
	if len(e.Value) == 0 {
		return ""
	}
	return fmt.Sprintf(" -> %x", e.Value)
}

// compile returns an Indexer for an indexing policy in JSON. The container has the computed property
// "lower", the text of /name in lower case.
func compile(t interface {
	Helper()
	Fatal(...any)
}, policy string) *Indexer {
	t.Helper()
	p, err := Parse([]byte(policy))
	if err != nil {
		t.Fatal(err)
	}
	d := IndexingSettings{Policy: p, Computed: []ComputedProperty{{"lower",
		"SELECT VALUE LOWER(c.name) FROM c"},
		{"twice", "SELECT VALUE c.n*2 FROM c"}},
		Vectors: map[string]int{"/v": 3}}
	x, err := NewIndexer(d, map[string]ComputedPropertyFunc{"lower": lowerName})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func lowerName(body []byte) jsondoc.Value {
	v := jsondoc.Get(body, mustPath("/name"))
	if v.Kind() != jsondoc.String {
		return jsondoc.Value{}
	}
	return jsondoc.StringValue(strings.ToLower(v.Str()))
}

func mustPath(s string) jsondoc.Path {
	p, err := jsondoc.ParsePath(s)
	if err != nil {
		panic(err)
	}
	return p
}

// values returns a generator of random JSON values of all kinds. Many strings have the same first 110 to
// 122 bytes, so that they differ near the maximum length of a term, where it is cut.
func values() *rapid.Generator[jsondoc.Value] {
	return rapid.Custom(func(t *rapid.T) jsondoc.Value {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			return jsondoc.Of([]byte(rapid.SampledFrom([]string{"null", "true", "false", "[]", "{}", "[1]",
				`["a"]`, `{"a":1}`, `[[]]`}).Draw(t, "fixed")))
		case 1:
			return jsondoc.Value{}
		case 2, 3:
			return jsondoc.NumberValue(rapid.Float64().Draw(t, "number"))
		case 4:
			return jsondoc.NumberValue(float64(rapid.IntRange(-2, 2).Draw(t, "small")))
		case 5, 6:
			return jsondoc.StringValue(rapid.String().Draw(t, "string"))
		case 7:
			return jsondoc.Of(append(jsondoc.AppendString([]byte("["), longText(t)), ']'))
		}
		return jsondoc.StringValue(longText(t))
	})
}

// longText draws a random string: 110 to 122 times the letter x, then up to 14 random bytes.
func longText(t *rapid.T) string {
	n := rapid.IntRange(110, 122).Draw(t, "alike")
	return strings.Repeat("x", n) + rapid.StringOfN(rapid.SampledFrom([]rune("\x00\x01x\u00e9")), 0, 14,
		-1).Draw(t, "tail")
}

// TestTermOrder checks that the terms (encoded values) of two random values sort like the values. Only the
// terms of two long values, which are cut, may be equal although the values differ.
func TestTermOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := values().Draw(t, "a"), values().Draw(t, "b")
		x, y := appendCut(nil, a), appendCut(nil, b)
		want, got := jsondoc.Compare(a, b), bytes.Compare(x, y)
		cut := len(x) == maxTerm && len(y) == maxTerm
		if got != want && (got != 0 || !cut) {
			t.Fatalf("%s and %s compare as %d, their terms as %d", a.Raw(), b.Raw(), want, got)
		}
		if !bytes.Equal(x, y) && (bytes.HasPrefix(x, y) || bytes.HasPrefix(y, x)) {
			t.Fatalf("the terms of %s and %s: one is the beginning of the other", a.Raw(), b.Raw())
		}
		if a.Kind() < jsondoc.Array {
			v, exact := decodeTerm(x)
			if exact != whole(x) || exact && !jsondoc.Equal(v, a) || !exact &&
				!strings.HasPrefix(a.Str(), v.Str()) {
				t.Fatalf("%s came back as %s, exact %v", a.Raw(), v.Raw(), exact)
			}
		}
	})
}

// holds reports whether "v op w" is true. It is false for values of different types and for undefined.
func holds(v jsondoc.Value, op ComparisonOp, w jsondoc.Value) bool {
	if v.Kind() != w.Kind() || v.Kind() == jsondoc.Undefined {
		return false
	}
	c := jsondoc.Compare(v, w)
	return op == Less && c < 0 || op == LessEqual && c <= 0 || op == Greater && c > 0 || op == GreaterEqual &&
		c >= 0
}

// TestKeyRangesOfPredicates checks, for random values, that the interval of index keys of a comparison, a
// type, a path or a string prefix contains the key of every value that satisfies it and, if the interval is
// exact, no other.
func TestKeyRangesOfPredicates(t *testing.T) {
	x := compile(t, `{}`)
	p := PathTo(mustPath("/a"))
	rapid.Check(t, func(t *rapid.T) {
		v, w := values().Draw(t, "v"), values().Draw(t, "w")
		op := ComparisonOp(rapid.IntRange(int(Less), int(GreaterEqual)).Draw(t, "op"))
		key, _ := x.Term(p, v)
		check := func(name string, lo, hi []byte, exact, want bool) {
			in := bytes.Compare(lo, key) <= 0 && bytes.Compare(key, hi) < 0
			if want && !in || exact && in && !want {
				t.Fatalf("%s: %s is in %v, should be %v (exact %v)", name, v.Raw(), in, want, exact)
			}
		}
		lo, hi, exact := x.Range(p, op, w)
		check(fmt.Sprint("range ", op, " ", string(w.Raw())), lo, hi, exact, holds(v, op, w))
		lo, hi = x.TypeRange(p, w.Kind())
		check("kind "+w.Kind().String(), lo, hi, true, v.Kind() == w.Kind())
		lo, hi = x.PathRange(p)
		check("path", lo, hi, true, true)
		if w.Kind() == jsondoc.String {
			lo, hi, exact = x.Prefix(p, w.Str())
			check("prefix "+w.Str(), lo, hi, exact, v.Kind() == jsondoc.String &&
				strings.HasPrefix(v.Str(), w.Str()))
		}
		other, exact := x.Term(p, w)
		if equal := jsondoc.Equal(v, w); equal && !bytes.Equal(key, other) || exact &&
			bytes.Equal(key, other) != equal {
			t.Fatalf("terms of %s and %s (exact %v)", v.Raw(), w.Raw(), exact)
		}
	})
}

// TestCompositeOrder checks that the keys of a composite index sort like the values of its paths, each in
// its direction, and that Values returns these values from a key.
func TestCompositeOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		paths := []CompositePathSpec{{"/a", "ascending"}, {"/b", "ascending"}, {"/c", "ascending"}}
		for i := range paths {
			paths[i].Order = rapid.SampledFrom(compositeOrders()).Draw(t, "order")
		}
		c, err := newCompositeIndex(paths)
		if err != nil {
			t.Fatal(err)
		}
		var rows [2][]jsondoc.Value
		for i := range rows {
			rows[i] = []jsondoc.Value{values().Draw(t, "a"), values().Draw(t, "b"), values().Draw(t, "c")}
		}
		if rapid.Bool().Draw(t, "alike") {
			rows[1][0] = rows[0][0]
		}
		x, exactX := c.Prefix(rows[0]...)
		y, exactY := c.Prefix(rows[1]...)
		want := 0
		for i := 0; i < 3 && want == 0; i++ {
			if want = jsondoc.Compare(rows[0][i], rows[1][i]); c.Keys[i].Descending {
				want = -want
			}
		}
		if exactX && exactY && bytes.Compare(x, y) != want {
			t.Fatalf("%s, %s: keys compare as %d, values as %d", x, y, bytes.Compare(x, y), want)
		}
		if !bytes.Equal(x, y) && (bytes.HasPrefix(x, y) || bytes.HasPrefix(y, x)) {
			t.Fatalf("%x is the beginning of %x", x, y)
		}
		back, exact := c.Values(x)
		nested := slices.ContainsFunc(rows[0], func(v jsondoc.Value) bool { return v.Kind() >= jsondoc.Array })
		if len(back) != 3 || (exact == 3) != (exactX && !nested) {
			t.Fatalf("%d values came back, %d exact, all: %v", len(back), exact, exactX)
		}
		if c.Exact(x) != (exact == 3) {
			t.Fatalf("%x is exact: %v, but %d of its values are", x, c.Exact(x), exact)
		}
		for i := range exact {
			lead, _ := c.Prefix(rows[0][:i]...)
			if c.Exact(x) && !bytes.Equal(c.TermsFrom(x, i), x[len(lead):]) {
				t.Fatalf("the terms of %x from %d on are %x", x, i, c.TermsFrom(x, i))
			}
			if !jsondoc.Equal(back[i], rows[0][i]) {
				t.Fatalf("%s came back as %s", rows[0][i].Raw(), back[i].Raw())
			}
		}
		op := ComparisonOp(rapid.IntRange(int(Less), int(GreaterEqual)).Draw(t, "op"))
		lo, hi, sure := c.Range(rows[0][:1], op, rows[1][1])
		want0 := holds(rows[0][1], op, rows[1][1])
		if in := bytes.Compare(lo, x) <= 0 && bytes.Compare(x, hi) < 0; want0 && !in || sure && in && !want0 {
			t.Fatalf("the range %d %s holds %s: %v, exact %v", op, rows[1][1].Raw(), rows[0][1].Raw(), in,
				sure)
		}
	})
}

// documents returns a generator of random documents. Their property names and values come from small sets,
// so that many documents have the same ones.
func documents() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return "{\"id\":\"d\"" + strings.TrimPrefix(member(t, 3), "{") + "}"
	})
}

func member(t *rapid.T, depth int) string {
	var b strings.Builder
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "", "name", "a/b", "v",
		strings.Repeat("long", 20)}), 0, 4, rapid.ID).Draw(t, "names")
	for _, name := range names {
		b.WriteString(",")
		b.Write(jsondoc.AppendString(nil, name))
		b.WriteString(":" + anything(t, depth))
	}
	return b.String()
}

func anything(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	switch {
	case kind == 0 && depth > 0:
		return "{" + strings.TrimPrefix(member(t, depth-1), ",") + "}"
	case kind == 1 && depth > 0:
		return "[" + strings.Join(
			rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return anything(t, depth-1) }), 0,
				3).Draw(t, "list"), ",") + "]"
	}
	return rapid.SampledFrom([]string{"1", "2", "null", "true", `"x"`, `"X"`, "[1,2,3]"}).Draw(t, "scalar")
}

// naive returns the values at a path of a document by walking through the document, without an index.
func naive(v jsondoc.Value, p Path) (found []jsondoc.Value) {
	if len(p) == 0 {
		if v.Kind() == jsondoc.Undefined {
			return nil
		}
		return []jsondoc.Value{v}
	}
	if !p[0].Element {
		return naive(v.Member(p[0].Name), p[1:])
	}
	if v.Kind() == jsondoc.Array {
		v.Each(func(_ string, elem jsondoc.Value) bool {
			found = append(found, naive(elem, p[1:])...)
			return true
		})
	}
	return found
}

// TestEntriesOfRandomDocuments checks the index entries of random documents. For an indexed path they are
// exactly the terms of the document's values at the path. The entry of the document's shape has exactly the
// paths of the document. No key is a prefix of another.
func TestEntriesOfRandomDocuments(t *testing.T) {
	policies := []string{
		`{}`,
		`{"includedPaths":[{"path":"/a/?"},{"path":"/b/[]/?"},{"path":"/lower/?"}],"excludedPaths":[{"path":"/*"}]}`,
		`{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/a/*"},{"path":"/b/a/?"}],"compositeIndexes":[[{"path":"/a"},{"path":"/name","order":"descending"}]]}`,
		`{"includedPaths":[{"path":"/a/*"}],"excludedPaths":[{"path":"/*"},{"path":"/a/[]/?"}]}`,
	}
	names := []string{"a", "b", "", "name", "a/b", strings.Repeat("long", 20), "lower", "id"}
	rapid.Check(t, func(t *rapid.T) {
		x := compile(t, rapid.SampledFrom(policies).Draw(t, "policy"))
		body := []byte(documents().Draw(t, "document"))
		entries := x.Entries(nil, body, 7)
		for i, e := range entries {
			if i > 0 && bytes.HasPrefix(e.Key, entries[i-1].Key) || i > 0 &&
				bytes.Compare(e.Key, entries[i-1].Key) <= 0 {
				t.Fatalf("keys %x and %x of %s", entries[i-1].Key, e.Key, body)
			}
		}
		p := Path{{Name: rapid.SampledFrom(names).Draw(t, "first")}}
		for range rapid.IntRange(0, 2).Draw(t, "more") {
			if rapid.Bool().Draw(t, "element") {
				p = p.Element()
			} else {
				p = p.Property(rapid.SampledFrom(names).Draw(t, "name"))
			}
		}
		want := [][]byte{}
		found := naive(jsondoc.Of(body), p)
		if p[0].Name == "lower" {
			found = nil
			if v := lowerName(body); v.Kind() != jsondoc.Undefined {
				found = naive(v, p[1:])
			}
		}
		for _, v := range found {
			key, _ := x.Term(p, v)
			want = append(want, key)
		}
		slices.SortFunc(want, bytes.Compare)
		want = slices.CompactFunc(want, bytes.Equal)
		lo, hi := x.PathRange(p)
		got := [][]byte{}
		for _, e := range entries {
			if bytes.Compare(lo, e.Key) <= 0 && bytes.Compare(e.Key, hi) < 0 {
				got = append(got, e.Key)
			}
		}
		if !x.RangeIndexed(p) {
			want = want[:0]
		}
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("%s at %s: entries %q, values %q", body, p, got, want)
		}
		shape := entries[ShapeOf(entries, 0)]
		record := AppendShape(nil, entries, 0)
		if !ShapeFits(ShapeName(shape, 0), record) {
			t.Fatalf("the shape of %s is not that of its record", body)
		}
		if x.RangeIndexed(p) && !p.enters() && ShapeHas(record, p) != (len(found) > 0) {
			t.Fatalf("the shape of %s has %s: %v", body, p, len(found) == 0)
		}
	})
}

// sample returns the i-th sample document: an order of about 1 KB with twelve scalar properties.
func sample(i int) []byte {
	return fmt.Appendf(nil, `{"id":"order-%06d","pk":"customer-%d","type":"order","total":%d.95,"currency":"EUR","paid":true,"note":null,`+
		`"status":"open","createdAt":"2024-05-06T07:08:09Z","items":%d,"city":"K\u00f6ln","zip":"50667","description":"%s"}`,
		i, i%100, i, i%9, strings.Repeat("lorem ipsum ", 65))
}

func BenchmarkEntries(b *testing.B) {
	x := compile(b, `{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/description/?"}]}`)
	body := sample(123)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var dst []Entry
	lead := []byte("123456")
	for b.Loop() {
		dst = x.EntriesWithin(dst[:0], lead, 8, body, 1_700_000_000)
	}
	b.ReportMetric(float64(len(dst)), "entries")
}
