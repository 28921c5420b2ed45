package syntax

import (
	"testing"
)

// FuzzParse checks that a query that is accepted can be printed and parsed again with the same result, and
// that any other text gets a *SizeLimitError, or an *Error whose position is in the text.
func FuzzParse(f *testing.F) {
	for _, c := range queryCases(f) {
		f.Add(c.Query)
	}
	for _, text := range []string{
		"FROM c WHERE c.a = 1",
		"SELECT * FROM c WHERE ({documentdb-formattableorderbyquery-filter})",
		"SELECT '\\ud83d\\ude00\\u0000', 0x1F, 1.5e-2 /* a */ -- b",
		"SELECT TOP 1 - -1 FROM (SELECT 1) ORDER BY RANK f(1)",
		"SELECT NOT - -1 >>> 2 << ~3 ?? 4 ? 5 : 6 OFFSET @a LIMIT 1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) (*QueryTree, error){Parse, ParseLenient, ParseCondition} {
			q, err := parse(text)
			switch {
			case err == nil:
				if len(Print(q)) <= MaxText { // the canonical form may be longer than the text
					roundTrip(t, q)
				}
			default:
				if _, ok := err.(*SizeLimitError); !ok {
					wantError(t, "fuzz", text, err)
				}
			}
		}
	})
}
