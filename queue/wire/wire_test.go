package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayflydb/mayfly/internal/metamorphic"
)

// TestEncodings checks the encoding that Append writes for each type, and that Value reads it as well as
// the other valid encodings of the same value.
func TestEncodings(t *testing.T) {
	long := strings.Repeat("x", 256)
	for name, c := range map[string]struct {
		value any
		wire  string // what is written
		other []string
	}{
		"null":        {nil, "40", nil},
		"true":        {true, "41", []string{"5601"}},
		"false":       {false, "42", []string{"5600"}},
		"ubyte":       {uint8(7), "5007", nil},
		"ushort":      {uint16(258), "600102", nil},
		"uint 0":      {uint32(0), "43", []string{"5200", "7000000000"}},
		"uint small":  {uint32(255), "52ff", []string{"70000000ff"}},
		"uint":        {uint32(256), "7000000100", nil},
		"ulong 0":     {uint64(0), "44", []string{"5300", "800000000000000000"}},
		"ulong small": {uint64(1), "5301", nil},
		"ulong":       {uint64(1) << 63, "808000000000000000", nil},
		"byte":        {int8(-1), "51ff", nil},
		"short":       {int16(-2), "61fffe", nil},
		"int small":   {int32(-128), "5480", []string{"71ffffff80"}},
		"int":         {int32(128), "7100000080", nil},
		"long small":  {int64(-1), "55ff", []string{"81ffffffffffffffff"}},
		"long":        {int64(math.MinInt64), "818000000000000000", nil},
		"float":       {float32(1), "723f800000", nil},
		"double":      {1.0, "823ff0000000000000", nil},
		"char":        {Char('ä'), "73000000e4", nil},
		"decimal32":   {Decimal32{1, 2, 3, 4}, "7401020304", nil},
		"decimal64":   {Decimal64{1}, "840100000000000000", nil},
		"decimal128":  {Decimal128{1}, "9401000000000000000000000000000000", nil},
		"timestamp":   {Timestamp(-1), "83ffffffffffffffff", nil},
		"uuid":        {UUID{0: 1, 15: 2}, "9801000000000000000000000000000002", nil},
		"binary":      {[]byte{1, 2}, "a0020102", []string{"b0000000020102"}},
		"string":      {"ä", "a102c3a4", []string{"b100000002c3a4"}},
		"long string": {long, "b100000100" + strings.Repeat("78", 256), nil},
		"symbol":      {Symbol("a"), "a30161", []string{"b30000000161"}},
		"empty list":  {List{}, "c00100", []string{"45", "d00000000400000000"}},
		"list":        {List{nil, true}, "c003024041", []string{"d000000006000000024041"}},
		"map":         {Map{{"a", uint8(1)}}, "c10602a101615001", []string{"d10000000900000002a101615001"}},
		"described":   {Described{uint64(0x24), List{}}, "005324c00100", []string{"0080000000000000002445"}},
		"by name":     {Described{Symbol("a"), nil}, "00a3016140", nil},
		"longs": {Longs([]int64{1, -1}), "f00000001500000002" + "810000000000000001ffffffffffffffff",
			[]string{
				"e01202" + "810000000000000001ffffffffffffffff"}},
		"no longs": {Longs([]int64{}), "f00000000500000000" + "81", nil},
		"uuids":    {UUIDs([]UUID{{1}}), "f00000001500000001" + "9801000000000000000000000000000000", nil},
		"symbols":  {Symbols([]Symbol{"a"}), "f00000000a00000001" + "b30000000161", nil},
		"array of described": {Array{codeUbyte,
			[]any{Described{uint64(1), uint8(2)}, Described{uint64(1), uint8(3)}}},
			"f00000000a00000002" + "005301" + "50" + "0203", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Append(nil, c.value)
			if err != nil || hex.EncodeToString(got) != c.wire {
				t.Fatalf("written: %x, %v, want %s", got, err, c.wire)
			}
			for _, text := range append([]string{c.wire}, c.other...) {
				raw, err := hex.DecodeString(text)
				if err != nil {
					t.Fatal(err)
				}
				v, rest, err := Value(append(raw, 0xAA))
				if err != nil || len(rest) != 1 || !cmp.Equal(v, c.value) {
					t.Errorf("%s reads as %#v, %v, with %d bytes left", text, v, err, len(rest))
				}
			}
		})
	}
}

