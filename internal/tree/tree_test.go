package tree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestJSONAndYAMLAgree checks that a YAML text, and the JSON text with the same content, are read as the
// same value.
func TestJSONAndYAMLAgree(t *testing.T) {
	for yaml, json := range map[string]string{
		"a: 1\nb: [x, 2.50, true, ~]\n":               `{"a":1,"b":["x",2.50,true,null]}`,
		"a:\n  b:\n    - c: 1\n      d: 2\n    - e\n": `{"a":{"b":[{"c":1,"d":2},"e"]}}`,
		"date: 2026-01-02\nno: no\nx: 0x10\ny: 1e3\n": `{"date":"2026-01-02","no":"no","x":16,"y":1e3}`,
		"s: |\n  one\n  two\nq: \"a\\tb\"\n":          `{"s":"one\ntwo\n","q":"a\tb"}`,
		"a: &x {p: 1}\nb: *x\nc:\n  <<: *x\n  q: 2\n": `{"a":{"p":1},"b":{"p":1},"c":{"q":2,"p":1}}`,
		"a: &x {p: 1}\nc:\n  <<: *x\n  p: 2\n":        `{"a":{"p":1},"c":{"p":2}}`,
		"a: !!str 5\n1: one\n":                        `{"a":"5","1":"one"}`,
		"# nothing\n- -1\n- {}\n- []\n- ''\n":         `[-1,{},[],""]`,
		"a:\nb: 2\n":                                  `{"a":null,"b":2}`,
	} {
		v, err := Parse("f.yaml", []byte(yaml))
		if err != nil {
			t.Errorf("%q: %v", yaml, err)
			continue
		}
		if got := string(v.AppendJSON(nil)); got != json {
			t.Errorf("%q is %s, not %s", yaml, got, json)
		}
		v, err = Parse("f.json", []byte(json))
		if err != nil || string(v.AppendJSON(nil)) != json {
			t.Errorf("%s: %v", json, err)
		}
		v.raw = nil
		all := v.Filter(func(string) bool { return true })
		if got := string(all.AppendJSON(nil)); v.Kind == Object && got != json {
			t.Errorf("%s is written as %s", json, got)
		}
	}
}

// TestErrorPositions checks the errors for malformed files: the file name, the line and the column in them.
func TestErrorPositions(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\n  b: 2\n":              "f.yaml:2:4: this is not YAML: ",
		"a: [1,\n":                    "f.yaml:2:1: this is not YAML: ",
		"a: 1\nb: 2\na: 3\n":          "f.yaml:3:1: 'a' is there a second time",
		"a: *none\n":                  "f.yaml:1:4: this is not YAML: unknown anchor",
		"a: .inf\n":                   "f.yaml:1:4: the number .inf cannot be said in JSON",
		"a: !!binary abc\n":           "f.yaml:1:4: a value of the tag !!binary",
		"x:\n  - a\n  - [1]\n  ? [1]": "f.yaml:",
		"a: 1\n---\nb: 2\n":           "f.yaml: one document of YAML is expected here, not 2",
		"{\"a\": 1,\n \"a\": 2}":      "f.json:2:2: 'a' is there a second time",
		"{\"a\": \n  nul}":            "f.json:2:6: this is not JSON: invalid character",
		"{\"a\": ":                    "f.json:1:7: the text ends in the middle of a value",
		"{} x":                        "f.json:1:4: something follows",
	} {
		name := "f.yaml"
		if text[0] == '{' {
			name = "f.json"
		}
		_, err := Parse(name, []byte(text))
		var e *ErrorAtFilePosition
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, not %s", text, err, want)
		}
	}
	v, err := ParseLine("f.ndjson", 3, []byte("  {\"b\":2}\r"))
	if err != nil || v.Place != (FilePosition{"f.ndjson", 3, 3}) {
		t.Errorf("%v %v", v, err)
	}
	if _, err := ParseLine("f.ndjson", 2, []byte("{,}")); err == nil ||
		!strings.HasPrefix(err.Error(), "f.ndjson:2:2: ") {
		t.Error(err)
	}
}

// TestNestedAliasLimit checks that a YAML text is refused if its nested aliases expand to too many values,
// or if a value contains an alias of itself.
func TestNestedAliasLimit(t *testing.T) {
	text := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		text += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "]\n"
	}
	if _, err := ParseYAML("f.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "aliases") {
		t.Error(err)
	}
	if _, err := ParseYAML("f.yaml", []byte("a: &x\n  - *x\n")); err == nil {
		t.Error("a value that has itself was read")
	}
}

type embeddedTestObject struct {
	Size int `json:"size"`
}

type testObject struct {
	embeddedTestObject
	Self  *Value               `json:"-" tree:"self"`
	Name  string               `json:"name" required:"true"`
	On    *bool                `json:"on"`
	Parts []embeddedTestObject `json:"parts"`
	Any   *Value               `json:"any"`
}

