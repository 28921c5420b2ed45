package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// jsonTextValidity says whether a JSON text is valid and, if not, why: malformed, a duplicate name, too deep.
type jsonTextValidity string

const (
	fine      jsonTextValidity = "fine"
	malformed jsonTextValidity = "malformed"
	duplicate jsonTextValidity = "duplicate"
	tooDeep   jsonTextValidity = "too deep"
)

// judge checks a text by the rules of Valid, but with encoding/json and a map of names. It returns all
// rules that the text breaks. If the text is not JSON at all, the other rules cannot be checked, and
// readable is false.
func judge(raw []byte, maxDepth int) (wrong map[jsonTextValidity]bool, readable bool) {
	wrong = map[jsonTextValidity]bool{}
	if !json.Valid(raw) || !utf8.Valid(raw) {
		return map[jsonTextValidity]bool{malformed: true}, false
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	type level struct {
		names map[string]bool // nil in an array
		value bool            // whether a value comes next in an object
	}
	var open []level
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return wrong, true
		}
		if err != nil {
			return map[jsonTextValidity]bool{malformed: true}, false
		}
		top := len(open) - 1
		if token == json.Delim('}') || token == json.Delim(']') {
			open = open[:top]
			continue
		}
		if top >= 0 && open[top].names != nil {
			if name, ok := token.(string); ok && !open[top].value {
				if open[top].names[name] {
					wrong[duplicate] = true
				}
				open[top].names[name], open[top].value = true, true
				continue
			}
			open[top].value = false
		}
		switch token := token.(type) {
		case json.Number:
			if _, err := strconv.ParseFloat(token.String(), 64); err != nil {
				wrong[malformed] = true // the grammar is right, so it is the range
			}
		case json.Delim:
			if token == '{' {
				open = append(open, level{names: map[string]bool{}})
			} else {
				open = append(open, level{})
			}
			if len(open) > maxDepth {
				wrong[tooDeep] = true
			}
		}
	}
}

