package transfer

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// endless is an input that repeats a text and has no end; read is how much of it was taken.
type endless struct {
	text string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	for n := range p {
		p[n] = e.text[(e.read+n)%len(e.text)]
	}
	e.read += len(p)
	return len(p), nil
}

// TestDocumentsWithoutEnd: a line, a row or an element that does not end is refused before it fills the
// memory, and what is as long as it may be is not.
func TestDocumentsWithoutEnd(t *testing.T) {
	long := strings.Repeat("x", maxImportLine-64)
	for _, c := range []struct{ format, begin, end string }{
		{"ndjson", "{\"id\":\"1\"}\n{\"id\":\"", "\"}\n"},
		{"json", "[{\"id\":\"1\"},{\"id\":\"", "\"}]"},
		{"csv", "id\n1\n\"", "\"\n"},
	} {
		read := func(rest io.Reader) (documents int, err error) {
			whole := io.MultiReader(strings.NewReader(c.begin), rest)
			source, end, err := openDocuments(whole, "f", c.format, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer end()
			for ; err == nil; documents++ {
				_, _, err = source.Next()
			}
			return documents - 1, err
		}
		forever := &endless{text: "xxx"}
		if c.format == "csv" {
			forever.text = "xx\n"
		}
		if n, err := read(forever); n != 1 || !errors.Is(err, errTooLong) || forever.read > 4*maxImportLine {
			t.Errorf("%s: %d documents and %v after %d bytes", c.format, n, err, forever.read)
		}
		if n, err := read(strings.NewReader(long + c.end)); n != 2 || err != io.EOF {
			t.Errorf("%s: %d documents and %v", c.format, n, err)
		}
	}
}

// TestNothingFollowsAnArray: what stands behind the array is not passed over in silence.
func TestNothingFollowsAnArray(t *testing.T) {
	for text, want := range map[string]string{
		"[{}]\n \t\r\n": "EOF",
		"[{}]\n[{}]":    "something follows the end of the array",
		"[{}] x":        "something follows the end of the array",
		"[{}]]":         "something follows the end of the array",
	} {
		source, end, err := openDocuments(strings.NewReader(text), "f.json", "auto", nil)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, _, err = source.Next()
		}
		if end(); err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
