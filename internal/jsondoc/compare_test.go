package jsondoc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// rising lists JSON texts in ascending order of their values. The texts in one line are equal values.
var rising = [][]string{
	{``},
	{`null`, ` null `},
	{`false`},
	{`true`},
	{`-1.7976931348623157e308`},
	{`-2`, `-2.0`, `-2e0`},
	{`-1.5`},
	{`-1e-300`},
	{`0`, `-0`, `0.0`, `-0e5`, `1e-999`},
	{`5e-324`},
	{`0.1`},
	{`1`, `1.0`, `10e-1`, `100E-2`},
	{`9007199254740992`, `9007199254740993`},
	{`9007199254740994`},
	{`1e308`},
	{`""`},
	{`"\u0000"`},
	{`"\u0000\u0000"`},
	{`"\u0000\u0001"`},
	{`"\u0000\u00ff"`},
	{`"\u0001"`},
	{`" "`},
	{`"10"`},
	{`"9"`},
	{`"A"`, `"\u0041"`},
	{`"Z"`},
	{`"a"`, `"\u0061"`},
	{`"a\u0000"`},
	{`"a\u0000b"`},
	{`"a\u0001"`},
	{`"a/"`, `"a\/"`},
	{`"aa"`},
	{`"b"`},
	{`"é"`, `"\u00e9"`, `"\u00E9"`},
	{`"漢"`},
	{`"\uE000"`},
	{"\"\uFFFD\"", `"\ud800"`, `"\udfff"`},
	{`"\uFFFF"`},
	{`"😀"`, `"\ud83d\ude00"`},
	{`[]`, `[ ]`},
	{`[null]`},
	{`[null,null]`},
	{`[null,[]]`},
	{`[false]`},
	{`[1]`, `[1.0]`, `[ 1 ]`},
	{`[1,null]`},
	{`[1,2]`},
	{`[2]`},
	{`[2,""]`},
	{`["a"]`, `["\u0061"]`},
	{`["a",1]`},
	{`["a\u0000"]`},
	{`["b"]`},
	{`[[]]`},
	{`[[],[]]`},
	{`[[1]]`},
	{`[{}]`},
	{`{}`, `{ }`},
	{`{"":1}`},
	{`{"":1,"a":1}`, `{"a":1,"":1}`},
	{`{"\u0000":0}`},
	{`{"a":null}`},
	{`{"a":1}`, `{ "a" : 1.0 }`, `{"\u0061":1}`},
	{`{"a":1,"b":1}`, `{"b":1,"a":1}`, `{"b":1e0, "\u0061":1}`},
	{`{"a":1,"b":2}`},
	{`{"a":1,"c":0}`},
	{`{"a":2}`},
	{`{"a":{}}`},
	{`{"a\u0000":0}`},
	{`{"aa":0}`},
	{`{"b":0}`},
}

// every calls fn with test values of all kinds in ascending order. Equal values have the same rank. Strings
// and numbers are passed twice: as a view on the text and as a value made by StringValue or NumberValue.
func every(fn func(rank int, v Value)) {
	for rank, line := range rising {
		for _, raw := range line {
			v := Of([]byte(raw))
			fn(rank, v)
			switch v.Kind() {
			case String:
				fn(rank, StringValue(v.Str()))
			case Number:
				fn(rank, NumberValue(v.Num()))
			}
		}
	}
}

func TestOrder(t *testing.T) {
	every(func(rankA int, a Value) {
		encodedA := AppendOrdered(nil, a)
		every(func(rankB int, b Value) {
			want := cmp.Compare(rankA, rankB)
			if got := Compare(a, b); got != want {
				t.Errorf("Compare(%s, %s) = %d, want %d", a.Raw(), b.Raw(), got, want)
			}
			if got := Equal(a, b); got != (want == 0) {
				t.Errorf("Equal(%s, %s) = %v", a.Raw(), b.Raw(), got)
			}
			if got := bytes.Compare(encodedA, AppendOrdered(nil, b)); got != want {
				t.Errorf("encoded, %s and %s compare as %d, want %d", a.Raw(), b.Raw(), got, want)
			}
		})
	})
}

