package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/metamorphic"
)

// wireBytes returns the bytes that are written in hexadecimal digits.
func wireBytes(t testing.TB, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCheckAgreesWithValue checks, with random encoded values and damaged ones, that Check accepts the
// same bytes as Value, and that both find the same end.
func TestCheckAgreesWithValue(t *testing.T) {
	seed := metamorphic.FirstSeed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 20_000 {
		raw, err := Append(nil, anyValue(r, 0))
		if err != nil {
			t.Fatal(err)
		}
		for range r.IntN(3) {
			raw[r.IntN(len(raw))] = byte(r.Uint32())
		}
		_, rest, wrong := Value(raw)
		left, err := Check(raw)
		if err == nil && wrong != nil && bytes.IndexByte(raw, codeArray32) >= 0 {
			continue // damage can promise more elements without bytes than Value makes
		}
		if (err == nil) != (wrong == nil) || len(left) != len(rest) {
			t.Fatalf("%x: Value says %v with %d bytes left, Check %v with %d", raw, wrong, len(rest), err,
				len(left))
		}
	}
}

// TestAnnouncedCountMemory checks that Value and Check need little memory for encodings that announce many
// more elements than they contain.
func TestAnnouncedCountMemory(t *testing.T) {
	nulls := wireBytes(t, "f000000005"+"00001000"+"40") // an array of 4096 nulls in 10 bytes
	promises := nulls
	for range maxDepth - 2 { // lists in lists, each of which promises as many elements as there are bytes
		list := []byte{codeList32, 0, 0, 0, 0, 0, 0, 0xff, 0}
		list = append(list, promises...)
		list = append(list, make([]byte, 1<<16)...)
		list[3], list[2], list[4] = byte((len(list)-5)>>8), byte((len(list)-5)>>16), byte(len(list)-5)
		promises = list
	}
	many := make([]any, 1000)
	for i := range many {
		many[i] = make(List, 200) // of nulls
	}
	lists, err := Append(nil, List(many))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		raw  []byte
		most uint64 // bytes of memory for one that is read
		good bool
	}{
		"an array of nulls":      {nulls, 30_000, true},
		"many arrays of nulls":   {arrays(nulls, 1000), 60, false},
		"lists that promise":     {promises, 60, false},
		"lists that are no lies": {lists, 60, true},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := Value(c.raw)
		runtime.ReadMemStats(&after)
		if spent := after.TotalAlloc - before.TotalAlloc; spent > c.most*uint64(len(c.raw)) {
			t.Errorf("%s: %d bytes for %d", name, spent, len(c.raw))
		}
		var e *CodecError
		if c.good != (err == nil) || err != nil && !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Check(wireBytes(t, "f000000005"+"7fffffff"+"40")); err != nil {
		t.Errorf("nothing bounds the nulls of an array that is only looked at: %v", err)
	}
}

// arrays returns the encoding of a list that contains the encoded value n times.
func arrays(value []byte, n int) []byte {
	dst, o := OpenList(nil)
	for range n {
		dst = append(dst, value...)
	}
	return o.CloseWith(dst, n)
}

// TestEmptyArrayConstructor checks that an array without elements is invalid if it has no valid constructor
// (the code of its element type).
func TestEmptyArrayConstructor(t *testing.T) {
	for _, digits := range []string{"e0020010", "e002004f", "e003000000", "e0050000534000"} {
		var e *CodecError
		if v, _, err := Value(wireBytes(t, digits)); !errors.As(err, &e) {
			t.Errorf("%s reads as %#v, %v", digits, v, err)
		}
		if _, err := Check(wireBytes(t, digits)); !errors.As(err, &e) {
			t.Errorf("%s passes the check: %v", digits, err)
		}
	}
}

// TestAppendDoesNotOverwrite checks that appending to a slice that Raw or Bytes has returned does not
// overwrite the bytes after it in the input.
func TestAppendDoesNotOverwrite(t *testing.T) {
	raw := wireBytes(t, "a00161"+"a00162")
	first, _, err := Raw(raw)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := Bytes(first)
	_, _ = append(first, 'x'), append(data, 'y')
	if got := hex.EncodeToString(raw); got != "a00161"+"a00162" {
		t.Errorf("the bytes are %s", got)
	}
	if strings.Contains(string(data), "y") {
		t.Errorf("the value is %q", data)
	}
}