// TestInvalidEncodings checks that invalid encodings give an error, and that reading them allocates little
// memory.
func TestInvalidEncodings(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                 "",
		"a code that is none":     "10",
		"another":                 "4f",
		"half a number":           "700000",
		"no size":                 "a1",
		"half a size":             "b1000000",
		"size beyond the end":     "a105ff",
		"large size":              "b1ffffffff00",
		"list without a count":    "c000",
		"count beyond the end":    "c00205" + "40",
		"large count":             "d000000005" + "ffffffff" + "40",
		"list that ends too soon": "c003024050",
		"map with half a pair":    "c1020140",
		"array without a code":    "e00101",
		"large array of nulls":    "f000000005" + "ffffffff" + "40",
		"array of no code":        "e0020110",
		"boolean of two":          "5602",
		"string that is no text":  "a101ff",
		"descriptor alone":        "005324",
		"deep":                    strings.Repeat("c0ff01", 40),
		"deep descriptors":        strings.Repeat("00", 64) + "40",
	} {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		var e *CodecError
		if v, _, err := Value(raw); !errors.As(err, &e) {
			t.Errorf("%s reads as %#v, %v", name, v, err)
		}
	}
}

func TestReadFields(t *testing.T) {
	raw, err := Append(nil, List{"name", Symbol("sym"), uint8(9), int64(7), nil, []byte{}, true,
		Symbols([]Symbol{"a", "b"}), Symbol("c"), Map{{Symbol("k"), "v"}}})
	if err != nil {
		t.Fatal(err)
	}
	f := ReadFields(raw, "test")
	text, _ := f.Text()
	symbol, _ := f.Text()
	small, wide := f.Uint32(0), f.Uint64(0)
	absent, empty, truth := f.Uint16(5), f.Bytes(), f.Bool(false)
	list, one, m := f.Symbols(), f.Symbols(), f.Map()
	missing, there := f.OptionalUint32()
	if f.Err() != nil || text != "name" || symbol != "sym" || small != 9 || wide != 7 || absent != 5 ||
		empty == nil || !truth || !cmp.Equal(list, []Symbol{"a", "b"}) || !cmp.Equal(one, []Symbol{"c"}) ||
		missing != 0 || there {
		t.Errorf("%v: %q %q %d %d %d %v %t %v %v %d %t", f.Err(), text, symbol, small, wide, absent, empty,
			truth,
			list, one, missing, there)
	}
	if v, ok := m.Get("k"); !ok || v != "v" {
		t.Errorf("the map is %v", m)
	}
	for name, read := range map[string]func(*FieldReader){
		"a string for a number":    func(f *FieldReader) { f.Uint32(0) },
		"a string for a binary":    func(f *FieldReader) { f.Bytes() },
		"a string for a boolean":   func(f *FieldReader) { f.Bool(true) },
		"a string for a map":       func(f *FieldReader) { f.Map() },
		"a number for a string":    func(f *FieldReader) { f.Skip(2); f.Text() },
		"a number for symbols":     func(f *FieldReader) { f.Skip(2); f.Symbols() },
		"a number that is too big": func(f *FieldReader) { f.Skip(2); f.unsignedUpTo(8, "a small number") },
	} {
		f := ReadFields(raw, "test")
		read(&f)
		var e *CodecError
		if !errors.As(f.Err(), &e) {
			t.Errorf("%s: %v", name, f.Err())
		}
	}
	if f := ReadFields([]byte{codeNull}, "test"); f.Err() == nil {
		t.Error("null is no list")
	}
}

func TestUUIDText(t *testing.T) {
	u := UUID{0x99, 0x64, 0xef, 0x20, 0x2a, 0x16, 0xf7, 0x18, 1, 2, 3, 4, 5, 6, 7, 8}
	if got := u.String(); got != "9964ef20-2a16-f718-0102-030405060708" {
		t.Error(got)
	}
}

