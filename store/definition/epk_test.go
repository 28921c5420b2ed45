package definition

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/murmur3"
	"pgregory.net/rapid"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func parsedKey(t testing.TB, json string) PartitionKey {
	t.Helper()
	k, err := ParsePartitionKey([]byte(json))
	if err != nil {
		t.Fatalf("%s: %v", json, err)
	}
	return k
}

// definition returns a partition key definition with the given number of paths. kind is "1" or "2", the
// version of the hash, or KindMultiHash.
func definition(t testing.TB, kind string, paths int) *PartitionKeyDefinition {
	t.Helper()
	d := &PartitionKeyDefinition{Kind: KindHash, Version: 2}
	switch kind {
	case "1":
		d.Version = 1
	case KindMultiHash:
		d.Kind = KindMultiHash
	}
	for i := range paths {
		d.Paths = append(d.Paths, fmt.Sprintf("/p%d", i))
	}
	d.EnsureDefaults()
	if d.Kind == KindHash && paths > 1 {
		return d // more paths than can be made today, but some vectors have them
	}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestEPKVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/epk.tsv")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSpace(line), "\t")
		k := parsedKey(t, f[1])
		if got := EPKHex(EPK(definition(t, f[0], k.Len()), k)); got != f[2] {
			t.Errorf("%s %.60s: %s, want %s", f[0], f[1], got, f[2])
		}
		n++
	}
	if n != 45 {
		t.Errorf("%d vectors were read", n)
	}
	for _, kind := range []string{"1", "2", KindMultiHash} {
		if got := EPK(definition(t, kind, 1), NewPartitionKey()); len(got) != 0 {
			t.Errorf("the empty key has the EPK %x", got)
		}
	}
}

// TestMurmur checks the hash of version 1 against published values.
func TestMurmur(t *testing.T) {
	for _, c := range []struct {
		in  string
		h32 uint32
	}{
		{"", 0}, {"hello", 0x248bfa47}, {"hello, world", 0x149bbb7f}, {"19 Jan 2038 at 3:14:07 AM", 0xe31e8a70},
		{"The quick brown fox jumps over the lazy dog.", 0xd5c48bfc},
	} {
		if got := murmur3.Sum32([]byte(c.in)); got != c.h32 {
			t.Errorf("Sum32(%q) = %08x, want %08x", c.in, got, c.h32)
		}
	}
}

// TestTruncation checks the truncation of long strings in hash version 1: to 100 UTF-16 units for the
// hash, and to 101 bytes in the binary encoding.
func TestTruncation(t *testing.T) {
	v1 := definition(t, "1", 1)
	epk := func(s string) string {
		return EPKHex(EPK(v1, NewPartitionKey(jsondoc.StringValue(s))))
	}
	x := strings.Repeat("x", 98)
	for _, c := range []struct {
		name, a, b string
		same       bool
	}{
		{"one unit behind the limit", x + "ab", x + "abc", true},
		{"the last unit inside", x + "ab", x + "ac", false},
		{"a character of two units fits", x + "😀", x + "😀y", true},
		{"a character cut in half is a replacement character", x + "a😀", x + "a\uFFFD", true},
		{"a character behind the limit", x + "ab😀", x + "ab", true},
		{"99 characters of two bytes and one", strings.Repeat("é", 99) + "a", strings.Repeat("é", 99) + "b", false},
	} {
		if (epk(c.a) == epk(c.b)) != c.same {
			t.Errorf("%s: %s, %s", c.name, epk(c.a), epk(c.b))
		}
	}
	// Five bytes of hash with their type, the type of the string, 101 bytes and no end mark.
	long := EPK(v1, NewPartitionKey(jsondoc.StringValue(strings.Repeat("é", 100))))
	if i := bytes.IndexByte(long, EPKText); len(long)-i != 102 || long[len(long)-1] == 0 {
		t.Errorf("%X", long)
	}
}

// TestBinaryNumbersKeepTheirOrder checks that the binary encodings of numbers, compared bytewise, have the
// order of the numbers. The bounds of ranges with hash version 1 are such encodings.
func TestBinaryNumbersKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64().Draw(t, "a"), rapid.Float64().Draw(t, "b")
		if math.IsNaN(a) || math.IsNaN(b) {
			return
		}
		want := 0
		if a < b {
			want = -1
		} else if a > b {
			want = 1
		}
		if got := bytes.Compare(AppendBinaryNumber(nil, a), AppendBinaryNumber(nil, b)); got != want {
			t.Fatalf("%v and %v compare as %d", a, b, got)
		}
	})
}

