package jsonbinary_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/jsondoc/jsonbinary"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// forms are pairs of binary JSON, in hexadecimal, and the same value as text. Every marker occurs in them.
var forms = []struct{ binary, text string }{
	{"D0", `null`}, {"D1", `false`}, {"D2", `true`},
	{"00", `0`}, {"1F", `31`}, {"C8 C8", `200`}, {"C9 18 FC", `-1000`}, {"CA 70 11 01 00", `70000`},
	{"CB 00 0E FA D5 FE FF FF FF", `-5000000000`}, {"C7 FE FF FF FF FF FF FF FF", `18446744073709551614`},
	{"CC 00 00 00 00 00 00 0C 40", `3.5`}, {"CC 00 00 00 00 00 00 24 40", `10`},
	{"CC 00 00 00 00 00 00 00 80", `-0.0`}, {"CD 00 00 00 80", `-0.0`}, {"CF 00 80", `-0.0`},
	{"D7 FF", `255`}, {"D8 FB", `-5`}, {"D9 18 FC", `-1000`}, {"DA 90 EE FE FF", `-70000`},
	{"DB 00 0E FA D5 FE FF FF FF", `-5000000000`}, {"DC FE FF FF FF", `4294967294`},
	{"CD 00 00 C0 3F", `1.5`}, {"CE 00 00 00 00 00 00 02 C0", `-2.25`},
	{"CF 00 3E", `1.5`}, {"CF 00 C0", `-2`}, {"CF 01 00", `5.960464477539063e-8`}, {"CF 00 00", `0`},

	{"20", `"$s"`}, {"2C", `"id"`}, {"3F", `"_id"`},
	{"80", `""`}, {"82 68 69", `"hi"`}, {"82 C3 A9", `"é"`}, {"83 61 22 0A", `"a\"\n"`},
	{"C0 05 68 65 6C 6C 6F", `"hello"`}, {"C1 02 00 68 69", `"hi"`}, {"C2 02 00 00 00 68 69", `"hi"`},
	{"75 10 32 54 76 98 BA DC FE 10 32 54 76 98 BA DC FE", `"01234567-89ab-cdef-0123-456789abcdef"`},
	{"76 10 32 54 76 98 BA DC FE 10 32 54 76 98 BA DC FE", `"01234567-89AB-CDEF-0123-456789ABCDEF"`},
	{"77 10 32 54 76 98 BA DC FE 10 32 54 76 98 BA DC FE", `"\"01234567-89ab-cdef-0123-456789abcdef\""`},
	{"71 01 00 66 6F 6F", `"Zm9v"`}, {"71 01 01 66 6F", `"Zm8="`}, {"71 01 02 41", `"QQ=="`}, {"71 01 FD 41",
		`"QQ"`}, {"71 01 FE 66 6F", `"Zm8"`},
	{"72 02 00 00 66 6F 6F 62 61 72", `"Zm9vYmFy"`}, {"71 01 00 FB FF FE", `"+//+"`}, {"73 01 00 FB FF FE",
		`"-__-"`}, {"74 01 00 00 FB FF FE", `"-__-"`},
	{"78 04 A1 B2", `"1a2b"`}, {"79 04 A1 B2", `"1A2B"`}, {"78 01 0F", `"f"`}, {"7A 07 13 53 1C 02",
		`"2024-01"`},
	{"7B 04 30 10 32", `"0123"`}, {"7C 03 61 20 08", `"abc"`}, {"7D 04 61 40 20 0C",
		`"abcd"`}, {"7E 02 C8 34", `"Hi"`}, {"7F 02 00 C8 34", `"Hi"`},
	{"D3 00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F", `"03020100-0504-0706-0809-0a0b0c0d0e0f"`},
	{"DD 04 DE AD BE EF", `"3q2+7w=="`}, {"DD 00", `""`}, {"DE 03 00 01 02 03",
		`"AQID"`}, {"DF 03 00 00 00 01 02 03", `"AQID"`},

	{"E0", `[]`}, {"E1 D2", `[true]`}, {"E2 03 00 01 D0", `[0,1,null]`}, {"E3 03 00 00 01 D0",
		`[0,1,null]`}, {"E4 03 00 00 00 00 01 D0", `[0,1,null]`},
	{"E5 03 03 00 01 D0", `[0,1,null]`}, {"E6 03 00 03 00 00 01 D0",
		`[0,1,null]`}, {"E7 03 00 00 00 03 00 00 00 00 01 D0", `[0,1,null]`},
	{"E8", `{}`}, {"E9 2C D2", `{"id":true}`}, {"EA 04 2C 00 3B 01",
		`{"id":0,"type":1}`}, {"EB 04 00 2C 00 3B 01", `{"id":0,"type":1}`},
	{"EC 04 00 00 00 2C 00 3B 01", `{"id":0,"type":1}`}, {"ED 04 02 2C 00 3B 01", `{"id":0,"type":1}`},
	{"EE 04 00 02 00 2C 00 3B 01", `{"id":0,"type":1}`}, {"EF 04 00 00 00 02 00 00 00 2C 00 3B 01",
		`{"id":0,"type":1}`},
	{"E2 05 E1 00 E9 2C 01", `[[0],{"id":1}]`},
	{"E2 05 82 68 69 C3 03", `["hi","hi"]`}, {"E2 06 82 68 69 C4 03 00",
		`["hi","hi"]`}, {"E2 07 82 68 69 C5 03 00 00", `["hi","hi"]`},
	{"E2 08 82 68 69 C6 03 00 00 00", `["hi","hi"]`}, {"EA 07 2C 82 68 69 C3 04 00",
		`{"id":"hi","hi":0}`}, {"E2 05 C3 05 82 68 69", `["hi","hi"]`},
	{"F0 DA 03 01 00 00 00 02 00 00 00 03 00 00 00", `[1,2,3]`}, {"F0 D7 03 0A 14 1E",
		`[10,20,30]`}, {"F0 DA 00", `[]`}, {"F0 D8 02 FF 01", `[-1,1]`},
	{"F1 D9 03 00 FF FF 00 00 E8 03", `[-1,0,1000]`}, {"F0 CD 02 00 00 C0 3F 00 00 80 BE",
		`[1.5,-0.25]`}, {"F0 CF 01 00 3E", `[1.5]`},
	{"F0 DB 01 FF FF FF FF FF FF FF FF", `[-1]`}, {"F0 DC 01 FF FF FF FF",
		`[4294967295]`}, {"F0 CE 01 00 00 00 00 00 00 02 C0", `[-2.25]`},
	{"F2 F0 DA 02 02 01 00 00 00 02 00 00 00 03 00 00 00 04 00 00 00",
		`[[1,2],[3,4]]`}, {"F3 F1 D7 02 00 02 00 01 02 03 04", `[[1,2],[3,4]]`}, {
		"F2 F0 D7 00 02", `[[],[]]`},
}

