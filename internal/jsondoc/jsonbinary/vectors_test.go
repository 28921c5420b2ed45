package jsonbinary_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/jsondoc/jsonbinary"
)

// vectors reads testdata/vectors.txt: binary JSON in hexadecimal, and the text that the SDK for .NET reads in
// it, in the spelling that jsondoc.Compact gives.
func vectors(t *testing.T) map[string]string {
	f, err := os.Open("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	texts := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		cells := strings.Split(lines.Text(), "\t")
		if len(cells) != 3 {
			t.Fatalf("a line of %d columns: %s", len(cells), lines.Text())
		}
		text, err := jsondoc.Compact([]byte(cells[2]), jsondoc.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", cells[2], err)
		}
		texts[cells[1]] = string(text)
	}
	return texts
}

// TestTextOfSDK checks that AppendText reads each of the stored test vectors as the SDK for .NET reads it,
// and that the vectors contain every marker.
func TestTextOfSDK(t *testing.T) {
	markers := map[byte]bool{}
	for digits, want := range vectors(t) {
		binary, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		markers[binary[1]] = true
		text, err := jsonbinary.AppendText(nil, binary, jsondoc.Limits{})
		if err != nil {
			t.Errorf("%.80s: %v, want %.80s", digits, err, want)
			continue
		}
		if got, err := jsondoc.Compact(text, jsondoc.Limits{}); err != nil || string(got) != want {
			t.Errorf("%.80s: %.80s, %v, want %.80s", digits, got, err, want)
		}
	}
	for _, f := range forms {
		// The SDK's navigator does not read these: bytes and halves as numbers of their own, halves and
		// uint32 in arrays.
		if marker := unhex(t, f.binary)[0]; !markers[marker] && marker != 0xD7 && marker != 0xCF {
			t.Errorf("no vector has the marker %#x", marker)
		}
	}
}

// TestBinaryForSDK checks that the bytes that AppendBinary writes for each stored text are themselves one
// of the test vectors, which the SDK for .NET has read as the same value.
func TestBinaryForSDK(t *testing.T) {
	known := vectors(t)
	var unread bytes.Buffer
	for _, text := range known {
		binary := fmt.Sprintf("%X", jsonbinary.AppendBinary(nil, jsondoc.Of([]byte(text))))
		if got, ok := known[binary]; !ok {
			fmt.Fprintln(&unread, binary)
		} else if got != text && got != strings.NewReplacer("18446744073709551614", "18446744073709552000",
			"18446744073709551615", "18446744073709552000").Replace(text) { // beyond int64 it is a double
			t.Errorf("%.80s becomes %.80s", text, got)
		}
	}
	if unread.Len() > 0 {
		t.Errorf("add these lines to testdata/forms.txt and run vectors.cs:\n%s", unread.Bytes())
	}
}