// anyValue returns a random Go value of a type that Append can encode. depth is the number of values that
// contain it.
func anyValue(r *rand.Rand, depth int) any {
	kinds := 24
	if depth > 3 {
		kinds = 20
	}
	text := strings.Repeat("aä", r.IntN(200))
	number := r.Uint64() >> r.IntN(64)
	return []func() any{
		func() any { return nil }, func() any { return r.IntN(2) == 0 }, func() any { return uint8(number) },
		func() any { return uint16(number) }, func() any { return uint32(number) }, func() any {
			return number
		},
		func() any { return int8(number) }, func() any { return int16(number) }, func() any {
			return int32(number)
		},
		func() any { return int64(number) }, func() any { return float32(r.NormFloat64()) },
		func() any { return r.NormFloat64() }, func() any { return Char(number % 0x10FFFF) },
		func() any { return Decimal32{byte(number)} }, func() any { return Decimal128{byte(number)} },
		func() any { return Timestamp(number) }, func() any { return UUID{byte(number)} },
		func() any { return []byte(text) }, func() any { return text }, func() any { return Symbol(text) },
		func() any { return Described{number, anyValue(r, depth+1)} },
		func() any {
			list := make(List, r.IntN(5))
			for i := range list {
				list[i] = anyValue(r, depth+1)
			}
			return list
		},
		func() any {
			m := make(Map, r.IntN(5))
			for i := range m {
				m[i] = MapEntry{anyValue(r, depth+1), anyValue(r, depth+1)}
			}
			return m
		},
		func() any {
			list := make([]string, r.IntN(5))
			for i := range list {
				list[i] = text
			}
			return Strings(list)
		},
	}[r.IntN(kinds)]()
}

func TestRandomValues(t *testing.T) {
	seed := metamorphic.FirstSeed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		v := anyValue(r, 0)
		raw, err := Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		got, rest, err := Value(raw)
		if err != nil || len(rest) > 0 || !cmp.Equal(got, v) {
			t.Fatalf("%#v is read as %#v, %v", v, got, err)
		}
		value, rest, err := Raw(append(raw, 1, 2))
		if err != nil || !bytes.Equal(value, raw) || len(rest) != 2 {
			t.Fatalf("Raw takes %x of %x, %v", value, raw, err)
		}
	}
}

// FuzzValue checks with random bytes that Value does not panic, that it agrees with Check and Raw, and
// that the decoded value is unchanged after it was encoded and decoded again.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{"40", "c003024041", "c10602a101615001", "005324c00100", "e00a025501ff",
		"f0000000050000000081"} {
		raw, _ := hex.DecodeString(seed)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		left, wrong := Check(raw)
		v, rest, err := Value(raw)
		if err != nil {
			return // as for Check, but for too many elements that take no bytes
		}
		if wrong != nil || len(left) != len(rest) {
			t.Fatalf("Check differs: %v", wrong)
		}
		if value, other, err := Raw(raw); err != nil || len(value)+len(other) != len(raw) ||
			len(other) != len(rest) {
			t.Fatalf("Raw differs: %x, %v", value, err)
		}
		again, err := Append(nil, v)
		if err != nil {
			return // elements of an array that have no common form here
		}
		once, _, err := Value(again)
		if err != nil {
			t.Fatalf("%x was written for %#v: %v", again, v, err)
		}
		if twice, err := Append(nil, once); err != nil || !bytes.Equal(twice, again) {
			t.Fatalf("%x, then %x, %v", again, twice, err)
		}
	})
}

// TestParseUUID checks that ParseUUID reads the form that UUID.String returns, in letters of either case,
// and refuses all other forms.
func TestParseUUID(t *testing.T) {
	const text = "9e2a1d0c-0a0b-1122-3344-0123456789ab"
	for given, want := range map[string]bool{text: true, strings.ToUpper(text): true, "": false, text[1:]: false,
		strings.ReplaceAll(text, "-", ""): false, text + "0": false, "g" + text[1:]: false,
		"-9e2a1d0c" + text[9:]: false} {
		u, ok := ParseUUID(given)
		if ok != want || ok && u.String() != text {
			t.Errorf("%q: %v %t", given, u, ok)
		}
	}
}
