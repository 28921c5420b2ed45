package jsondoc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		raw  string
		kind Kind
		text string // what Raw gives
	}{
		{"", Undefined, ""},
		{" \t\r\n", Undefined, ""},
		{"null", Null, "null"},
		{"true", Bool, "true"},
		{" false\n", Bool, "false"},
		{"0", Number, "0"},
		{" -1.50e+3 ", Number, "-1.50e+3"},
		{`"a\u0062"`, String, `"a\u0062"`},
		{" [ 1 , 2 ] ", Array, "[ 1 , 2 ]"},
		{`{"a":1}`, Object, `{"a":1}`},
	} {
		v := Of([]byte(c.raw))
		if v.Kind() != c.kind || string(v.Raw()) != c.text || string(v.AppendJSON([]byte("x"))) != "x"+
			c.text {
			t.Errorf("Of(%q) = %v %q, want %v %q", c.raw, v.Kind(), v.Raw(), c.kind, c.text)
		}
	}
	if v := Of(nil); v.Kind() != Undefined || v.Raw() != nil {
		t.Errorf("Of(nil) = %v %q", v.Kind(), v.Raw())
	}
}

func TestKindString(t *testing.T) {
	var names []string
	for k := Undefined; k <= Object+1; k++ {
		names = append(names, k.String())
	}
	want := "undefined null boolean number string array object Kind(7)"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestStr(t *testing.T) {
	for raw, want := range map[string]string{
		`""`:                                   "",
		`"plain"`:                              "plain",
		`"Köln 😀"`:                             "Köln 😀",
		`"\"\\\/\b\f\n\r\t"`:                   "\"\\/\b\f\n\r\t",
		`"\u0000\u00e9\u20AC"`:                 "\x00é€",
		`"\ud83d\ude00!"`:                      "😀!",
		`"\ud800"`:                             "\uFFFD",
		`"\ud800\u0041"`:                       "\uFFFDA",
		`"\udc00\ud800x"`:                      "\uFFFD\uFFFDx",
		`"\ud800\ud83d\ude00"`:                 "\uFFFD😀",
		`"\ud800\n"`:                           "\uFFFD\n",
		`"\\u0041"`:                            `\u0041`,
		`"back\\"`:                             `back\`,
		`"` + strings.Repeat("\\n", 100) + `"`: strings.Repeat("\n", 100),
	} {
		v := Of([]byte(raw))
		if got := v.Str(); got != want {
			t.Errorf("%s reads %q, want %q", raw, got, want)
		}
		if got := string(v.AppendStr([]byte("x"))); got != "x"+want {
			t.Errorf("%s appends %q, want %q", raw, got, "x"+want)
		}
		var std string
		if err := json.Unmarshal([]byte(raw), &std); err != nil || std != want {
			t.Errorf("%s: the table says %q, encoding/json %q, %v", raw, want, std, err)
		}
	}
}

// TestValueLifetime checks that Str and Clone return copies, which do not change with the buffer of the
// value, and that a Value itself is a view on that buffer.
func TestValueLifetime(t *testing.T) {
	raw := []byte(`{"a":"old","b":[1]}`)
	v := Of(raw)
	s, clone := v.Member("a").Str(), v.Clone()
	copy(raw, `{"a":"new","b":[2]}`)
	if s != "old" || string(clone.Raw()) != `{"a":"old","b":[1]}` {
		t.Errorf("the copies changed: %q, %s", s, clone.Raw())
	}
	if got := v.Member("a").Str(); got != "new" {
		t.Errorf("the view reads %q", got)
	}
}

func TestNum(t *testing.T) {
	for raw, want := range map[string]float64{
		"0": 0, "-0": 0, "7": 7, "-12": -12, "999999999999999": 999999999999999, "-99999999999999": -99999999999999,
		"9007199254740993": 9007199254740992, "9999999999999999999": 1e19, "1.5": 1.5, "1E2": 100, "-1e-2": -0.01, "1e-999": 0,
		"123456789012345678901234567890": 123456789012345678901234567890,
	} {
		if got := Of([]byte(raw)).Num(); got != want {
			t.Errorf("%s reads %v, want %v", raw, got, want)
		}
	}
}

// TestWrongKind checks that a method for another kind of value, such as Num of a string, returns the zero
// value.
func TestWrongKind(t *testing.T) {
	for _, raw := range []string{"", "null", "true", "1", `"s"`, "[1]", `{"a":1}`} {
		v := Of([]byte(raw))
		if v.Kind() != String && (v.Str() != "" || len(v.AppendStr(nil)) != 0) {
			t.Errorf("Str of %s is %q", raw, v.Str())
		}
		if v.Kind() != Number && v.Num() != 0 {
			t.Errorf("Num of %s is %v", raw, v.Num())
		}
		if v.Kind() != Bool && v.Bool() {
			t.Errorf("Bool of %s is true", raw)
		}
		if v.Kind() != Array && v.Kind() != Object {
			v.Each(func(string, Value) bool { t.Errorf("Each of %s found something", raw); return true })
		}
		if v.Kind() != Object && v.Member("a").Kind() != Undefined {
			t.Errorf("%s has a member", raw)
		}
	}
}

func TestConstructedValues(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want string
	}{
		{NullValue(), "null"},
		{BoolValue(true), "true"},
		{BoolValue(false), "false"},
		{NumberValue(0), "0"},
		{NumberValue(math.Copysign(0, -1)), "0"},
		{NumberValue(-7), "-7"},
		{NumberValue(1 << 53), "9007199254740992"},
		{NumberValue(1e20), "100000000000000000000"},
		{NumberValue(1e21), "1e+21"},
		{NumberValue(0.000001), "0.000001"},
		{NumberValue(0.0000001), "1e-7"},
		{NumberValue(1.25e-10), "1.25e-10"},
		{NumberValue(0.1), "0.1"},
		{NumberValue(math.MaxFloat64), "1.7976931348623157e+308"},
		{NumberValue(math.SmallestNonzeroFloat64), "5e-324"},
		{StringValue(""), `""`},
		{StringValue("a\"\\/\b\f\n\r\t\x00\x1f\x7fé😀<&>"), `"a\"\\/\b\f\n\r\t\u0000\u001f` + "\x7fé😀<&>" +
			`"`},
		{StringValue("a\xffb"), `"a` + "\uFFFD" + `b"`},
		{Value{}, ""},
	} {
		if got := string(c.v.Raw()); got != c.want {
			t.Errorf("rendered %q, want %q", got, c.want)
		}
		if back := Of([]byte(c.want)); !Equal(back, c.v) || back.Str() != c.v.Str() ||
			back.Num() != c.v.Num() || back.Bool() != c.v.Bool() ||
			string(c.v.AppendStr(nil)) != c.v.Str() {
			t.Errorf("%s does not read back", c.want)
		}
	}
}

