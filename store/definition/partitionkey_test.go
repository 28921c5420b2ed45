package definition

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/fault"
)

func TestParsePartitionKey(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{`[]`, `[]`},
		{`[{}]`, `[{}]`},
		{` [ "a" , 1.0 , -0, 1E2, true,false, null, { } ] `, `["a",1,0,100,true,false,null,{}]`},
		{`["\u0041\ud83d\ude00\n"]`, `["A😀\n"]`},
		{`[1,2,3,4,5]`, `[1,2,3,4,5]`},
		{`[[]]`, ""}, {`[{"a":1}]`, ""}, {`{}`, ""}, {`"a"`, ""}, {``, ""}, {`[`, ""}, {`["a"]x`, ""}, {`['a']`, ""}, {`[1e999]`, ""},
		{`["\x41"]`, ""}, {"[\"\xff\"]", ""},
	} {
		k, err := ParsePartitionKey([]byte(c.in))
		if c.out == "" {
			if fault.ErrorCode(err) != fault.CodeBadRequest || !k.IsZero() {
				t.Errorf("%s: %v, %v", c.in, k, err)
			}
			continue
		}
		if err != nil || k.String() != c.out || k.IsZero() {
			t.Errorf("%s: %s, %v, want %s", c.in, k, err, c.out)
			continue
		}
		if again := parsedKey(t, k.String()); again.String() != c.out || again.Len() != k.Len() ||
			!bytes.Equal(again.AppendOrdered(nil), k.AppendOrdered(nil)) {
			t.Errorf("%s is not the same when it is read again: %s", c.in, again)
		}
	}
	if k := (PartitionKey{}); !k.IsZero() || k.String() != "" || k.Len() != 0 {
		t.Errorf("the zero key is %q", k)
	}
	if k := NewPartitionKey(jsondoc.Of([]byte(`[1]`)), jsondoc.Of([]byte(`{"a":1}`)), jsondoc.StringValue("x")); k.String() != `[{},{},"x"]` {
		t.Errorf("arrays and objects are not undefined: %s", k)
	}
}

func TestExtract(t *testing.T) {
	body := []byte(`{"id":"i","a":{"b":"x","n":1.0,"list":[1],"o":{}},"nil":null,"f":false,"we/ird":"w"}`)
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{"/id"}, `["i"]`},
		{[]string{"/a/b"}, `["x"]`},
		{[]string{`/"we/ird"`}, `["w"]`},
		{[]string{"/a/n", "/nil", "/f"}, `[1,null,false]`},
		{[]string{"/a", "/a/list", "/a/o"}, `[{},{},{}]`},
		{[]string{"/missing", "/a/b/c", "/a/list/x"}, `[{},{},{}]`},
	} {
		d := PartitionKeyDefinition{Paths: c.paths, Kind: KindMultiHash}
		if got := d.Extract(body); got.String() != c.want {
			t.Errorf("%s before it is completed: %s, want %s", c.paths, got, c.want)
		}
		d.EnsureDefaults()
		if got := d.Extract(body); got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.paths, got, c.want)
		}
	}
}

func TestKeyOfDocument(t *testing.T) {
	plain := &PartitionKeyDefinition{Paths: []string{"/pk"}}
	plain.EnsureDefaults()
	var system PartitionKeyDefinition
	system.EnsureDefaults()
	tree := definition(t, KindMultiHash, 2)
	for _, c := range []struct {
		d           *PartitionKeyDefinition
		given, body string
		want, fault string // the key, or a word of the error
	}{
		{plain, "", `{"pk":"a"}`, `["a"]`, ""},
		{plain, "", `{}`, `[{}]`, ""},
		{plain, `["a"]`, `{"pk":"a"}`, `["a"]`, ""},
		{plain, `["\u0061"]`, `{"pk":"a"}`, `["a"]`, ""},
		{plain, `[1.0]`, `{"pk":1}`, `[1]`, ""},
		{plain, `[{}]`, `{"pk":{"x":1}}`, `[{}]`, ""},
		{plain, `[{}]`, `{}`, `[{}]`, ""},
		{plain, `["a"]`, `{"pk":"b"}`, "", "mismatch"},
		{plain, `["1"]`, `{"pk":1}`, "", "mismatch"},
		{plain, `[null]`, `{}`, "", "mismatch"},
		{plain, `[""]`, `{}`, "", "mismatch"},
		{plain, `[{}]`, `{"pk":null}`, "", "mismatch"},
		{plain, `[]`, `{}`, "", "mismatch"},
		{plain, `["a","a"]`, `{"pk":"a"}`, "", "mismatch"},
		{&system, "", `{}`, `[{}]`, ""},
		{&system, `[]`, `{}`, `[{}]`, ""},
		{&system, `[{}]`, `{}`, `[{}]`, ""},
		{&system, `[]`, `{"_partitionKey":"x"}`, "", "mismatch"},
		{&system, `["x"]`, `{"_partitionKey":"x"}`, `["x"]`, ""},
		{&system, `[null]`, `{}`, "", "mismatch"},
		{tree, `["a",1]`, `{"p0":"a","p1":1}`, `["a",1]`, ""},
		{tree, `["a",{}]`, `{"p0":"a"}`, `["a",{}]`, ""},
		{tree, `["a"]`, `{"p0":"a","p1":1}`, "", "mismatch"},
		{plain, "", `{"pk":"` + strings.Repeat("x", 2048) + `"}`, `["` + strings.Repeat("x", 2048) + `"]`, ""},
		{plain, "", `{"pk":"` + strings.Repeat(`\u0041`, 2048) + `"}`, `["` + strings.Repeat("A", 2048) + `"]`, ""},
		{plain, "", `{"pk":"` + strings.Repeat("x", 2049) + `"}`, "", "size"},
		{tree, "", `{"p0":"` + strings.Repeat("x", 1025) + `","p1":"` + strings.Repeat("x", 1025) + `"}`, "", "size"},
	} {
		var given PartitionKey
		if c.given != "" {
			given = parsedKey(t, c.given)
		}
		k, err := c.d.KeyOf(given, []byte(c.body))
		if got := faultOf(err); got != c.fault || err == nil && k.String() != c.want {
			t.Errorf("%s for %.60s: %.60s, %v; want %.60s %s", c.given, c.body, k, err, c.want, c.fault)
		}
	}
}