func TestAppendText(t *testing.T) {
	seen := map[byte]bool{}
	for _, f := range forms {
		binary := unhex(t, "80"+f.binary)
		seen[binary[1]] = true
		got, err := jsonbinary.AppendText([]byte("x"), binary, jsondoc.Limits{})
		if err != nil || string(got) != "x"+f.text {
			t.Errorf("%s: %s, %v, want %s", f.binary, got, err, f.text)
		}
		if err := jsondoc.Valid([]byte(f.text), jsondoc.Limits{}); err != nil {
			t.Errorf("%s: %v", f.text, err)
		}
		back, err := jsonbinary.AppendText(nil, jsonbinary.AppendBinary(nil, jsondoc.Of([]byte(f.text))),
			jsondoc.Limits{})
		if err != nil || !jsondoc.Equal(jsondoc.Of(back), jsondoc.Of([]byte(f.text))) {
			t.Errorf("%s there and back: %s, %v", f.text, back, err)
		}
		// Whatever is cut off is missed.
		for n := range binary {
			if n > 0 {
				expectFault(t, fmt.Sprintf("%s cut at %d", f.binary, n), binary[:n])
			}
		}
	}
	for marker := 0xC0; marker < 0xF4; marker++ { // all but the free ones and those that need company
		if free := marker == 0xD4 || marker == 0xD5 || marker == 0xD6; !seen[byte(marker)] && !free &&
			(marker < 0xC3 || marker > 0xC6) {
			t.Errorf("no form has the marker %#x", marker)
		}
	}
}