// TestNotFinite checks that NaN and the infinities are compared and encoded as numbers, and become strings
// in JSON text.
func TestNotFinite(t *testing.T) {
	values := []Value{NumberValue(math.NaN()), NumberValue(math.Inf(-1)), NumberValue(-math.MaxFloat64),
		NumberValue(0),
		NumberValue(math.MaxFloat64), NumberValue(math.Inf(1)), StringValue("")}
	for i, v := range values {
		if n := v.Num(); i < 6 && (v.Kind() != Number || !math.IsNaN(n) && n != v.Clone().Num()) {
			t.Errorf("%s is %v %v", v.Raw(), v.Kind(), n)
		}
		for j, w := range values {
			if got := Compare(v, w); got != cmp.Compare(i, j) {
				t.Errorf("Compare(%s, %s) = %d", v.Raw(), w.Raw(), got)
			}
			if got := bytes.Compare(AppendOrdered(nil, v), AppendOrdered(nil, w)); got != cmp.Compare(i, j) {
				t.Errorf("the encodings of %s and %s compare as %d", v.Raw(), w.Raw(), got)
			}
		}
		if back, rest, err := DecodeOrdered(AppendOrdered(nil, v)); err != nil || len(rest) > 0 ||
			!Equal(back, v) {
			t.Errorf("%s decodes to %s, %v", v.Raw(), back.Raw(), err)
		}
	}
	text := fmt.Sprintf("%s %s %s", values[0].Raw(), values[1].Raw(), values[5].AppendJSON(nil))
	if text != `"NaN" "-Infinity" "Infinity"` {
		t.Errorf("rendered %s", text)
	}
	if odd := math.Float64frombits(0x7FF8_0000_0000_0123); !bytes.Equal(AppendOrdered(nil, NumberValue(odd)),
		AppendOrdered(nil, values[0])) {
		t.Error("two NaN are encoded differently")
	}
}

