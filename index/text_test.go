package index

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func tokens(text string) string {
	var b strings.Builder
	for _, t := range English.AppendTokens(nil, text) {
		fmt.Fprintf(&b, "%s@%d ", t.Term, t.Position)
	}
	return strings.TrimSuffix(b.String(), " ")
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "",
		" \t-- ,;":                            "",
		"Red mountain bikes":                  "red@0 mountain@1 bike@2",
		"The bike, and a BIKING cat":          "bike@1 bike@4 cat@5",
		"don't 'quote' rock’n’roll":           "don't@0 quot@1 rock'n'rol@2",
		"x-ray 3.14 a1":                       "x@0 ray@1 3@2 14@3 a1@4",
		"Größe ÄRGER naïve":                   "größe@0 ärger@1 naïv@2",
		"日本 語です":                              "日@0 本@1 語@2 で@3 す@4",
		"कुत्ता":                              "कुत्ता@0",
		"to be or not to be":                  "",
		strings.Repeat("x", 300) + " running": strings.Repeat("x", maxWord) + "@0 run@1",
	} {
		if got := tokens(text); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("Red mountain bikes don't 日本 語 ''’y")
	f.Fuzz(func(t *testing.T, text string) {
		last := -1
		for _, token := range English.AppendTokens(nil, text) {
			if token.Term == "" || !utf8.ValidString(token.Term) || len(token.Term) > maxWord+8 ||
				token.Position <= last {
				t.Fatalf("%q gives %+v behind position %d", text, token, last)
			}
			last = token.Position
		}
		if a, b := tokens(text), tokens(" "+text+"."); a != b {
			t.Fatalf("%q gives %q, among blanks %q", text, a, b)
		}
	})
}
