package query

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// pieces are the parts from which randomTokens builds expressions: whole tokens, parts of tokens, and
// invalid characters.
var pieces = []string{
	"1", "0", "01", "1.", ".5", "1.5", "1e2", "1.e2", ".5e-3", "1e", "1e+", "1e400", "1e-400", "0x1F", "0X",
	"0xg", "0xFFFFFFFFFFFFFFFF",
	"0x7fffffffffffffff", "0x10000000000000000", "9007199254740993", "1_0", "1a", "7é", "1²", ".", "..", "e",
	"x",
	`"a"`, `'a'`, `"\q"`, `"\n\t\/\\"`, `"\u00e9"`, `"\u00"`, `"\u"`, `"\é"`, `'\''`, `"'"`, `"`, `'`, `\`,
	"c.a", "c.é", "c.日本", "c.a²", "c.٣", "c.Ⅷ", "c.€", "c._a1", "c[\"a\"]", "c[0]", "c[01]", "c[-1]",
	"c[0x1]",
	"+", "-", "*", "/", "%", "&", "|", "^", "~", "||", "??", "=", "!=", "<>", "<", "<=", ">", ">=", "<<",
	">>", ">>>", "!", "==", "&&",
	"AND", "or", "NOT", "IN", "LIKE", "BETWEEN", "IS", "NULL", "null", "true", "False", "undefined", "UDF",
	"udf.f(1)",
	"(", ")", "[", "]", "{", "}", ",", ":", "?", ";", "$", "#", "@", "`", "@p", "-- x\n", "--", "/*", " ",
	"\t", "\u00a0", "\u2003", "\u180e", "\ufeff",
}

// randomTokens returns a query in which a few random pieces of text stand in place of an expression. About
// half of these queries are valid.
func randomTokens(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("SELECT VALUE [1, ")
	for n := 1 + r.IntN(4); n > 0; n-- {
		b.WriteString(pieces[r.IntN(len(pieces))])
		if r.IntN(2) == 0 {
			b.WriteByte(' ')
		}
	}
	b.WriteString("] FROM c ORDER BY c.a")
	return b.String()
}

// TestCompilerTokens compares the syntax analysis of random texts with that of Cosmos DB's query compiler:
// whether they are accepted, the positions of errors, and the constants that are read.
func TestCompilerTokens(t *testing.T) {
	t.Parallel()
	folder := os.Getenv(compilerFolder)
	if folder == "" {
		t.Skip(compilerFolder + " names no folder with queryplan.py: Cosmos DB's query compiler is not asked")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 22))
	texts := make([]string, tokenRows)
	for i := range texts {
		texts[i] = randomTokens(r)
	}
	bare := strings.NewReplacer("(", "", ")", "", " ", "") // the compiler writes (- "a") for -"a"
	differ := 0
	for i, want := range askCompiler(t, folder, texts) {
		if got := ourAnswer(t, texts[i]); bare.Replace(got) != bare.Replace(want) {
			differ++
			t.Logf("%q\ngot  %s\nwant %s", texts[i], got, want)
		}
	}
	t.Logf("%d of %d differ", differ, len(texts))
	if differ*100 > len(texts) {
		t.Errorf("%d of %d differ", differ, len(texts))
	}
}
