package lang

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// testCall returns a CallContext with a fixed time and a random number generator that always returns 0.25.
func testCall() *CallContext {
	now := time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.UTC)
	return &CallContext{Now: now.Add(time.Hour), Static: now, Random: func() float64 { return 0.25 }}
}

func TestLookup(t *testing.T) {
	for name, registered := range map[string]string{
		"DateTimeAdd": "DATETIMEADD", "st_within": "ST_WITHIN", "StringEquals": "STRINGEQUALS",
		"STRING_EQUALS": "STRINGEQUALS",
		"ContainsAllCi": "CONTAINS_ALL_CI", "is_boolean": "IS_BOOL", "_FullTextScore": "_FULLTEXTSCORE",
		"Count": "COUNT", "RRF": "RRF", "FullTextScore": "FULLTEXTSCORE", "IntMultiply": "INTMUL",
	} {
		if b, ok := Lookup(name); !ok || b.Name != registered {
			t.Errorf("%s is %v", name, b)
		}
	}
	for _, name := range []string{"", "LEN", "COALESCE", "OBJECT_KEYS", "ArrayToObject", "ANY",
		"_REGEX_MATCH", "IntBitwiseLeftShift"} {
		if b, ok := Lookup(name); ok {
			t.Errorf("%q is %s", name, b.Name)
		}
	}
	for alias, name := range Aliases {
		if b := Builtins()[alias]; b == nil || b.Name != name {
			t.Errorf("the alias %s is %v, want %s", alias, b, name)
		}
	}
	for name, b := range Builtins() {
		if (b.Fn == nil) != (b.Class != ClassScalar) || b.Max >= 0 && b.Max < b.Min ||
			(b.Class == ClassAggregate) != (NewAggregate(b.Name) != nil) {
			t.Errorf("%s is %+v", name, b)
		}
		clock := strings.Contains(name, "CURRENT") || name == "NOW" || name == "AGO" || name == "RAND"
		if b.Volatile != clock {
			t.Errorf("%s is volatile: %v", name, b.Volatile)
		}
	}
	if b, _ := Lookup("SUBSTRING"); b.Accepts(2) || !b.Accepts(3) || b.Accepts(4) {
		t.Error("SUBSTRING takes three arguments")
	}
	if b, _ := Lookup("CONCAT"); b.Accepts(1) || !b.Accepts(200) {
		t.Error("CONCAT takes two arguments and more")
	}
}

func TestLikePrefix(t *testing.T) {
	for pattern, want := range map[string]string{
		"": " exact", "abc": "abc exact", "abc%": "abc", "%abc": "", "a_c": "a", "a[b]c": "a", "a^%b%": "a%b",
		"a[b": "a",
	} {
		text, exact := CompileLike(pattern, '^', true).Prefix()
		if exact {
			text += " exact"
		}
		if text != want {
			t.Errorf("%q begins with %q, want %q", pattern, text, want)
		}
	}
}

// TestLikeIsFast matches a LIKE pattern for which a matcher that backtracks would need exponential time.
func TestLikeIsFast(t *testing.T) {
	text := strings.Repeat("a", 20_000)
	if CompileLike(strings.Repeat("%a", 1000)+"b", 0, false).Match(&ResourceLimiter{}, []byte(text)) {
		t.Error("there is no b")
	}
}