func TestSplitRanges(t *testing.T) {
	for _, c := range []struct {
		kind string
		n    int
		want string
	}{
		{"2", 1, " FF"},
		{"2", 2, " 1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF FF"},
		{"2", 4, " 0FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF 1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFE 2FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFD FF"},
		{"2", 5, " 0CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC 19999999999999999999999999999998 26666666666666666666666666666664 33333333333333333333333333333330 FF"},
		{KindMultiHash, 3, " 15555555555555555555555555555555 2AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA FF"},
		{"1", 1, " FF"},
		{"1", 2, " 05C1DFFFFFFFFC FF"},
		{"1", 4, " 05C1CFFFFFFFF8 05C1DFFFFFFFF8 05C1E7FFFFFFFA FF"},
	} {
		if got := strings.Join(SplitRanges(definition(t, c.kind, 1), c.n), " "); got != c.want {
			t.Errorf("%s in %d: %q, want %q", c.kind, c.n, got, c.want)
		}
	}
	for _, kind := range []string{"1", "2", KindMultiHash} {
		for n := 1; n <= 170; n++ {
			bounds := SplitRanges(definition(t, kind, 1), n)
			if len(bounds) != n+1 || !slices.IsSorted(bounds) || len(slices.Compact(slices.Clone(bounds))) != n+1 {
				t.Fatalf("%s in %d: %q", kind, n, bounds)
			}
			for _, b := range bounds {
				if _, err := hex.DecodeString(b); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestSplitIsEven checks that the ranges of SplitRanges get about equal shares of many keys, assigned by
// comparing hexadecimal text as clients do, and that four keys on which an SDK's tests rely are in the
// expected ranges.
func TestSplitIsEven(t *testing.T) {
	for _, kind := range []string{"1", "2", KindMultiHash} {
		d := definition(t, kind, 1)
		bounds := SplitRanges(d, 4)
		rangeOf := func(k PartitionKey) int {
			epk := EPKHex(EPK(d, k))
			return slices.IndexFunc(bounds[1:], func(max string) bool { return epk < max })
		}
		share := make([]int, 4)
		for i := range 4000 {
			share[rangeOf(NewPartitionKey(jsondoc.StringValue(fmt.Sprint("key", i))))]++
		}
		for r, n := range share {
			if n < 850 || n > 1150 {
				t.Errorf("version %s: range %d got %d of 4000", kind, r, n)
			}
		}
		if kind == "1" {
			var got []int
			for i := range 4 {
				got = append(got, rangeOf(NewPartitionKey(jsondoc.StringValue(fmt.Sprint("sample", i+1)))))
			}
			if want := []int{3, 1, 0, 3}; !slices.Equal(got, want) {
				t.Errorf("sample1 to sample4 are in the ranges %v, want %v", got, want)
			}
		}
	}
}

func TestEPKPrefix(t *testing.T) {
	d := definition(t, KindMultiHash, 3)
	full := parsedKey(t, `["USA",null,{}]`)
	epk, pk := EPK(d, full), full.AppendOrdered(nil)
	for n := 1; n <= 3; n++ {
		part := NewPartitionKey(full.Values()[:n]...)
		e, p := d.Prefix(epk, pk, n)
		if !bytes.Equal(e, EPK(d, part)) || !bytes.Equal(p, part.AppendOrdered(nil)) {
			t.Errorf("the first %d components: %X %X", n, e, p)
		}
	}
}

func TestEPKDoesNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 4096)
	for _, kind := range []string{"1", "2", KindMultiHash} {
		d := definition(t, kind, 1)
		for _, json := range []string{`["tenant-\u0031"]`, `[12.5]`, `["` + strings.Repeat("é", 300) + `"]`} {
			k := parsedKey(t, json)
			if n := testing.AllocsPerRun(20, func() { AppendEPK(buf, d, k) }); n != 0 {
				t.Errorf("%s %.20s: %v allocations", kind, json, n)
			}
		}
	}
}

func BenchmarkEPK(b *testing.B) {
	for _, kind := range []string{"1", "2"} {
		b.Run("V"+kind, func(b *testing.B) {
			d, k := definition(b, kind, 1), parsedKey(b, `["tenant-000042"]`)
			buf := make([]byte, 0, 256)
			b.ReportAllocs()
			for b.Loop() {
				AppendEPK(buf, d, k)
			}
		})
	}
}
