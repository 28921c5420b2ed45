package transfer

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/tree"
)

// endlessReader is an input that repeats a text without end. read is the number of bytes that were read.
type endlessReader struct {
	text string
	read int
}

func (e *endlessReader) Read(p []byte) (int, error) {
	for n := range p {
		p[n] = e.text[(e.read+n)%len(e.text)]
	}
	e.read += len(p)
	return len(p), nil
}

// TestEndlessDocuments checks, for each format, that an endless line, row or element fails with
// errTooLong before it fills the memory, and that a document just below the limit is accepted.
func TestEndlessDocuments(t *testing.T) {
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
		forever := &endlessReader{text: "xxx"}
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

// TestTextAfterArray checks that only blanks may follow the end of a JSON array: anything else is
// an error.
func TestTextAfterArray(t *testing.T) {
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

// TestErrorPositions checks the line and the column in the errors for malformed JSON, JSON lines and CSV.
func TestErrorPositions(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"f.json", "[\n {\"id\":\"1\",\n  \"user\":\"a\"},\n {\"id\":\"2\",\n" +
			"  \"user\":\"b\"},\n {\"id\":\"3\"\n  \"user\":\"a\"}\n]",
			"f.json:7:3: this is not JSON: invalid character '\"' after object key:value pair"},
		{"f.json", "[{}, {} \n {}]", "f.json:2:2: a comma or the end of the array is expected here"},
		{"f.json", "[{},\n]",
			"f.json:2:1: this is not JSON: invalid character ']' looking for beginning of value"},
		{"f.json", "[{}]\n  x", "f.json:2:3: something follows the end of the array"},
		{"f.ndjson", "{}\n\n  {\"a\" 1}\n",
			"f.ndjson:3:8: this is not JSON: invalid character '1' after object key"},
		{"f.csv", "id,n\n1,2\n1,a\"b\n", "f.csv:3:4: bare \" in non-quoted-field"},
		{"f.csv", "id,o,o.x\n1,\"a\nb\",6\n", "f.csv:3:4: the column o is both a value and an object"},
	} {
		source, end, err := openDocuments(strings.NewReader(c.text), c.name, "auto", nil)
		if err != nil {
			t.Fatal(err)
		}
		var at tree.FilePosition
		for err == nil {
			at, _, err = source.Next()
		}
		end()
		if at.File = c.name; at.String()+": "+err.Error() != c.want {
			t.Errorf("%q: %s: %v", c.text, at, err)
		}
	}
}

// TestElementPositions checks that each element of a JSON array is returned with the line and column at
// which it begins.
func TestElementPositions(t *testing.T) {
	long := strings.Repeat("\n", 1<<17)
	source, end, err := openDocuments(strings.NewReader("[{}, {\n}\n,\n "+long+" {}]"), "f.json", "auto", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for _, want := range []tree.FilePosition{{Line: 1, Column: 2}, {Line: 1, Column: 6},
		{Line: 4 + 1<<17, Column: 2}} {
		if at, _, err := source.Next(); at != want || err != nil {
			t.Errorf("%v %v, not %v", at, err, want)
		}
	}
}

// TestColumnsOfManyLevels checks that a CSV column name with more than maxColumnLevels levels is refused.
func TestColumnsOfManyLevels(t *testing.T) {
	for levels, wrong := range map[int]bool{maxColumnLevels: false, maxColumnLevels + 1: true} {
		text := strings.Repeat("a.", levels-1) + "b\n1\n"
		source, _, err := openDocuments(strings.NewReader(text), "f", "csv", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = source.Next(); (err != nil) != wrong {
			t.Errorf("%d levels: %v", levels, err)
		}
	}
}

// FuzzDocuments checks that any input is read to its end or to an error, and that every document returned
// is valid JSON.
func FuzzDocuments(f *testing.F) {
	f.Add("csv", "id,a.b,\"c\"\n1,2,{}\n")
	f.Add("json", `[{"id":"1"}, {"id":"2","a":[1]}]`)
	f.Add("ndjson", "{\"id\":\"1\"}\n\n[]\n")
	f.Add("auto", "\x1f\x8b\x08")
	f.Fuzz(func(t *testing.T, format, text string) {
		source, end, err := openDocuments(strings.NewReader(text), "f", format, []string{"a"})
		if err != nil {
			return
		}
		defer end()
		for documents := 0; ; documents++ {
			at, document, err := source.Next()
			var bad *badDocumentError
			if err != nil && !errors.As(err, &bad) {
				return
			}
			if err == nil && !json.Valid(document) || at.Line < 0 || documents > len(text)+1 {
				t.Fatalf("document %d at %v: %.100q", documents, at, document)
			}
		}
	})
}