func verdictOf(err error) jsonTextValidity {
	var (
		syntax *SyntaxError
		dup    *DuplicateNameError
		depth  *DepthError
	)
	switch {
	case err == nil:
		return fine
	case errors.As(err, &syntax):
		return malformed
	case errors.As(err, &dup):
		return duplicate
	case errors.As(err, &depth):
		return tooDeep
	}
	return jsonTextValidity("unknown: " + err.Error())
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		``, `{}`, ` { "id" : "a" , "ttl" : 5 } `, `{"_rid":1,"a":2,"_ts":3}`, `{"\u005frid":1}`, `{"a":1,"\u0061":2}`,
		`{"a":"\ud800","b":"\ud83d\ude00\ud800\u0041"}`, `{"a":[1,-0,1.5e-7,1e999]}`, `[[[[[[]]]]]]`, `{"a":{"a":{"a":{"a":{}}}}}`,
		"{\"a\":\"\xff\"}", "\uFEFF{}", `{"a":1}x`, `{"a":tru}`, `{"a":1,}`, `[1,]`, `"`, `"\u12"`, `-`, `01`, `{"":{"":[]}}`,
		`{"a\u0000":"\u0000","b\n":"\/"}`, "{\"a\":\"\x01\"}", `[true,false,null]`, `{"_rid":{"a":1,"a":2}}`, `[1E400,"` + "\xed\xa0\x80" + `"]`,
		"\"\x00\"", "[1.50,\"\t\"]", "{\"a\t\":1e2,\"a\\t\":-0}", manyMembers(40), strings.TrimSuffix(
			manyMembers(40), "}") + `,"k5":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 1<<16 {
			return
		}
		lim := Limits{MaxDepth: 5}
		wrong, readable := judge(raw, lim.MaxDepth)
		check := func(what string, err error) {
			if got := verdictOf(err); (got == fine) != (len(wrong) == 0) || got != fine && readable &&
				!wrong[got] {
				t.Fatalf("%s(%q): %v, want one of %v", what, raw, err, wrong)
			}
		}
		err := Valid(raw, lim)
		check("Valid", err)
		checkPlace(t, raw, err)
		valid := err == nil
		wrong, readable = judge(escapeControls(raw), lim.MaxDepth)
		delete(wrong, duplicate)
		p, err := Parse(raw, lim)
		var notObject *NotObjectError
		if errors.As(err, &notObject) {
			if len(wrong) > 0 || notObject.Kind == Object || notObject.Kind != Of(raw).Kind() {
				t.Fatalf("Parse(%q): %v", raw, err)
			}
			return
		}
		check("Parse", err)
		if err == nil {
			checkParsed(t, escapeControls(raw), p, lim)
			if valid {
				checkTree(t, Of(raw), unmarshal(t, raw))
			}
		}
	})
}

// escapeControls returns a JSON text with the control characters in its strings escaped.
func escapeControls(raw []byte) (out []byte) {
	inside := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inside && c < ' ':
			out = appendControl(out, c)
			continue
		case inside && c == '\\' && i+1 < len(raw):
			out = append(out, c)
			i++
		case c == '"':
			inside = !inside
		}
		out = append(out, raw[i])
	}
	return out
}

func checkPlace(t *testing.T, raw []byte, err error) {
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		return
	}
	lines := bytes.Split(raw[:syntax.Offset], []byte("\n"))
	if syntax.Line != len(lines) || syntax.Col != utf8.RuneCount(lines[len(lines)-1])+1 ||
		syntax.Reason == "" {
		t.Fatalf("%q: the place %+v is wrong", raw, *syntax)
	}
}

// checkParsed checks p, the result of Parse for raw: its body is compact, has the content that
// encoding/json reads from raw without system properties, and stays the same when it is parsed again.
func checkParsed(t *testing.T, raw []byte, p ParsedDocument, lim Limits) {
	again, err := Parse(p.Body, lim)
	if err != nil || !bytes.Equal(again.Body, p.Body) || !bytes.Equal(again.TTL, p.TTL) ||
		!bytes.Equal(again.ID.Raw(), p.ID.Raw()) {
		t.Fatalf("%q gives %q, and that gives %q, %v", raw, p.Body, again.Body, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, p.Body); err != nil || compact.String() != string(p.Body) {
		t.Fatalf("%q gives %q, which is not compact", raw, p.Body)
	}
	want := unmarshal(t, raw).(map[string]any)
	maps.DeleteFunc(want, func(name string, _ any) bool { return IsSystem(name) })
	if got := unmarshal(t, p.Body); !reflect.DeepEqual(got, any(want)) {
		t.Fatalf("%q gives %q", raw, p.Body)
	}
	for name, got := range map[string]Value{"id": p.ID, "ttl": Of(p.TTL)} {
		value, ok := want[name]
		if ok != (got.Kind() != Undefined) || ok && !reflect.DeepEqual(unmarshal(t, got.Raw()), value) {
			t.Fatalf("%q gives %s %s", raw, name, got.Raw())
		}
	}
	rendered := SystemProperties{RID: "r", TS: 1}.Append(nil, p.Body)
	if back, err := Parse(rendered, lim); err != nil || !bytes.Equal(back.Body, p.Body) {
		t.Fatalf("%q is rendered as %q and comes back as %q, %v", p.Body, rendered, back.Body, err)
	}
	checkTree(t, Of(p.Body), any(want))
}

// checkTree checks that the methods of v, such as Num, Str and Each, return the content of want, which
// encoding/json has read from the same text.
func checkTree(t *testing.T, v Value, want any) {
	var same bool
	switch want := want.(type) {
	case nil:
		same = v.Kind() == Null
	case bool:
		same = v.Kind() == Bool && v.Bool() == want
	case float64:
		same = v.Kind() == Number && v.Num() == want
	case string:
		same = v.Kind() == String && v.Str() == want
	case []any:
		same = v.Kind() == Array && v.Len() == len(want)
		i := 0
		v.Each(func(key string, elem Value) bool {
			checkTree(t, elem, want[i])
			i++
			return key == ""
		})
	case map[string]any:
		same = v.Kind() == Object && v.Len() == len(want)
		v.Each(func(key string, elem Value) bool {
			checkTree(t, elem, want[key])
			p := PathOf(key)
			for _, got := range []Value{v.Member(key), v.Get(p), walkPath(v.text, p)} {
				if !bytes.Equal(got.Raw(), elem.Raw()) {
					t.Fatalf("the member %q of %s is %q", key, v.Raw(), got.Raw())
				}
			}
			return true
		})
	}
	if !same {
		t.Fatalf("%s reads as %v", v.Raw(), want)
	}
}

func FuzzOrdered(f *testing.F) {
	for i := 1; i < len(rising); i++ {
		f.Add([]byte(rising[i-1][0]), []byte(rising[i][0]))
		f.Add([]byte(rising[i][len(rising[i])-1]), AppendOrdered(nil, Of([]byte(rising[i][0]))))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if Valid(a, Limits{}) == nil && Valid(b, Limits{}) == nil {
			checkPair(t, a, b)
		}
		// As an encoding, b is read back to the byte or refused.
		v, rest, err := DecodeOrdered(b)
		var encoding *OrderedEncodingError
		if err != nil && (!errors.As(err, &encoding) || encoding.Left < 0 || encoding.Left > len(b)) {
			t.Fatalf("DecodeOrdered(%x): %v", b, err)
		}
		if err == nil {
			if again := AppendOrdered(nil, v); !bytes.Equal(append(again, rest...), b) {
				t.Fatalf("%x decodes to %s, and that is %x", b, v.Raw(), again)
			}
		}
		escaped := AppendEscaped(nil, a)
		if s, rest, err := DecodeEscaped(append(escaped, b...)); err != nil || !bytes.Equal(s, a) ||
			!bytes.Equal(rest, b) {
			t.Fatalf("%q escaped decodes to %q, %q, %v", a, s, rest, err)
		}
		if got := bytes.Compare(escaped, AppendEscaped(nil, b)); got != bytes.Compare(a, b) {
			t.Fatalf("escaped, %q and %q compare as %d", a, b, got)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{
		`/a`, `/a/b`, `/"a-b"/c`, `/""`, `/"\"\\"`, `/"a/b"`, `/0/1`, "/\uFFFD", `/@this/a`, `/a.b/*`, `/a/`, `//`, `/"a`, `/"a"b`, `/a"b`, "/\xff", `/😀`,
	} {
		f.Add(s, `{"a":{"b":1},"":[{"a":1}],"a-b":{"c":"x"}}`)
	}
	f.Add(`/a/0/b`, `{"a":[{"b":1}]}`)
	f.Add(`/AA`, `{"\u0041\u0041":"\ud800\u0041"}`)
	f.Add("/\uFFFDA", `{"\ud800\u0041":1}`)
	f.Fuzz(func(t *testing.T, s, text string) {
		p, err := ParsePath(s)
		if err != nil {
			var path *PathError
			if !errors.As(err, &path) || path.Path != s || path.Offset < 0 || path.Offset > len(s) ||
				path.Reason == "" {
				t.Fatalf("ParsePath(%q): %v", s, err)
			}
			return
		}
		again, err := ParsePath(p.String())
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Fatalf("%q is written %q, and that is read as %q, %v", s, p, again, err)
		}
		// In a document that has the path, both ways lead to its end.
		built := "1"
		for i := len(p.Segments()) - 1; i >= 0; i-- {
			built = `{"":[{}],"x":"}",` + string(AppendString(nil, p.Segments()[i])) + ":" + built + "}"
		}
		if p.Segments()[0] != "" && p.Segments()[0] != "x" && Valid([]byte(built), Limits{}) == nil {
			if got := Get([]byte(built), p); string(got.Raw()) != "1" {
				t.Fatalf("%q of %s is %s", s, built, got.Raw())
			}
		}
		// In any other, both lead to the same.
		if Valid([]byte(text), Limits{}) == nil && Of([]byte(text)).Kind() == Object {
			if got, want := Get([]byte(text), p), walkPath(strings.TrimSpace(text),
				p); !bytes.Equal(got.Raw(), want.Raw()) {
				t.Fatalf("%q of %s is %s by gjson, %s by walking", s, text, got.Raw(), want.Raw())
			}
		}
	})
}