func expectFault(t *testing.T, what string, binary []byte) {
	t.Helper()
	got, err := jsonbinary.AppendText(nil, binary, jsondoc.Limits{})
	if fault := (*jsonbinary.Error)(nil); !errors.As(err, &fault) || fault.Offset > len(binary) {
		t.Errorf("%s: %s, %v, want an *Error", what, got, err)
	}
}

func TestMalformedBinary(t *testing.T) {
	for _, s := range []string{
		"", "7B 7D", "80", "80 D0 D0", "80 40", "80 5F", "80 60 00", "80 67 00", "80 68", "80 70", "80 D4", "80 D5", "80 D6", "80 F4", "80 FF",
		"80 82 FF FF", "80 81 80", "80 7C 01 E0 1F", // no UTF-8
		"80 78 01 1F",                                  // more than its length
		"80 71 01 03 41", "80 71 00 01", "80 71 01 FC", // padding
		// not finite
		"80 CC 00 00 00 00 00 00 F0 7F", "80 CC 00 00 00 00 00 00 F8 7F", "80 CD 00 00 80 7F", "80 CF 00 7C",
		// references
		"80 C3 00", "80 C3 01", "80 C3 7F", "80 E2 03 D0 C3 03", "80 E2 04 C3 05 C3 03", "80 C6 FF FF FF FF",
		"80 E2 05 00", "80 E2 01 C8 01", "80 E5 02 03 00 01", "80 E5 02 01 00 01", "80 ED 02 02 2C 00", "80 E4 FF FF FF FF", "80 E4 FF FF FF 7F",
		"80 EA 02 00 00", "80 E9 D0 00", "80 EA 01 2C", // names
		"80 F0 C8 01 00", "80 F0 D6 00", "80 F0 D0 01", "80 F2 F1 D7 01 01 00", "80 F2 E2 D7 01 01 00", "80 F3 F0 D7 01 00 01 00 00",
	} {
		expectFault(t, s, unhex(t, s))
	}
}

func TestLimits(t *testing.T) {
	for levels, fits := range map[int]bool{128: true, 129: false, 100_000: false} {
		deep := append(append([]byte{0x80}, bytes.Repeat([]byte{0xE1}, levels-1)...), 0xE0)
		_, err := jsonbinary.AppendText(nil, deep, jsondoc.Limits{})
		if depth := (*jsondoc.DepthError)(nil); fits != (err == nil) || !fits && !errors.As(err, &depth) {
			t.Errorf("%d levels: %v", levels, err)
		}
	}
	if _, err := jsonbinary.AppendText(nil, unhex(t, "80 F2 F0 D7 00 02"),
		jsondoc.Limits{MaxDepth: 1}); err == nil {
		t.Error("an array of arrays of numbers is one level")
	}

	long := append(unhex(t, "80 E4 00 00 00 00 C1 FF FF"), bytes.Repeat([]byte("a"), 0xFFFF)...)
	for range 2000 {
		long = append(long, 0xC3, 6)
	}
	n := len(long) - 6
	copy(long[2:], []byte{byte(n), byte(n >> 8), byte(n >> 16)})
	empty := unhex(t, "80 E4 00 00 00 00")
	for range 1000 {
		empty = append(empty, unhex(t, "F3 F1 D7 00 00 FF FF")...)
	}
	n = len(empty) - 6
	copy(empty[2:], []byte{byte(n), byte(n >> 8), byte(n >> 16)})
	escapes := append(unhex(t, "80 C2 40 42 0F 00"), make([]byte, 1_000_000)...)
	for name, b := range map[string][]byte{"references": long, "empty arrays": empty, "escapes": escapes} {
		got, err := jsonbinary.AppendText(nil, b, jsondoc.Limits{})
		if size := (*jsondoc.SizeError)(nil); !errors.As(err, &size) || size.Max != jsondoc.DefaultMaxBytes ||
			len(got) > 4*jsondoc.DefaultMaxBytes {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(b), err)
		}
	}
}