func faultOf(err error) string {
	switch {
	case err == nil:
		return ""
	case fault.ErrorCode(err) == fault.CodePartitionKeyMismatch:
		return "mismatch"
	case fault.ErrorCode(err) == fault.CodeBadRequest && strings.Contains(err.Error(), "size limit"):
		return "size"
	case fault.ErrorCode(err) == fault.CodeBadRequest:
		return "refused"
	}
	return err.Error()
}

func TestFullKeyAndScopeKey(t *testing.T) {
	plain := &PartitionKeyDefinition{Paths: []string{"/pk"}}
	byID := &PartitionKeyDefinition{Paths: []string{"/id"}}
	var system PartitionKeyDefinition
	tree := definition(t, KindMultiHash, 3)
	for _, d := range []*PartitionKeyDefinition{plain, byID, &system} {
		d.EnsureDefaults()
	}
	for _, c := range []struct {
		name         string
		d            *PartitionKeyDefinition
		given        string
		item, scoped string // the key, or a word of the error
	}{
		{"plain", plain, `["a"]`, `["a"]`, `["a"]`},
		{"plain", plain, ``, "refused", "mismatch"},
		{"plain", plain, `[]`, "mismatch", "mismatch"},
		{"plain", plain, `["a","b"]`, "mismatch", "mismatch"},
		{"plain", plain, `["` + strings.Repeat("x", 2049) + `"]`, "size", "size"},
		{"by id", byID, ``, `["the id"]`, "mismatch"},
		{"by id", byID, `["x"]`, `["x"]`, `["x"]`},
		{"system", &system, ``, `[{}]`, `[{}]`},
		{"system", &system, `[]`, `[{}]`, `[{}]`},
		{"system", &system, `[{}]`, `[{}]`, `[{}]`},
		{"tree", tree, `["a",1,{}]`, `["a",1,{}]`, `["a",1,{}]`},
		{"tree", tree, `["a"]`, "mismatch", `["a"]`},
		{"tree", tree, `["a",1,2,3]`, "mismatch", "mismatch"},
	} {
		var given PartitionKey
		if c.given != "" {
			given = parsedKey(t, c.given)
		}
		item, err := c.d.FullKey(given, "the id")
		if got := item.String() + faultOf(err); !strings.HasSuffix(got, c.item) {
			t.Errorf("%s, %.20s, an item: %.60s, want %s", c.name, c.given, got, c.item)
		}
		scoped, err := c.d.ScopeKey(given)
		if got := scoped.String() + faultOf(err); !strings.HasSuffix(got, c.scoped) {
			t.Errorf("%s, %.20s, a partition: %.60s, want %s", c.name, c.given, got, c.scoped)
		}
	}
}

// TestStorageOrder checks that the encodings of partition keys in storage keys, compared bytewise, have
// the order in which the keys compare component by component.
func TestStorageOrder(t *testing.T) {
	value := rapid.OneOf(
		rapid.Just(jsondoc.Value{}), rapid.Just(jsondoc.NullValue()),
		rapid.Map(rapid.Bool(), jsondoc.BoolValue),
		rapid.Map(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), jsondoc.NumberValue),
		rapid.Map(rapid.StringN(0, 3, -1), jsondoc.StringValue),
	)
	key := rapid.Map(rapid.SliceOfN(value, 2, 2), func(v []jsondoc.Value) PartitionKey { return NewPartitionKey(v...) })
	rapid.Check(t, func(t *rapid.T) {
		a, b := key.Draw(t, "a"), key.Draw(t, "b")
		want := jsondoc.Compare(a.Values()[0], b.Values()[0])
		if want == 0 {
			want = jsondoc.Compare(a.Values()[1], b.Values()[1])
		}
		if got := bytes.Compare(a.AppendOrdered(nil), b.AppendOrdered(nil)); got != want {
			t.Fatalf("%s and %s compare as %d, want %d", a, b, got, want)
		}
		if (a.String() == b.String()) != (want == 0) {
			t.Fatalf("%s and %s", a, b)
		}
	})
}

func FuzzPartitionKey(f *testing.F) {
	for _, s := range []string{`[]`, `[{}]`, `["a",1,null,true]`, `["\ud800"]`, `[1e308,-0]`, `[[1]]`, `["\u0000"]`} {
		f.Add([]byte(s))
	}
	v1 := &PartitionKeyDefinition{Paths: []string{"/a"}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		k, err := ParsePartitionKey(raw)
		if err != nil {
			if fault.ErrorCode(err) != fault.CodeBadRequest {
				t.Fatal(err)
			}
			return
		}
		again, err := ParsePartitionKey([]byte(k.String()))
		if err != nil || again.String() != k.String() || !bytes.Equal(again.AppendOrdered(nil), k.AppendOrdered(nil)) ||
			!bytes.Equal(EPK(v1, again), EPK(v1, k)) {
			t.Fatalf("%q prints as %q, which reads as %q, %v", raw, k, again, err)
		}
	})
}
