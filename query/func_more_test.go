package query

import (
	"errors"
	"strings"
	"testing"

	"github.com/dlclark/regexp2"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
)

func TestLookup(t *testing.T) {
	for name, registered := range map[string]string{
		"DateTimeAdd": "DATETIMEADD", "st_within": "ST_WITHIN", "StringEquals": "STRINGEQUALS", "STRING_EQUALS": "STRINGEQUALS",
		"ContainsAllCi": "CONTAINS_ALL_CI", "is_boolean": "IS_BOOL", "_FullTextScore": "_FULLTEXTSCORE",
		"Count": "COUNT", "RRF": "RRF", "FullTextScore": "FULLTEXTSCORE", "IntMultiply": "INTMUL",
	} {
		if b, ok := lang.LookupBuiltin(name); !ok || b.Name != registered {
			t.Errorf("%s is %v", name, b)
		}
	}
	for _, name := range []string{"", "LEN", "COALESCE", "OBJECT_KEYS", "ArrayToObject", "ANY",
		"_REGEX_MATCH", "IntBitwiseLeftShift"} {
		if b, ok := lang.LookupBuiltin(name); ok {
			t.Errorf("%q is %s", name, b.Name)
		}
	}
	for alias, name := range lang.Aliases {
		if b := lang.Builtins()[alias]; b == nil || b.Name != name {
			t.Errorf("the alias %s is %v, want %s", alias, b, name)
		}
	}
	for name, b := range lang.Builtins() {
		if (b.Fn == nil) != (b.Class != lang.ClassScalar) || b.Max >= 0 && b.Max < b.Min ||
			(b.Class == lang.ClassAggregate) != (lang.NewAggregate(b.Name) != nil) {
			t.Errorf("%s is %+v", name, b)
		}
		clock := strings.Contains(name, "CURRENT") || name == "NOW" || name == "AGO" || name == "RAND"
		if b.Volatile != clock {
			t.Errorf("%s is volatile: %v", name, b.Volatile)
		}
	}
	if b, _ := lang.LookupBuiltin("SUBSTRING"); b.Accepts(2) || !b.Accepts(3) || b.Accepts(4) {
		t.Error("SUBSTRING takes three arguments")
	}
	if b, _ := lang.LookupBuiltin("CONCAT"); b.Accepts(1) || !b.Accepts(200) {
		t.Error("CONCAT takes two arguments and more")
	}
}

func TestLikePrefix(t *testing.T) {
	for pattern, want := range map[string]string{
		"": " exact", "abc": "abc exact", "abc%": "abc", "%abc": "", "a_c": "a", "a[b]c": "a", "a^%b%": "a%b", "a[b": "a",
	} {
		text, exact := lang.CompileLike(pattern, '^', true).Prefix()
		if exact {
			text += " exact"
		}
		if text != want {
			t.Errorf("%q begins with %q, want %q", pattern, text, want)
		}
	}
}

// A pattern that makes backtracking matchers try for years.
func TestLikeIsFast(t *testing.T) {
	text := strings.Repeat("a", 20_000)
	if lang.CompileLike(strings.Repeat("%a", 1000)+"b", 0, false).Match(&lang.Meter{}, []byte(text)) {
		t.Error("there is no b")
	}
}

