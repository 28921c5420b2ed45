package jsondoc

import (
	"fmt"
	"testing"
)

// TestHashOf checks hashes against those that the tests of the SDK for .NET publish.
func TestHashOf(t *testing.T) {
	const text = `"asdfasdfasdfasdfasdfasdf"`
	for _, c := range []struct{ value, hash string }{
		{`null`, "898EFBF2680DAEA39E24D6AE6653417D"},
		{`false`, "6E88AA4242F017B7705F12581A61118F"},
		{`true`, "CD4D51AB869F071FF019C3E4A55C0125"},
		{`""`, "A78446CF287029A585B395A161A2A9A1"},
		{text, "8F124368401E0B91AD580CA542E035DB"},
		{`1234`, "A94BF61335C9FBA42C28D7D9895D1434"},
		{`[]`, "7D54F729FF4A63FFA2EF3CA359538082"},
		{`[[]]`, "51667C83CA3C85E958EC39854AEE937C"},
		{`[null]`, "3E8E8C77472338352F80EA6235FB6E41"},
		{`[1234]`, "CD00EF4185A0D7A329B7CD12CE7954F8"},
		{`[""]`, "D6F660BAAF7C0E88C6C10009D13282C9"},
		{`[null,false,true,1234,` + text + `]`, "A9407916DE27F316CC5A8E4EB9AFD5E6"},
		{`[[null,false,true,1234,` + text + `]]`, "C9F0AB8253C9A4654185473ED51BE7D3"},
		{`{}`, "14B86A60AA01A7381438743E80B965D8"},
		{`[{}]`, "E244686BA6F0955D4402C435A1CB5A28"},
		{`{"prop":{}}`, "6E74776CB09FB1927E688A47BC64681A"},
		{`{"prop":null}`, "A3D5880C264194B40E763E0B097A94D4"},
		{`{"prop":1234}`, "9B7CCCD51368EBABD9848C1D0F56DCAA"},
		{`{"prop":[]}`, "3D4C7D78D626A9F4F80DD7FA6826F48D"},
		{`{"null":null,"false":false,"true":true,"cosmosNumber":1234,"cosmosString":` + text + `}`,
			"3B6AA9F4F43AAEC0E48EBE2BC020D55C"},
	} {
		h := HashOf(Of([]byte(c.value)))
		if got := fmt.Sprintf("%016X%016X", h.High, h.Low); got != c.hash {
			t.Errorf("hash of %s\ngot  %s\nwant %s", c.value, got, c.hash)
		}
	}
}

// TestHashOfEqual checks that two values have the same hash exactly if they are equal, however they are
// spelled. Integers that a double cannot tell apart may have different hashes.
func TestHashOfEqual(t *testing.T) {
	list := []string{
		`[1]`, `[1.0]`, `[0.1e1]`, `[-0]`, `[0]`, `["\u0061"]`, `["a"]`, `{"a":1,"b":[2]}`, `{"b":[2.0],"\u0061":1}`, `{"a":2,"b":[1]}`,
		`[9007199254740993]`, `[9007199254740992]`, `[-9007199254740993]`, `[9223372036854775807]`, `[-9223372036854775808]`, `[1,2]`, `[2,1]`,
	}
	for _, a := range list {
		for _, b := range list {
			v, w := Of([]byte(a)), Of([]byte(b))
			wide := len(a) > 16 && len(b) > 16 // integers that floats cannot tell apart
			if same := HashOf(v) == HashOf(w); same != Equal(v, w) && !(wide && a != b && !same) {
				t.Errorf("%s, %s: hashes equal: %t, values equal: %t", a, b, same, Equal(v, w))
			}
		}
	}
}

// TestMurmur128 checks the hash without a seed against published values.
func TestMurmur128(t *testing.T) {
	for _, c := range []struct {
		in     string
		h1, h2 uint64
	}{
		{"", 0, 0}, {"hello", 0xcbd8a7b341bd9b02, 0x5b1e906a48ae1d19}, {"hello, world", 0x342fac623a5ebc8e,
			0x4cdcbc079642414d},
		{"19 Jan 2038 at 3:14:07 AM", 0xb89e5988b737affc, 0x664fc2950231b2cb},
		{"The quick brown fox jumps over the lazy dog.", 0xcd99481f9ee902c9, 0x695da1a38987b6e7},
	} {
		if got := Murmur128([]byte(c.in), MurmurHash128{}); got != (MurmurHash128{c.h1, c.h2}) {
			t.Errorf("Murmur128(%q) = %016x, want %016x %016x", c.in, got, c.h1, c.h2)
		}
	}
}