// TestResultSizeLimit checks that functions whose result would exceed MaxText return undefined without
// building it.
func TestResultSizeLimit(t *testing.T) {
	c := testCall()
	megabyte := jsondoc.StringValue(strings.Repeat("ab", 1<<19))
	call := func(name string, args ...jsondoc.Value) jsondoc.Value {
		b, _ := Lookup(name)
		return b.Fn(c, args)
	}
	array := jsondoc.Of([]byte("[" + strings.Repeat(string(megabyte.Raw())+",", 4) + string(megabyte.Raw()) + "]"))
	for name, v := range map[string]jsondoc.Value{
		"CONCAT": call("CONCAT", megabyte, megabyte, megabyte, megabyte, megabyte),
		"||": OpConcat(jsondoc.StringValue(strings.Repeat("x", MaxText)),
			jsondoc.StringValue("x")),
		"REPLACE":         call("REPLACE", megabyte, jsondoc.StringValue("a"), megabyte),
		"REGEXREPLACEALL": call("REGEXREPLACEALL", megabyte, jsondoc.StringValue("a"), megabyte),
		"STRINGJOIN":      call("STRINGJOIN", array, jsondoc.StringValue("")),
		"STRINGSPLIT":     call("STRINGSPLIT", megabyte, jsondoc.StringValue("b")),
		"ARRAY_CONCAT":    call("ARRAY_CONCAT", array, array),
		"OBJECTTOARRAY":   call("OBJECTTOARRAY", jsondoc.Of([]byte(`{"a":1,"b":2,"c":3,"d":4,"e":5}`)), megabyte),
		"TOSTRING":        call("TOSTRING", array),
	} {
		if v.Kind() != jsondoc.Undefined && name != "STRINGSPLIT" {
			t.Errorf("%s made %d bytes", name, len(v.Raw()))
		}
	}
	if v := call("CONCAT", megabyte, megabyte); len(v.Str()) != 2<<20 {
		t.Errorf("2 MB are not too much, but became %v", v.Kind())
	}
}

// TestRegexTimeLimit checks that a regular expression with exponential backtracking ends at its time
// limit, with the result undefined and a *RegexTimeoutError.
func TestRegexTimeLimit(t *testing.T) {
	defer regexp2.StopTimeoutClock()
	b, _ := Lookup("REGEXMATCH")
	c := testCall()
	v := b.Fn(c, []jsondoc.Value{jsondoc.StringValue(strings.Repeat("a", 64) + "!"),
		jsondoc.StringValue("^(a+)+$")})
	var late *RegexTimeoutError
	if v.Kind() != jsondoc.Undefined || !errors.As(c.Err, &late) {
		t.Errorf("the match ended with %s, %v", v.Raw(), c.Err)
	}
}

func TestRegexCache(t *testing.T) {
	var cache RegexCache
	for i := range 10 * MaxRegexes {
		if re := cache.Get(RegexKey{Pattern: strings.Repeat("a", i)}); re == nil {
			t.Fatal("not compiled")
		}
	}
	if n := len(cache.Compiled); n == 0 || n > MaxRegexes {
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
		a := NewAggregate(c.name)
		for _, text := range strings.Fields(c.values) {
			raw := []byte(text)
			v := jsondoc.Of(raw)
			if text == "-" {
				v = Undefined
			}
			a.Add(v)
			if r := a.Result(); jsondoc.Valid(r.Raw(), jsondoc.Limits{}) != nil && r.Kind() != jsondoc.Undefined {
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
	if NewAggregate("RRF") != nil {
		t.Error("RRF is no aggregate")
	}
	for _, name := range []string{"MAKELIST", "MAKESET", "MAX"} {
		a := NewAggregate(name)
		a.Add(jsondoc.StringValue(strings.Repeat("a", 1000)))
		if n := a.Size(); n < 1000 || n > 3000 {
			t.Errorf("%s of 1000 bytes keeps %d", name, n)
		}
	}
}

func TestMultipliers(t *testing.T) {
	for options, want := range map[string]string{
		`{}`: "", `{"searchListSizeMultiplier":1}`: "",
		`{"searchListSizeMultiplier":100,"quantizedVectorListMultiplier":50}`: "",
		`{"searchListSizeMultiplier":0}`:                                      "searchListSizeMultiplier",
		`{"quantizedVectorListMultiplier":101}`:                               "quantizedVectorListMultiplier",
		`{"searchListSizeMultiplier":1.5}`:                                    "searchListSizeMultiplier",
		`{"searchListSizeMultiplier":"5"}`:                                    "searchListSizeMultiplier",
		`5`:                                                                   "",
	} {
		if name, v := BadMultiplier(jsondoc.Of([]byte(options))); name != want ||
			(name != "") != (v.Kind() != jsondoc.Undefined) {
			t.Errorf("%s: %q %s", options, name, v.Raw())
		}
	}
}