func TestAppendBinary(t *testing.T) {
	for text, want := range map[string]string{
		`[]`: "80 e0", `{}`: "80 e8", `[1]`: "80 e1 01", `{"id":"x"}`: "80 e9 2c 81 78", `[1,"type",null]`: "80 e5 03 03 01 3b d0",
		`31`: "80 1f", `32`: "80 c8 20", `255`: "80 c8 ff", `256`: "80 c9 00 01", `-1`: "80 c9 ff ff", `32768`: "80 ca 00 80 00 00",
		`2147483648`: "80 cb 00 00 00 80 00 00 00 00", `9007199254740993`: "80 cb 01 00 00 00 00 00 20 00", `1.5`: "80 cc 00 00 00 00 00 00 f8 3f",
		`1e2`: "80 c8 64", `1e300`: "80 cc 9c 75 00 88 3c e4 37 7e", `-0.0`: "80 cc 00 00 00 00 00 00 00 80", `"\u00e9"`: "80 82 c3 a9", `"\ud83d"`: "80 83 ef bf bd",
		`18446744073709551615`: "80 cc 00 00 00 00 00 00 f0 43",
	} {
		if got := fmt.Sprintf("% x", jsonbinary.AppendBinary(nil, jsondoc.Of([]byte(text)))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, n := range []int{0, 1, 63, 64, 255, 256, 65535, 65536, 300_000} {
		for _, text := range []string{`"` + strings.Repeat("a", n) + `"`, `[` + strings.Repeat("7,", n) +
			`7]`, `{"k":["` + strings.Repeat("a", n) + `",1],"l":{}}`} {
			back, err := jsonbinary.AppendText(nil, jsonbinary.AppendBinary(nil, jsondoc.Of([]byte(text))),
				jsondoc.Limits{})
			if err != nil || string(back) != text {
				t.Errorf("%.20s of %d: %.40s, %v", text, n, back, err)
			}
		}
	}
}

// FuzzAppendText checks AppendText and AppendBinary with random input: the text of binary JSON is valid
// and not longer than the limit, and a value that is written and read again, in either form, is unchanged.
func FuzzAppendText(f *testing.F) {
	for _, form := range forms {
		f.Add(unhex(f, "80"+form.binary))
		f.Add([]byte(form.text))
	}
	lim := jsondoc.Limits{MaxBytes: 1 << 16}
	f.Fuzz(func(t *testing.T, in []byte) {
		if !jsonbinary.Is(in) {
			if jsondoc.Valid(in, lim) != nil {
				return
			}
			in = jsonbinary.AppendBinary(nil, jsondoc.Of(in))
		}
		text, err := jsonbinary.AppendText(nil, in, jsondoc.Limits{MaxBytes: 1 << 17})
		if err != nil {
			return
		}
		if len(text) > 1<<17 {
			t.Fatalf("%d bytes", len(text))
		}
		var twice *jsondoc.DuplicateNameError
		if err := jsondoc.Valid(text, jsondoc.Limits{MaxBytes: 1 << 17}); errors.As(err, &twice) {
			return
		} else if err != nil {
			t.Fatalf("% x: %s: %v", in, text, err)
		}
		again, err := jsonbinary.AppendText(nil, jsonbinary.AppendBinary(nil, jsondoc.Of(text)),
			jsondoc.Limits{MaxBytes: 1 << 18})
		if err != nil || !jsondoc.Equal(jsondoc.Of(again), jsondoc.Of(text)) {
			t.Fatalf("%s became %s, %v", text, again, err)
		}
	})
}