// What grows without end is undefined, and has not been built.
func TestGrowth(t *testing.T) {
	c := testCall()
	megabyte := doc.StringValue(strings.Repeat("ab", 1<<19))
	call := func(name string, args ...doc.Value) doc.Value {
		b, _ := lang.LookupBuiltin(name)
		return b.Fn(c, args)
	}
	array := arrayOf([]doc.Value{megabyte, megabyte, megabyte, megabyte, megabyte})
	for name, v := range map[string]doc.Value{
		"CONCAT":          call("CONCAT", megabyte, megabyte, megabyte, megabyte, megabyte),
		"||":              lang.OpConcat(doc.StringValue(strings.Repeat("x", lang.MaxText)), doc.StringValue("x")),
		"REPLACE":         call("REPLACE", megabyte, doc.StringValue("a"), megabyte),
		"REGEXREPLACEALL": call("REGEXREPLACEALL", megabyte, doc.StringValue("a"), megabyte),
		"STRINGJOIN":      call("STRINGJOIN", array, doc.StringValue("")),
		"STRINGSPLIT":     call("STRINGSPLIT", megabyte, doc.StringValue("b")),
		"ARRAY_CONCAT":    call("ARRAY_CONCAT", array, array),
		"OBJECTTOARRAY":   call("OBJECTTOARRAY", doc.Of([]byte(`{"a":1,"b":2,"c":3,"d":4,"e":5}`)), megabyte),
		"TOSTRING":        call("TOSTRING", array),
	} {
		if v.Kind() != doc.Undefined && name != "STRINGSPLIT" {
			t.Errorf("%s made %d bytes", name, len(v.Raw()))
		}
	}
	if v := call("CONCAT", megabyte, megabyte); len(v.Str()) != 2<<20 {
		t.Errorf("2 MB are not too much, but became %v", v.Kind())
	}
}

// A regular expression that would take ages gives up.
func TestRegexTimeLimit(t *testing.T) {
	defer regexp2.StopTimeoutClock()
	b, _ := lang.LookupBuiltin("REGEXMATCH")
	c := testCall()
	v := b.Fn(c, []doc.Value{doc.StringValue(strings.Repeat("a", 64) + "!"),
		doc.StringValue("^(a+)+$")})
	var late *lang.MatchError
	if v.Kind() != doc.Undefined || !errors.As(c.Err, &late) {
		t.Errorf("the match ended with %s, %v", v.Raw(), c.Err)
	}
}

func TestRegexCache(t *testing.T) {
	var cache lang.RegexCache
	for i := range 10 * lang.MaxRegexes {
		if re := cache.Get(lang.RegexKey{Pattern: strings.Repeat("a", i)}); re == nil {
			t.Fatal("not compiled")
		}
	}
	if n := len(cache.Compiled); n == 0 || n > lang.MaxRegexes {
		t.Errorf("the cache holds %d", n)
	}
}

func TestAggregates(t *testing.T) {
	for _, c := range []struct{ name, values, want string }{
		{"COUNT", "", "0"}, {"COUNT", "1 null - [] true", "4"},
		{"COUNTIF", "true false 1 - true", "2"},
		{"SUM", "", "0"}, {"SUM", "- -", "0"}, {"SUM", "1 2.5 -", "3.5"}, {"SUM", "1 null", ""}, {"SUM",
			`1 "x"`, ""}, {"SUM", "[1]", ""},
		{"AVG", "", ""}, {"AVG", "-", ""}, {"AVG", "1 2 - 6", "3"}, {"AVG", "1 true", ""},
		{"MIN", "", ""}, {"MIN", `null true 5 "str"`, "null"}, {"MAX", `null true 5 "str"`, `"str"`}, {"MIN",
			"true 1", "true"}, {"MAX", "true 1", "1"},
		{"MAX", "- 1", "1"}, {"MIN", "1 [1] 0", ""}, {"MAX", "1 {} 2", ""}, {"MIN", "2 1.0 1", "1.0"},
		{"MAKELIST", "", "[]"}, {"MAKELIST", `1 - "b" 1 {"a":[]}`, `[1,"b",1,{"a":[]}]`},
		{"MAKESET", "", "[]"}, {"MAKESET", `1 - 1.0 "b" {"a":1,"b":2} {"b":2,"a":1}`,
			`[1,"b",{"a":1,"b":2}]`},
	} {
		a := lang.NewAggregate(c.name)
		for _, text := range strings.Fields(c.values) {
			raw := []byte(text)
			v := doc.Of(raw)
			if text == "-" {
				v = lang.Undefined
			}
			a.Add(v)
			if r := a.Result(); doc.Valid(r.Raw(), doc.Limits{}) != nil && r.Kind() != doc.Undefined {
				t.Errorf("%s gives %s on the way", c.name, r.Raw())
			}
			for i := range raw { // the row is gone
				raw[i] = 'x'
			}
		}
		if got := string(a.Result().Raw()); got != c.want {
			t.Errorf("%s of %s is %s, want %s", c.name, c.values, got, c.want)
		}
	}
	if lang.NewAggregate("RRF") != nil {
		t.Error("RRF is no aggregate")
	}
	for _, name := range []string{"MAKELIST", "MAKESET", "MAX"} {
		a := lang.NewAggregate(name)
		a.Add(doc.StringValue(strings.Repeat("a", 1000)))
		if n := a.Size(); n < 1000 || n > 3000 {
			t.Errorf("%s of 1000 bytes keeps %d", name, n)
		}
	}
}

