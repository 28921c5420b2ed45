package jsondoc

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// TestOrderedBytes checks the exact bytes of AppendOrdered. They are stored in keys and must never change.
func TestOrderedBytes(t *testing.T) {
	for _, c := range []struct{ raw, hex string }{
		{"", "10"},
		{"null", "20"},
		{"false", "30"},
		{"true", "31"},
		{"0", "40 8000000000000000"},
		{"-0", "40 8000000000000000"},
		{"1", "40 bff0000000000000"},
		{"-1", "40 400fffffffffffff"},
		{"1.5", "40 bff8000000000000"},
		{`""`, "50 0001"},
		{`"ab"`, "50 6162 0001"},
		{`"a\u0000b"`, "50 61 00ff 62 0001"},
		{`"é"`, "50 c3a9 0001"},
		{`[]`, "60 00"},
		{`[null,"a",[1]]`, "60 20 50610001 60 40bff0000000000000 00 00"},
		{`{}`, "70 00"},
		{`{"b":true,"":{}}`, "70 500001 7000 50620001 31 00"},
	} {
		want := strings.ReplaceAll(c.hex, " ", "")
		got := AppendOrdered([]byte("x"), Of([]byte(c.raw)))
		if hex.EncodeToString(got) != hex.EncodeToString([]byte("x"))+want {
			t.Errorf("%s is %x, want 78%s", c.raw, got, want)
		}
		back, rest, err := DecodeOrdered(append(got[1:], "more"...))
		if err != nil || string(rest) != "more" || !Equal(back, Of([]byte(c.raw))) {
			t.Errorf("%s decodes to %s, %q, %v", want, back.Raw(), rest, err)
		}
	}
}

func TestKindBounds(t *testing.T) {
	last := byte(0)
	for k := Undefined; k <= Object; k++ {
		low, high := KindBounds(k)
		if low < last || high <= low {
			t.Errorf("%v: [%x, %x) after %x", k, low, high, last)
		}
		last = high
	}
	every(func(_ int, v Value) {
		if low, high := KindBounds(v.Kind()); AppendOrdered(nil, v)[0] < low ||
			AppendOrdered(nil, v)[0] >= high {
			t.Errorf("%s is out of the bounds of %v", v.Raw(), v.Kind())
		}
	})
}

func TestDecodeOrderedErrors(t *testing.T) {
	for _, c := range []struct {
		hex    string
		left   int
		reason string
	}{
		{"", 0, "a value is missing"},
		{"00", 1, "no value begins with this byte"},
		{"80", 1, "no value begins with this byte"},
		{"40 80000000000000", 8, "a number is cut off"},
		{"40 7fffffffffffffff", 9, "a number is -0 or an unusual NaN"},
		{"40 fff8000000000000", 9, "a number is -0 or an unusual NaN"},
		{"40 0007fffffffffffe", 9, "a number is -0 or an unusual NaN"},
		{"60 40 fff0000000000000 00", 10, "an array or object holds a number that JSON does not have"},
		{"50", 0, "the end of a string is missing"},
		{"50 6162", 2, "the end of a string is missing"},
		{"50 61 00", 2, "the end of a string is missing"},
		{"50 61 00ff", 0, "the end of a string is missing"},
		{"50 61 0002", 2, "00 in a string must be followed by 01 or FF"},
		{"50 ff 0001", 4, "a string is not UTF-8"},
		{"60", 0, "a value is missing"},
		{"60 20", 0, "a value is missing"},
		{"60 10 00", 2, "an array or object holds undefined"},
		{"60 60 00", 0, "a value is missing"},
		{"70", 0, "a value is missing"},
		{"70 20 20 00", 3, "the names of an object must be strings in rising order"},
		{"70 500001 00", 1, "no value begins with this byte"},
		{"70 50620001 20 50610001 20 00", 6, "the names of an object must be strings in rising order"},
		{"70 50610001 20 50610001 20 00", 6, "the names of an object must be strings in rising order"},
		{strings.Repeat("60", maxOrderedDepth+1) + strings.Repeat("00", maxOrderedDepth+1),
			maxOrderedDepth + 2, "arrays and objects are nested too deeply"},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(c.hex, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		v, rest, err := DecodeOrdered(b)
		var got *OrderedEncodingError
		if !errors.As(err, &got) || *got != (OrderedEncodingError{c.left, c.reason}) {
			t.Errorf("%.40s: got %v, want %d left, %s", c.hex, err, c.left, c.reason)
		}
		if v.Kind() != Undefined || !bytes.Equal(rest, b) {
			t.Errorf("%.40s: got %v and %x beside the error", c.hex, v.Kind(), rest)
		}
	}
	deep := bytes.Repeat([]byte{tagArray}, maxOrderedDepth)
	if _, rest, err := DecodeOrdered(append(deep, make([]byte, maxOrderedDepth)...)); err != nil ||
		len(rest) != 0 {
		t.Errorf("at the greatest depth: %v", err)
	}
}

func TestEscaped(t *testing.T) {
	for _, c := range []struct{ s, escaped string }{
		{"", "\x00\x01"},
		{"ab", "ab\x00\x01"},
		{"\x00", "\x00\xff\x00\x01"},
		{"\x00\x00a\x00", "\x00\xff\x00\xffa\x00\xff\x00\x01"},
		{"\x01\xff\xfe", "\x01\xff\xfe\x00\x01"},
	} {
		got := AppendEscaped([]byte("x"), []byte(c.s))
		if string(got) != "x"+c.escaped {
			t.Errorf("%q is %q, want %q", c.s, got, "x"+c.escaped)
		}
		s, rest, err := DecodeEscaped(append(got[1:], "\x00more"...))
		if string(s) != c.s || string(rest) != "\x00more" || err != nil {
			t.Errorf("%q decodes to %q, %q, %v", c.escaped, s, rest, err)
		}
	}
	// What is appended to a decoded string must not run into what follows it.
	b := []byte("ab\x00\x01more")
	s, rest, _ := DecodeEscaped(b)
	if _ = append(s, "XXXX"...); string(rest) != "more" {
		t.Errorf("the rest became %q", rest)
	}
}