func TestEach(t *testing.T) {
	for raw, want := range map[string]string{
		`[]`:                                     "0",
		` [ ] `:                                  "0",
		`{ }`:                                    "0",
		`[1,[2,"]"],{"a":"}\""},""]`:             `4 =1 =[2,"]"] ={"a":"}\""} =""`,
		"[ 1 ,\n[ 2 ] , true ]":                  `3 =1 =[ 2 ] =true`,
		`{"":1,"a\u0062":{"c":[]}, "d" : null }`: `3 =1 ab={"c":[]} d=null`,
	} {
		v := Of([]byte(raw))
		got := string(NumberValue(float64(v.Len())).Raw())
		v.Each(func(key string, elem Value) bool {
			got += " " + key + "=" + string(elem.Raw())
			return true
		})
		if got != want {
			t.Errorf("%s gives %s, want %s", raw, got, want)
		}
	}
	calls := 0
	Of([]byte(`[1,2,3]`)).Each(func(string, Value) bool { calls++; return calls < 2 })
	if calls != 2 {
		t.Errorf("Each went on after false: %d calls", calls)
	}
}

// TestTruncatedText checks that the functions do not panic or loop on parts of a JSON text, which are
// invalid.
func TestTruncatedText(t *testing.T) {
	const text = `{"a":[1,{"b\u0041":"\ud83d\ude00\\"}," "],"c":{"d":true,"e":null}, "\u0063" : -1.5e3 }`
	p, quoted := PathOf("c", "d"), PathOf("a", "0")
	for n := range len(text) {
		for m := range n {
			v := Of([]byte(text[m:n]))
			dst := v.AppendStr(v.AppendJSON(nil))
			v.Each(func(key string, elem Value) bool {
				dst = append(elem.AppendStr(dst), key...)
				return true
			})
			if dst = AppendOrdered(dst, v); len(dst) <= len(v.Raw()) {
				t.Fatalf("%q: nothing was appended", text[m:n])
			}
			_, _, _ = Compare(v, Of([]byte(text))), v.Get(p), v.Get(quoted)
			_, _, _ = v.Num(), v.Bool(), v.Str()
		}
	}
}

func TestAllocations(t *testing.T) {
	raw := []byte(sample(t))
	body := mustParse(t, string(raw)).Body
	other := Of(body).Clone()
	status, address := mustPath(t, "/status"), mustPath(t, `/address/"street.name"`)
	system := SystemProperties{RID: "HpxDAIt3MtQBAAAAAAAAAA==", Self: "dbs/HpxDAA==/",
		ETag: `"00000000-0000-0000-0000-000000000001"`, TS: 1700000000, LSN: 7}
	dst := make([]byte, 0, 8192)
	for what, c := range map[string]struct {
		max float64
		fn  func()
	}{
		"Parse":         {1, func() { _, _ = Parse(raw, Limits{}) }},
		"Valid":         {0, func() { _ = Valid(raw, Limits{}) }},
		"Get":           {0, func() { Get(body, status) }},
		"Get, quoted":   {0, func() { Get(body, address) }},
		"System.Append": {0, func() { dst = system.Append(dst[:0], body) }},
		"AppendOrdered": {0, func() { dst = AppendOrdered(dst[:0], Of(body)) }},
		"Compare": {0, func() {
			Compare(Of(body), Get(body, status))
			Compare(Get(body, status),
				Get(other.Raw(), status))
		}},
		"Each": {0, func() {
			Of(body).Each(func(key string,
				elem Value) bool {
				return key != ""
			})
		}},
	} {
		if got := testing.AllocsPerRun(100, c.fn); got > c.max {
			t.Errorf("%s allocates %v times, want %v", what, got, c.max)
		}
	}
}

func mustParse(t testing.TB, raw string) ParsedDocument {
	t.Helper()
	p, err := Parse([]byte(raw), Limits{})
	if err != nil {
		t.Fatalf("Parse(%.100q): %v", raw, err)
	}
	return p
}

func mustPath(t testing.TB, s string) Path {
	t.Helper()
	p, err := ParsePath(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
