package ttl_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/ttl"
)

func TestParseItem(t *testing.T) {
	long := `"` + strings.Repeat("x", 200) + `"`
	umlauts := `"` + strings.Repeat("ü", 100) + `"`
	for _, test := range []struct {
		token string
		want  ttl.Seconds
		shown string // what the error quotes; empty: no error
	}{
		{"", ttl.Absent, ""},
		{"1", 1, ""},
		{"60", 60, ""},
		{"60.0", 60, ""},
		{"6e1", 60, ""},
		{"6E+1", 60, ""},
		{"600e-1", 60, ""},
		{"0.06e3", 60, ""},
		{"0.0000000000000000000000000000000006e35", 60, ""},
		{"60." + strings.Repeat("0", 500), 60, ""},
		{"2147483647", ttl.Max, ""},
		{"2147483647.000", ttl.Max, ""},
		{"-1", ttl.Never, ""},
		{"-1.0", ttl.Never, ""},
		{"-10e-1", ttl.Never, ""},
		{"null", 0, "null"},
		{"0", 0, "0"},
		{"-0", 0, "-0"},
		{"0.0e5", 0, "0.0e5"},
		{"-2", 0, "-2"},
		{"-10", 0, "-10"},
		{"1.5", 0, "1.5"},
		{"2147483647.0000000001", 0, "2147483647.0000000001"},
		{"2147483648", 0, "2147483648"},
		{"4294967297", 0, "4294967297"},
		{"18446744073709551617", 0, "18446744073709551617"},
		{"1e99999999999999999999", 0, "1e99999999999999999999"},
		{"1e-99999999999999999999", 0, "1e-99999999999999999999"},
		{`"60"`, 0, `"60"`},
		{"true", 0, "true"},
		{`{"a":1}`, 0, `{"a":1}`},
		{"[60]", 0, "[60]"},
		{"+1", 0, "+1"},
		{"01", 0, "01"},
		{"1.", 0, "1."},
		{".5e1", 0, ".5e1"},
		{"1e", 0, "1e"},
		{"1e+", 0, "1e+"},
		{"-", 0, "-"},
		{" 60", 0, " 60"},
		{"60s", 0, "60s"},
		{"6e1x", 0, "6e1x"},
		{long, 0, long[:64] + "..."},
		{umlauts, 0, umlauts[:63] + "..."},
	} {
		got, err := ttl.ParseItem([]byte(test.token))
		checkParsed(t, "ttl", test.token, test.shown, got, test.want, err)
		var invalid *ttl.InvalidTTLError
		if (test.shown != "") != errors.As(err, &invalid) {
			t.Errorf("ParseItem(%s): error %v of the wrong type", test.token, err)
		}
	}
}

func TestParseDefault(t *testing.T) {
	for _, test := range []struct {
		token string
		want  ttl.Seconds
		shown string
	}{
		{"", ttl.Absent, ""},
		{"null", ttl.Absent, ""},
		{"-1", ttl.Never, ""},
		{"1", 1, ""},
		{"3.6e3", 3600, ""},
		{"2147483647", ttl.Max, ""},
		{"0", 0, "0"},
		{"-10", 0, "-10"},
		{"1.5", 0, "1.5"},
		{"2147483648", 0, "2147483648"},
		{`"60"`, 0, `"60"`},
		{"false", 0, "false"},
		{"nul", 0, "nul"},
	} {
		got, err := ttl.ParseDefault([]byte(test.token))
		checkParsed(t, "defaultTtl", test.token, test.shown, got, test.want, err)
		var invalid *ttl.InvalidDefaultError
		if (test.shown != "") != errors.As(err, &invalid) {
			t.Errorf("ParseDefault(%s): error %v of the wrong type", test.token, err)
		}
	}
}

func checkParsed(t *testing.T, field, token, shown string, got, want ttl.Seconds, err error) {
	t.Helper()
	if got != want {
		t.Errorf("%s %s: got %d, want %d", field, token, got, want)
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	wantText := ""
	if shown != "" {
		wantText = "The input " + field + " '" + shown +
			"' is invalid. Ensure to provide a nonzero positive integer less than " +
			"or equal to '2147483647', or '-1' which means never expire."
	}
	if text != wantText {
		t.Errorf("%s %s: error\n%s\nwant\n%s", field, token, text, wantText)
	}
}

// FuzzParseItem compares the number that ParseItem reads from a JSON token with exact rational arithmetic.
func FuzzParseItem(f *testing.F) {
	for _, s := range []string{"60", "-1", "6e1", "60.0", "1.5", "2147483648", "0", "1e1000", "null", "0.1e1",
		"00", "1E-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, token string) {
		got, err := ttl.ParseItem([]byte(token))
		if _, exp, _ := strings.Cut(strings.ToLower(token), "e"); len(exp) > 4 {
			return // big.Rat would write the exponent out
		}
		var exact *big.Rat
		// big.Rat reads fractions, hexadecimal and more
		isNumber := strings.Trim(token, "0123456789+-.eE") == ""
		if isNumber {
			exact, isNumber = new(big.Rat).SetString(token)
		}
		switch {
		case token == "" || err != nil:
			if got != ttl.Absent {
				t.Fatalf("ParseItem(%q) = %d, %v", token, got, err)
			}
		case !isNumber || exact.Cmp(new(big.Rat).SetInt64(int64(got))) != 0 || got < ttl.Never ||
			got == ttl.Absent:
			t.Fatalf("ParseItem(%q) = %d, which it is not", token, got)
		}
	})
}