func TestMultipliers(t *testing.T) {
	for options, want := range map[string]string{
		`{}`: "", `{"searchListSizeMultiplier":1}`: "", `{"searchListSizeMultiplier":100,"quantizedVectorListMultiplier":50}`: "",
		`{"searchListSizeMultiplier":0}`: "searchListSizeMultiplier", `{"quantizedVectorListMultiplier":101}`: "quantizedVectorListMultiplier",
		`{"searchListSizeMultiplier":1.5}`: "searchListSizeMultiplier", `{"searchListSizeMultiplier":"5"}`: "searchListSizeMultiplier", `5`: "",
	} {
		if name, v := lang.BadMultiplier(doc.Of([]byte(options))); name != want ||
			(name != "") != (v.Kind() != doc.Undefined) {
			t.Errorf("%s: %q %s", options, name, v.Raw())
		}
	}
}

// Tests on strings, the most frequent functions in filters, need no memory.
func TestFunctionAllocations(t *testing.T) {
	c := testCall()
	body := doc.Of([]byte(`{"name":"Adventure Works Cycles","city":"K\u00f6ln","tags":["a","b","c"],"n":5,"at":"2024-10-10T14:40:20.1234567Z"}`))
	name, city, tags, n, at := body.Member("name"), body.Member("city"), body.Member("tags"), body.Member(
		"n"), body.Member("at")
	text := doc.StringValue("works")
	like := lang.CompileLike("%Works%", 0, false)
	fn := func(name string) func(*lang.Call, []doc.Value) doc.Value {
		b, _ := lang.LookupBuiltin(name)
		return b.Fn
	}
	contains, starts, length, array, abs, part := fn("CONTAINS"), fn("STARTSWITH"), fn("LENGTH"), fn(
		"ARRAY_CONTAINS"), fn("ABS"), fn("YEAR")
	three, two, one := []doc.Value{name, text, doc.BoolValue(true)}, []doc.Value{city,
		text}, []doc.Value{name}
	needle, number, date := []doc.Value{tags, doc.StringValue("c")}, []doc.Value{n}, []doc.Value{at}
	for what, f := range map[string]func(){
		"CONTAINS": func() { contains(c, three) }, "STARTSWITH": func() {
			starts(c,
				two)
		}, "LENGTH": func() { length(c, one) },
		"ARRAY_CONTAINS": func() { array(c, needle) }, "ABS": func() {
			abs(c,
				number)
		}, "YEAR": func() { part(c, date) },
		"LIKE": func() { lang.OpLike(c, name, like) }, "=": func() { eval.Same(name, text) }, "<": func() {
			eval.Ordered(n,
				n, -1, -1)
		}, "+": func() { lang.OpAdd(n, n) },
	} {
		if got := testing.AllocsPerRun(100, f); got > 0 {
			t.Errorf("%s allocates %v times", what, got)
		}
	}
}