func TestDecode(t *testing.T) {
	v, err := Parse("f.yaml", []byte("name: n\nsize: 3\non: true\nparts:\n  - size: 4\nany: [1]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var o testObject
	if err := v.Decode(&o); err != nil || o.Self != v || o.Name != "n" || o.Size != 3 || !*o.On ||
		o.Parts[0].Size != 4 || o.Any.Kind != Array {
		t.Errorf("%+v %v", o, err)
	}
	const all = "size, name, on, parts, any"
	for text, want := range map[string]string{
		"size: 1":                           "f.yaml:1:1: 'name' is missing here",
		"name: 5":                           "f.yaml:1:7: a string is expected here, not a number",
		"name: n\nsiez: 1":                  "f.yaml:2:1: 'siez' is not known here: did you mean 'size'?",
		"name: n\nother: 1":                 "f.yaml:2:1: 'other' is not known here: there are " + all,
		"name: n\nparts:\n - size: 1.5":     "f.yaml:3:10: a whole number is expected here, not 1.5",
		"name: n\nparts: 1":                 "f.yaml:2:8: an array is expected here, not a number",
		"name: n\non: 1":                    "f.yaml:2:5: true or false is expected here, not a number",
		"- 1":                               "f.yaml:1:1: an object is expected here, not an array",
		"name: n\nparts:\n - 5\n - size: 1": "f.yaml:3:4: an object is expected here, not a number",
	} {
		v, err := Parse("f.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err = v.Decode(new(testObject)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, not %s", text, err, want)
		}
	}
}

func TestLocate(t *testing.T) {
	v, err := Parse("f.yaml", []byte("a: 1\nb:\n  - c: 1\n  - d: 2\n    bad: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	wrong := errors.New("wrong")
	place, path := v.Locate(func(v *Value) error {
		if strings.Contains(string(v.AppendJSON(nil)), "bad") {
			return wrong
		}
		return nil
	})
	if place.String() != "f.yaml:5:5" || path != "b[1].bad" {
		t.Errorf("%s %s", place, path)
	}
	calls := 0
	many := &Value{Kind: Array, List: slices.Repeat([]*Value{{}}, 1e4)}
	many.Locate(func(*Value) error { calls++; return wrong })
	if calls > maxLocate {
		t.Errorf("%d checks", calls)
	}
	if place, path = v.Locate(func(*Value) error { return wrong }); place != v.Place || path != "" {
		t.Errorf("%s %s", place, path)
	}
}

func FuzzYAML(f *testing.F) {
	for _, text := range []string{"a: 1", "- [a, {b: c}]", "a: &x 1\nb: *x", "? a\n: b",
		"<<: {a: 1}", "|\n x", "--- a\n--- b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseYAML("f", []byte(text))
		var e *ErrorAtFilePosition
		if err != nil && !errors.As(err, &e) {
			t.Error(err)
		}
		for _, v := range list {
			if _, err := ParseJSON("f", v.AppendJSON(nil)); err != nil {
				t.Errorf("%q became %s: %v", text, v.AppendJSON(nil), err)
			}
		}
	})
}

// TestAliasMemoryLimit checks that a YAML text is refused if its aliases repeat a long text, or many values,
// so often that the result takes too much memory.
func TestAliasMemoryLimit(t *testing.T) {
	for name, text := range map[string]string{
		"values": "a: &a '" + strings.Repeat("x", 1<<20) + "'\nb: [" + strings.Repeat("*a,", 20) + "]\n",
		"names": "a: &a {'" + strings.Repeat("x", 1<<20) + "': 1}\nb: [" + strings.Repeat("*a,", 20) +
			"]\n",
		"merged": "a: &a {x: &x '" + strings.Repeat("x", 1<<20) + "'}\nb: [" +
			strings.Repeat("{<<: *a},", 20) + "]\n",
		"many": "a: &a [" + strings.Repeat("x,", 10000) + "]\nb: [" + strings.Repeat("*a,", 30) + "]\n",
	} {
		_, err := ParseYAML("f.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), "aliases") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestManyMembers checks that a repeated name is found among 200,000 members without quadratic time, and
// that Locate makes few checks on such an object.
func TestManyMembers(t *testing.T) {
	const n = 200_000
	var json, yaml strings.Builder
	json.WriteString(`{"m":0`)
	for i := range n {
		fmt.Fprintf(&json, `,"m%d":1`, i)
		if i < n/10 {
			fmt.Fprintf(&yaml, "m%d: 1\n", i)
		}
	}
	json.WriteString(`,"m7":1}`)
	yaml.WriteString("<<: {m7: 2, n: 1}\nm9: 1\n")
	for name, text := range map[string]string{"f.json": json.String(), "f.yaml": yaml.String()} {
		_, err := Parse(name, []byte(text))
		if err == nil || !strings.Contains(err.Error(), "a second time") {
			t.Errorf("%s: %v", name, err)
		}
	}
	v, err := Parse("f.json", []byte(strings.Replace(json.String(), `,"m7":1}`, "}", 1)))
	if err != nil || len(v.Members) != n+1 {
		t.Fatal(err)
	}
	checks := 0
	v.Locate(func(*Value) error {
		checks++
		return errors.New("never right")
	})
	if checks > 2*maxLocateBytes/len(json.String()) {
		t.Errorf("%d checks of %d bytes", checks, json.Len())
	}
}