// jsonText returns a generator of JSON texts, nested up to depth levels, in all spellings that JSON
// allows. The texts are made from few parts, so that equal values and prefixes of each other occur often.
func jsonText(depth int) *rapid.Generator[string] {
	blank := rapid.SampledFrom([]string{"", "", "", " ", "\n\t"})
	str := rapid.Custom(func(t *rapid.T) string {
		piece := rapid.SampledFrom([]string{"a", "b", `\u0061`, `\u0000`, `\u0001`, `\ud800`, `\udc00`, `\n`,
			`\\`, `\"`, "é", `\u00e9`, "😀", "\uFFFD", "\x7f", "]", "}"})
		text := `"`
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			text += piece.Draw(t, "piece")
		}
		return text + `"`
	})
	scalar := rapid.OneOf(str, str,
		rapid.SampledFrom([]string{"null", "true", "false", "0", "-0", "1", "1.0", "10e-1", "-1", "0.5",
			"1e300", "-1e-300", "12345678901234567890"}))
	if depth == 0 {
		return scalar
	}
	inner := jsonText(depth - 1)
	nested := rapid.Custom(func(t *rapid.T) string {
		object := rapid.Bool().Draw(t, "object")
		var text string
		seen := map[string]bool{}
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			elem := blank.Draw(t, "blank") + inner.Draw(t, "elem")
			if object {
				name := str.Draw(t, "name")
				if means := Of([]byte(name)).Str(); seen[means] {
					continue
				} else {
					seen[means] = true
				}
				elem = name + blank.Draw(t, "blank") + ":" + elem
			}
			if text != "" {
				text += ","
			}
			text += elem + blank.Draw(t, "blank")
		}
		if object {
			return "{" + text + "}"
		}
		return "[" + text + "]"
	})
	return rapid.OneOf(scalar, nested, nested)
}

// TestOrderOfRandomValues checks with random pairs of values that Compare, Equal and the bytes of
// AppendOrdered agree with each other, and Equal with encoding/json.
func TestOrderOfRandomValues(t *testing.T) {
	values := jsonText(3)
	rapid.Check(t, func(t *rapid.T) {
		a, b := values.Draw(t, "a"), values.Draw(t, "b")
		checkPair(t, []byte(a), []byte(b))
	})
}

type testReporter interface {
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// checkPair checks two valid JSON texts: their order by Compare, Equal and AppendOrdered, and that the
// encoding of the first can be decoded.
func checkPair(t testReporter, rawA, rawB []byte) {
	a, b := Of(rawA), Of(rawB)
	c := Compare(a, b)
	if Compare(b, a) != -c || Compare(a, a) != 0 {
		t.Errorf("Compare(%s, %s) = %d and back %d", rawA, rawB, c, Compare(b, a))
	}
	encodedA, encodedB := AppendOrdered(nil, a), AppendOrdered(nil, b)
	if got := bytes.Compare(encodedA, encodedB); got != c {
		t.Errorf("encoded, %s and %s compare as %d, as values %d", rawA, rawB, got, c)
	}
	if c != 0 && bytes.HasPrefix(encodedB, encodedA) {
		t.Errorf("the encoding of %s begins that of %s", rawA, rawB)
	}
	if low, high := KindBounds(a.Kind()); encodedA[0] < low || encodedA[0] >= high {
		t.Errorf("the encoding of %s is out of its bounds", rawA)
	}
	if same := reflect.DeepEqual(unmarshal(t, rawA), unmarshal(t, rawB)); same != Equal(a, b) {
		t.Errorf("Equal(%s, %s) = %v", rawA, rawB, !same)
	}
	back, rest, err := DecodeOrdered(append(encodedA, encodedB...))
	if err != nil || !bytes.Equal(rest, encodedB) || !Equal(back, a) {
		t.Fatalf("%s decodes to %s, %x, %v", rawA, back.Raw(), rest, err)
	}
	if err := Valid(back.Raw(), Limits{}); err != nil {
		t.Errorf("%s decodes to invalid text %s: %v", rawA, back.Raw(), err)
	}
}

func unmarshal(t testReporter, raw []byte) (v any) {
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("encoding/json refuses %q: %v", raw, err)
	}
	return v
}
