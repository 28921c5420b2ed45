package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, raw, body, id, ttl string }{
		{"empty", `{}`, `{}`, "", ""},
		{"blanks", " \r\n\t{ \"a\" :\n[ 1 , { } , [ ] ] , \"b\":\"x  y\" } \n", `{"a":[1,{},[]],"b":"x  y"}`, "", ""},
		{"order and spelling", `{"z":1.50,"a":1E+2,"n":9007199254740993,"s":"\u0041\/"}`,
			`{"z":1.5,"a":100,"n":9007199254740993,"s":"\u0041\/"}`, "", ""},
		{"id and ttl", `{"id":"a","ttl":60}`, `{"id":"a","ttl":60}`, `"a"`, "60"},
		{"id and ttl of any kind", `{ "ttl" : [ 1, 2 ], "id" : null }`, `{"ttl":[1,2],"id":null}`, "null", "[1,2]"},
		{"id and ttl with escapes", `{"\u0069d":1,"t\u0074l":-1}`, `{"\u0069d":1,"t\u0074l":-1}`, "1", "-1"},
		{"id and ttl deeper", `{"a":{"id":1,"ttl":2}}`, `{"a":{"id":1,"ttl":2}}`, "", ""},
		{"system first", `{"_rid":"x","_self":1,"a":1}`, `{"a":1}`, "", ""},
		{"system last", `{"a":1,"_etag":null,"_ts":5}`, `{"a":1}`, "", ""},
		{"system between", `{"a":1, "_attachments" : { "x" : [ 1 ] } ,"b":2,"_lsn":7,"id":"i"}`, `{"a":1,"b":2,"id":"i"}`, `"i"`, ""},
		{"system only", ` { "_rid" : 1 , "_ts" : 2 } `, `{}`, "", ""},
		{"system with escapes", `{"\u005frid":1,"_\u0074s":2,"a":3}`, `{"a":3}`, "", ""},
		{"system deeper", `{"a":{"_rid":1},"b":[{"_ts":2}]}`, `{"a":{"_rid":1},"b":[{"_ts":2}]}`, "", ""},
		{"nearly system", `{"_RID":1,"_rid2":2,"_":3,"rid":4}`, `{"_RID":1,"_rid2":2,"_":3,"rid":4}`, "", ""},
		{"names in use twice, not in one object", `{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}`, `{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}`, "", ""},
		{"empty name", `{"":{"":1}}`, `{"":{"":1}}`, "", ""},
		{"lone surrogate", `{"a":"\ud800","b":"\uDC00x"}`, `{"a":"\ud800","b":"\uDC00x"}`, "", ""},
		{"NUL", `{"a\u0000":"\u0000"}`, `{"a\u0000":"\u0000"}`, "", ""},
		{"numbers", `{"a":[0,-0,0.0,-1,10,1e5,1E-5,1.25e+30,1e308,-1.7976931348623157e308,1e-400]}`,
			`{"a":[0,-0.0,0,-1,10,100000,0.00001,1.25e+30,1e+308,-1.7976931348623157e+308,0]}`, "", ""},
		{"literals", `{"a":[true,false,null]}`, `{"a":[true,false,null]}`, "", ""},
		{"UTF-8", `{"ключ":"značení 漢字 😀` + "\u2028\uFFFD\U0010FFFF\x7f" + `"}`, `{"ключ":"značení 漢字 😀` + "\u2028\uFFFD\U0010FFFF\x7f" + `"}`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := mustParse(t, c.raw)
			if string(got.Body) != c.body || string(got.ID.Raw()) != c.id || string(got.TTL) != c.ttl {
				t.Errorf("got %s, id %s, ttl %s;\nwant %s, id %s, ttl %s", got.Body, got.ID.Raw(), got.TTL, c.body, c.id, c.ttl)
			}
			if (got.TTL == nil) != (c.ttl == "") || (got.ID.Kind() == Undefined) != (c.id == "") {
				t.Errorf("absence is not told from presence: id %v, ttl %v", got.ID.Kind(), got.TTL)
			}
			if err := Valid([]byte(c.raw), Limits{}); err != nil {
				t.Errorf("Valid: %v", err)
			}
		})
	}
}

