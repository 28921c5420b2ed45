package query

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/internal/datatest"
)

func parameters() map[string]doc.Value {
	return map[string]doc.Value{
		"@s": doc.StringValue("x"), "@n": doc.NumberValue(1), "@null": doc.NullValue(),
		"@list": doc.Of([]byte(`[1,{"a":2}]`)), "@undefined": {},
	}
}

func TestSimple(t *testing.T) {
	datatest.Run(t, "testdata/simple.txt", func(t *testing.T, c *datatest.Case) string {
		lines := c.Lines()
		q, err := ParseSimple(lines[0], parameters())
		if err != nil {
			return refusal(t, err)
		}
		var out strings.Builder
		for _, body := range lines[1:] {
			fmt.Fprintln(&out, q.Match([]byte(body)))
		}
		return out.String()
	})
}

func refusal(t *testing.T, err error) string {
	t.Helper()
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("%T: %v", err, err)
	}
	return err.Error()
}

func TestPlaceOfErrors(t *testing.T) {
	for _, c := range []struct {
		text      string
		line, col int
	}{
		{"", 1, 1},
		{"SELECT *\nFROM c\r\nWHERE c.ä = 1", 3, 9},
		{"SELECT * FROM c WHERE c.a = 'é' AND\n  'é' <> c.b", 2, 7},
		{"SELECT * FROM c WHERE c.a = 'a\nb'", 1, 31},
		{"SELECT * FROM c WHERE c.a = '\xff'", 1, 30},
		{strings.Repeat(" ", MaxText+1), 1, 1},
	} {
		_, err := ParseSimple(c.text, nil)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != c.line || syntax.Col != c.col {
			t.Errorf("%.40q: %v, want line %d, column %d", c.text, err, c.line, c.col)
		}
	}
	if _, err := ParseSimple("SELECT * FROM c"+strings.Repeat(" ", MaxText-15), nil); err != nil {
		t.Errorf("a text of the longest length: %v", err)
	}
}

func FuzzSimple(f *testing.F) {
	for _, s := range []string{
		`SELECT * FROM c`, `SELECT * FROM root r WHERE r.id=@s`, `select*from c where c["a\"b"].d='\'' and -1e-5=c.x`,
		`SELECT * FROM c AS x WHERE x.a = "\ud83d\ude00" AND x.b = "\ud83d"`, `SELECT * FROM c WHERE c.a = 'x`, "\xff", `@`, `"\u`,
	} {
		f.Add(s, `{"a":1,"id":"x"}`)
	}
	f.Fuzz(func(t *testing.T, text, body string) {
		q, err := ParseSimple(text, parameters())
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Line < 1 || syntax.Col < 1 || syntax.Message == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if doc.Valid([]byte(body), doc.Limits{}) == nil {
			q.Match([]byte(body))
		}
		// Blanks around a query make no difference.
		if _, err := ParseSimple(" \n"+text+"\t", parameters()); err != nil && len(text) < MaxText-3 {
			t.Fatalf("%q: with blanks around: %v", text, err)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	q, err := ParseSimple("SELECT * FROM c WHERE c.pk = 'tenant-7' AND c.n = 42", nil)
	if err != nil {
		b.Fatal(err)
	}
	body := []byte(`{"id":"0123456789","text":"` + strings.Repeat("x", 900) + `","n":42.0,"pk":"tenant-7"}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if !q.Match(body) {
			b.Fatal("no match")
		}
	}
}