// TestParseCopies checks that a ParsedDocument does not change when the buffer from which it was parsed
// changes.
func TestParseCopies(t *testing.T) {
	raw := []byte(`{"id":"a","ttl":5}`)
	p, err := Parse(raw, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	clear(raw)
	if string(p.Body) != `{"id":"a","ttl":5}` || p.ID.Str() != "a" || string(p.TTL) != "5" {
		t.Errorf("got %s, %s, %s", p.Body, p.ID.Raw(), p.TTL)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		raw       string
		line, col int
		reason    string
	}{
		{"", 1, 1, "the text ends where a value should be"},
		{" \n ", 2, 2, "the text ends where a value should be"},
		{"\uFEFF{}", 1, 1, "the text begins with a byte order mark"},
		{`{}\n`, 1, 3, `'\\' where the end of the text should be`},
		{`{"a":1} {`, 1, 9, "'{' where the end of the text should be"},
		{`{`, 1, 2, "the text ends where a name in quotes should be"},
		{`{a:1}`, 1, 2, "'a' where a name in quotes should be"},
		{`{"a"}`, 1, 5, "'}' where a colon should be"},
		{`{"a":}`, 1, 6, "'}' where a value should be"},
		{`{"a":1,}`, 1, 8, "'}' where a name in quotes should be"},
		{`{"a":1 "b":2}`, 1, 8, "'\"' where a comma or the end of the object should be"},
		{`{"a":{"b":1]}`, 1, 12, "']' where a comma or the end of the object should be"},
		{`{"a":1`, 1, 7, "the text ends where a comma or the end of the object should be"},
		{`[1,]`, 1, 4, "']' where a value should be"},
		{`[1}`, 1, 3, "'}' where a comma or the end of the array should be"},
		{"{\n  \"ä\": tru\n}", 2, 8, "'t' where a value should be"},
		{`[nul`, 1, 2, "'n' where a value should be"},
		{`[falsE]`, 1, 2, "'f' where a value should be"},
		{`[NaN]`, 1, 2, "'N' where a value should be"},
		{`['a']`, 1, 2, `'\'' where a value should be`},
		{`[/**/1]`, 1, 2, "'/' where a value should be"},
		{"[\x00]", 1, 2, `'\x00' where a value should be`},
		{"[1,\f2]", 1, 4, `'\f' where a value should be`},
		{`[+1]`, 1, 2, "'+' where a value should be"},
		{`[.5]`, 1, 2, "'.' where a value should be"},
		{`[-]`, 1, 3, "']' where a digit should be"},
		{`[-a]`, 1, 3, "'a' where a digit should be"},
		{`[01]`, 1, 3, "'1' where a comma or the end of the array should be"},
		{`[1.]`, 1, 4, "']' where a digit after the point should be"},
		{`[1e]`, 1, 4, "']' where a digit of the exponent should be"},
		{`[1e+`, 1, 5, "the text ends where a digit of the exponent should be"},
		{`[0x1]`, 1, 3, "'x' where a comma or the end of the array should be"},
		{`[1e999]`, 1, 2, "a number that is too large for a double"},
		{`[-1.8e308]`, 1, 2, "a number that is too large for a double"},
		{"[" + strings.Repeat("9", 400) + "]", 1, 2, "a number that is too large for a double"},
		{`["a`, 1, 4, "the text ends inside a string"},
		{`["a\`, 1, 4, "an escape that JSON does not have"},
		{`["\x41"]`, 1, 3, "an escape that JSON does not have"},
		{`["\u12"]`, 1, 3, "an escape that JSON does not have"},
		{`["\u12g4"]`, 1, 3, "an escape that JSON does not have"},
		{`["\'"]`, 1, 3, "an escape that JSON does not have"},
		{"[\"\xff\"]", 1, 3, "the string is not UTF-8"},
		{"[\"\xc3\"]", 1, 3, "the string is not UTF-8"},
		{"[\"\xed\xa0\x80\"]", 1, 3, "the string is not UTF-8"}, // a surrogate
		{"[\"\xc0\x80\"]", 1, 3, "the string is not UTF-8"},     // overlong
		{"{\"\xff\":1}", 1, 3, "the string is not UTF-8"},
		{"[\xff]", 1, 2, "'\uFFFD' where a value should be"},
	} {
		for what, err := range map[string]error{"Parse": second(Parse([]byte(c.raw), Limits{})), "Valid": Valid([]byte(c.raw), Limits{})} {
			var got *SyntaxError
			if !errors.As(err, &got) {
				t.Errorf("%s(%.50q): got %v, want a SyntaxError", what, c.raw, err)
				continue
			}
			want := SyntaxError{Offset: offsetOf(c.raw, c.line, c.col), Line: c.line, Col: c.col, Reason: c.reason}
			if diff := cmp.Diff(want, *got); diff != "" {
				t.Errorf("%s(%.50q):\n%s", what, c.raw, diff)
			}
		}
	}
}

// TestControlCharacters checks that Valid refuses control characters in strings, which Parse accepts.
func TestControlCharacters(t *testing.T) {
	for raw, want := range map[string]SyntaxError{
		"[\"a\nb\"]":  {Offset: 3, Line: 1, Col: 4, Reason: "the control character U+000A must be escaped in a string"},
		"[\"é\x1f\"]": {Offset: 4, Line: 1, Col: 4, Reason: "the control character U+001F must be escaped in a string"},
	} {
		var got *SyntaxError
		if err := Valid([]byte(raw), Limits{}); !errors.As(err, &got) || *got != want {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func second(_ ParsedDocument, err error) error { return err }

// offsetOf returns the offset in bytes of a line and a column of a text, both counted from 1; a column is
// one character.
func offsetOf(text string, line, col int) int {
	at := 0
	for ; line > 1; line-- {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	for range col - 1 {
		_, size := decodeFirst(text[at:])
		at += size
	}
	return at
}

func decodeFirst(s string) (r rune, size int) {
	for i, c := range s {
		if i > 0 {
			return r, i
		}
		r = c
	}
	return r, len(s)
}

// TestCompact checks the text that Compact and Parse return: shortest numbers, escaped control characters,
// and only the last of members with the same name. The result is valid and does not change if it is
// compacted again.
func TestCompact(t *testing.T) {
	for raw, want := range map[string]string{
		// Numbers.
		"1.0": "1", "0.0": "0", "-0.0": "-0.0", "-0": "-0.0", "-0e5": "-0.0", "-0.000": "-0.0", "[-0.0,0.0]": "[-0.0,0]", "10.50": "10.5", "1e2": "100", "1E2": "100", "1.5e0": "1.5", "-1.50": "-1.5",
		"0.1": "0.1", "0.000001": "0.000001", "0.0000001": "1e-7", "0.0000010": "0.000001", "1.0e-7": "1e-7", "123456789012345.5": "123456789012345.5",
		"0.10000000000000000555": "0.1", "1e21": "1e+21", "1e20": "100000000000000000000", "1e400000000000000000000000000000000000000000000000000000000000": "",
		"9007199254740993": "9007199254740993", "-9223372036854775808": "-9223372036854775808", "18446744073709551615": "18446744073709551615",
		"18446744073709551616": "18446744073709552000", "-9223372036854775809": "-9223372036854776000", "1" + strings.Repeat("0", 21): "1e+21",
		"9007199254740993.0": "9007199254740992", "0": "0", "5": "5", "-5": "-5", "129.95": "129.95", "[1.0 , 2.50,{\"a\":3.0}]": "[1,2.5,{\"a\":3}]",

		// Control characters.
		"\"a\tb\"": `"a\tb"`, "\"\r\n\"": `"\r\n"`, "\"\x00\x1f\x08\x0c\"": `"\u0000\u001f\b\f"`, "{\"a\tb\":\"\n\"}": `{"a\tb":"\n"}`,
		"[\"\\\"\t\",\n\t1.0]": `["\"\t",1]`, "\"\x7fé\t\"": "\"\x7fé\\t\"",

		// Names that occur twice.
		`{"a":1,"a":2}`: `{"a":2}`, `{"a":1,"b":2,"a":3}`: `{"b":2,"a":3}`, `{"a":1,"\u0061":2.0}`: `{"\u0061":2}`, `{"a":1,"a":2,"a":3,"b":4}`: `{"a":3,"b":4}`,
		` { "a" : 1 , "a" : { "b" : 1 , "c" : 2 , "b" : 3 } , "d" : [ { "e" : 1 , "e" : 2 } ] } `: `{"a":{"c":2,"b":3},"d":[{"e":2}]}`,
		`{"a":{"x":1,"x":2},"a":{}}`: `{"a":{}}`, `{"_rid":1,"_rid":2}`: `{"_rid":2}`, "{\"a\t\":1,\"a\\t\":2}": `{"a\t":2}`, `[{"":1,"":2},{}]`: `[{"":2},{}]`,
	} {
		got, err := Compact([]byte(raw), Limits{})
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %s, %v, want %s", raw, got, err, want)
		}
		if err != nil {
			continue
		}
		if err := Valid(got, Limits{}); err != nil {
			t.Errorf("%q gives %s: %v", raw, got, err)
		}
		if again, err := Compact(got, Limits{}); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s gives %s, %v", got, again, err)
		}
		p, err := Parse([]byte(`{"v":`+raw+`}`), Limits{})
		if err != nil || string(p.Body) != `{"v":`+want+`}` {
			t.Errorf("%q in a document: %s, %v", raw, p.Body, err)
		}
	}
	for raw, want := range map[string]string{
		`{"id":"a","ttl":1,"_ts":1,"ttl":2.0,"id":"b","_ts":2}`: `{"ttl":2,"id":"b"}`,
		`{"_ts":1,"_ts":2}`: `{}`, `{"_ts":1,"_ts":2,"id":"b","ttl":1e0,"ttl":2}`: `{"id":"b","ttl":2}`,
	} {
		p, err := Parse([]byte(raw), Limits{})
		if err != nil || string(p.Body) != want || want != "{}" && (p.ID.Str() != "b" || string(p.TTL) != "2") {
			t.Errorf("%s: %s, %s, %s, %v", raw, p.Body, p.ID.Raw(), p.TTL, err)
		}
	}
}

// TestCompactLimits checks the limits of a text with repeated names: its size is counted without the
// members that are dropped.
func TestCompactLimits(t *testing.T) {
	long := strings.Repeat("x", 60)
	if p, err := Parse([]byte(`{"a":"`+long+`","a":"`+long+`"}`), Limits{MaxBytes: 70}); err != nil {
		t.Errorf("%s, %v", p.Body, err)
	}
	var size *SizeError
	if p, err := Parse([]byte(`{"a":1,"a":"`+long+`","b":1}`), Limits{MaxBytes: 70}); !errors.As(err, &size) {
		t.Errorf("%s, %v", p.Body, err)
	}
	if p, err := Parse([]byte(`{"a":"`+strings.Repeat("\x01", 20)+`"}`), Limits{MaxBytes: 70}); !errors.As(err, &size) {
		t.Errorf("%s, %v", p.Body, err)
	}
	var syntax *SyntaxError
	if _, err := Parse([]byte(`{"a":1,"a":2,}`), Limits{}); !errors.As(err, &syntax) || syntax.Offset != 13 {
		t.Errorf("%v", err)
	}
	var depth *DepthError
	if _, err := Compact([]byte(`{"a":1,"a":[[]]}`), Limits{MaxDepth: 2}); !errors.As(err, &depth) {
		t.Errorf("%v", err)
	}
}

func TestDuplicates(t *testing.T) {
	many := func(n int, last string) string {
		return strings.TrimSuffix(manyMembers(n), "}") + "," + last + "}"
	}
	a, b := collision()
	for _, c := range []struct{ name, raw, dup string }{
		{"plain", `{"a":1,"a":2}`, "a"},
		{"escaped", `{"a":1,"\u0061":2}`, "a"},
		{"both escaped", `{"\u0061b":1,"a\u0062":2}`, "ab"},
		{"empty", `{"":1,"":2}`, ""},
		{"deep", `{"x":[{"y":{"a":1,"b":2,"a":3}}]}`, "a"},
		{"system", `{"_rid":1,"_rid":2}`, "_rid"},
		{"system, escaped", `{"_rid":1,"a":2,"_r\u0069d":3}`, "_rid"},
		// Both read as U+FFFD, so nobody could tell them apart by name.
		{"lone surrogates", `{"\ud800":1,"\ud801":2}`, "\uFFFD"},
		{"lone surrogate and what it reads as", `{"\ud800":1,"` + "\uFFFD" + `":2}`, "\uFFFD"},
		{"after an inner object", `{"a":{"b":1},"c":{"d":1,"e":2},"a":3}`, "a"},
		{"31st", many(30, `"k0":0`), "k0"},
		{"32nd", many(31, `"k0":0`), "k0"},
		{"33rd", many(32, `"k31":0`), "k31"},
		{"34th", many(33, `"k3\u0032":0`), "k32"},
		{"three times among many", many(100, `"k7":0,"k8":0,"k7":0`), "k7"},
		{"several among many, in one order", many(100, `"k7":0,"k8":0,"k9":0`), "k7"},
		{"several among many, in the other", many(100, `"k9":0,"k8":0,"k7":0`), "k9"},
		{"among many, below others", `{"x":{"y":` + many(100, `"k99":0`) + `}}`, "k99"},
		{"outer after many", `{"a":1,"x":` + manyMembers(100) + `,"a":2}`, "a"},
		{"200,001st", many(200_000, `"k0":0`), "k0"},
		{"with a collision", `{"` + a + `":1,"` + b + `":2,"` + a + `":3}`, a},
		{"with a collision among many", many(40, `"`+a+`":1,"`+b+`":2,"`+a+`":3`), a},
	} {
		t.Run(c.name, func(t *testing.T) {
			lim := Limits{MaxBytes: 8 << 20}
			err := Valid([]byte(c.raw), lim)
			var got *DuplicateNameError
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want a DuplicateError", err)
			}
			if got.Name != c.dup || c.raw[got.Offset] != '"' || !seenBefore(c.raw, got.Offset, c.dup) {
				t.Errorf("got %+v, want %q", *got, c.dup)
			}
			p, err := Parse([]byte(c.raw), lim)
			if err == nil {
				err = Valid(p.Body, lim)
			}
			want := unmarshal(t, []byte(c.raw)).(map[string]any)
			delete(want, "_rid")
			if err != nil || !reflect.DeepEqual(unmarshal(t, p.Body), any(want)) {
				t.Errorf("%.100s, %v", p.Body, err)
			}
		})
	}
	for _, raw := range []string{
		`{"` + a + `":1,"` + b + `":2}`,
		many(40, `"`+a+`":1,"`+b+`":2`),
		manyMembers(200_000),
	} {
		if _, err := Parse([]byte(raw), Limits{MaxBytes: 8 << 20}); err != nil {
			t.Errorf("%.40s: %v", raw, err)
		}
	}
}

// seenBefore reports whether the string at offset at of raw is name, and raw has the same string before
// it.
func seenBefore(raw string, at int, name string) bool {
	means := func(text string) bool {
		var s string
		return json.Unmarshal([]byte(text), &s) == nil && s == name
	}
	if !means(raw[at:skipString(raw, at)]) {
		return false
	}
	for i := 0; i < at; i++ {
		if raw[i] == '"' {
			end := skipString(raw, i)
			if means(raw[i:end]) {
				return true
			}
			i = end - 1
		}
	}
	return false
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	return "{" + b.String()[1:] + "}"
}

// collision returns two different names with the same hashName.
func collision() (a, b string) {
	seen := map[uint32]string{}
	for i := 0; ; i++ {
		s := fmt.Sprint("n", i)
		h := hashName([]byte(s))
		if a, ok := seen[h]; ok {
			return a, s
		}
		seen[h] = s
	}
}

func TestDepth(t *testing.T) {
	nest := func(n int) string { return strings.Repeat(`{"a":[`, n/2) + "1" + strings.Repeat(`]}`, n/2) }
	for _, c := range []struct {
		depth, max int
		ok         bool
	}{{128, 0, true}, {130, 0, false}, {4, 4, true}, {4, 3, false}, {100_000, 0, false}, {2000, 2000, true}} {
		raw := nest(c.depth)
		_, err := Parse([]byte(raw), Limits{MaxDepth: c.max})
		var got *DepthError
		if c.ok && err != nil || !c.ok && (!errors.As(err, &got) || got.Max != max(c.max, 1) && got.Max != DefaultMaxDepth) {
			t.Errorf("depth %d of %d: %v", c.depth, c.max, err)
		}
		if again := Valid([]byte(raw), Limits{MaxDepth: c.max}); !reflect.DeepEqual(again, err) {
			t.Errorf("Valid at depth %d of %d: %v", c.depth, c.max, again)
		}
	}
}

func TestSize(t *testing.T) {
	const limit = 100
	filled := func(n int) string { return `{"a":"` + strings.Repeat("x", n-len(`{"a":""}`)) + `"}` }
	for _, c := range []struct {
		name, raw    string
		parse, valid int // the size in the error, 0 where there is none
	}{
		{"at the limit", filled(100), 0, 0},
		{"over", filled(101), 101, 101},
		{"blanks do not count", filled(100) + strings.Repeat(" ", 100), 0, 0},
		{"nor inside", "{ " + filled(100)[1:], 0, 0},
		{"system properties do not count", `{"_self":"` + strings.Repeat("x", 80) + `",` + filled(100)[1:], 0, 191},
		{"twice the limit", strings.Repeat(" ", 100) + filled(101), 201, 201},
		{"twice the limit, though it is blank", strings.Repeat(" ", 199) + "{}", 201, 201},
	} {
		for what, got := range map[string]struct {
			err  error
			size int
		}{
			"Parse": {second(Parse([]byte(c.raw), Limits{MaxBytes: limit})), c.parse},
			"Valid": {Valid([]byte(c.raw), Limits{MaxBytes: limit}), c.valid},
		} {
			var size *SizeError
			if errors.As(got.err, &size) && (size.Size != got.size || size.Max != limit) || size == nil && got.size != 0 || size == nil && got.err != nil {
				t.Errorf("%s, %s: %v, want size %d", c.name, what, got.err, got.size)
			}
		}
	}
	if _, err := Parse([]byte(filled(DefaultMaxBytes)), Limits{}); err != nil {
		t.Errorf("2 MB: %v", err)
	}
	var size *SizeError
	if _, err := Parse([]byte(filled(DefaultMaxBytes+1)), Limits{}); !errors.As(err, &size) {
		t.Errorf("2 MB and 1: %v", err)
	}
}

func TestNotObject(t *testing.T) {
	for raw, kind := range map[string]Kind{"null": Null, " true ": Bool, "1": Number, `"a"`: String, "[{}]": Array} {
		_, err := Parse([]byte(raw), Limits{})
		var got *NotObjectError
		if !errors.As(err, &got) || got.Kind != kind {
			t.Errorf("Parse(%s): %v", raw, err)
		}
		if err := Valid([]byte(raw), Limits{}); err != nil {
			t.Errorf("Valid(%s): %v", raw, err)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		`invalid JSON at line 2, column 1: '!' where a value should be`:         second(Parse([]byte("\n!"), Limits{})),
		`the name "a" occurs twice in one object (again at offset 7)`:           Valid([]byte(`{"a":1,"a":2}`), Limits{}),
		`arrays and objects are nested more than 1 levels deep`:                 Valid([]byte(`[[]]`), Limits{MaxDepth: 1}),
		`2 bytes of JSON are more than the 1 allowed`:                           second(Parse([]byte(`{}`), Limits{MaxBytes: 1})),
		`a document must be a JSON object, not an array`:                        second(Parse([]byte(`[]`), Limits{})),
		`a document must be a JSON object, not a string`:                        second(Parse([]byte(`""`), Limits{})),
		`a document must be a JSON object, not null`:                            second(Parse([]byte(`null`), Limits{})),
		`invalid path "a" at offset 0: it must begin with a slash`:              pathErr("a"),
		`invalid ordered encoding, 1 bytes before its end: a number is cut off`: decodeErr([]byte{tagNumber}),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func pathErr(s string) error {
	_, err := ParsePath(s)
	return err
}

func decodeErr(b []byte) error {
	_, _, err := DecodeOrdered(b)
	return err
}

func indent(t testing.TB, raw string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(raw), "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestIndented(t *testing.T) {
	compact := sample(t)
	if got := string(mustParse(t, indent(t, compact)).Body); got != compact {
		t.Errorf("got %s\nwant %s", got, compact)
	}
}
