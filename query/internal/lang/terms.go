package lang

import (
	"math"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// TextTerm is what a full-text search looks for: one word or, with several, a phrase. Its words are analysed
// like the text.
type TextTerm struct {
	Words    []index.Token // positions count from the first one
	language index.Language
	Distance int // how many letters a word may differ by: 0 to 2
}

// maxFuzz is how far a fuzzy term may be from what it finds.
const maxFuzz = 2

// CompileTerm reads a term: a string, or an object {"term": "blue", "distance": 1} for one that may be
// misspelled. ok is false where it is neither. language is that of the texts.
func CompileTerm(v jsondoc.Value, language index.Language) (t TextTerm, ok bool) {
	t.language = language
	text := v
	if v.Kind() == jsondoc.Object {
		text = v.Member("term")
		if d := v.Member("distance"); d.Kind() != jsondoc.Undefined {
			if t.Distance, ok = position(d); !ok || t.Distance < 0 || t.Distance > maxFuzz {
				return t, false
			}
		}
	}
	if text.Kind() != jsondoc.String {
		return t, false
	}
	t.Words = language.AppendTokens(nil, text.Str())
	for i := len(t.Words) - 1; i >= 0; i-- {
		t.Words[i].Position -= t.Words[0].Position
	}
	return t, true
}

// Count returns how often the term occurs in a text. A term of which the analysis leaves nothing does not
// occur.
func (t *TextTerm) count(tokens []index.Token) (n int) {
	if len(t.Words) == 0 {
		return 0
	}
	for i := range tokens {
		if t.at(tokens[i:]) {
			n++
		}
	}
	return n
}

// CountFor is count for a run that is told of the work.
func (t *TextTerm) CountFor(m *Meter, tokens []index.Token) int {
	if !m.Spend(TokenWork * len(tokens) * (1 + t.Distance)) {
		return 0
	}
	return t.count(tokens)
}

// TokenWork is the work of comparing a word with a term, for each letter by which it may differ.
const TokenWork = 32

// at reports whether the tokens begin with the term.
func (t *TextTerm) at(tokens []index.Token) bool {
	first := tokens[0].Position
	for i, word := range t.Words {
		if i >= len(tokens) || tokens[i].Position-first != word.Position ||
			!t.same(word.Term, tokens[i].Term) {
			return false
		}
	}
	return true
}

func (t *TextTerm) same(a, b string) bool {
	if t.Distance == 0 || a == b {
		return a == b
	}
	return EditDistance([]rune(a), []rune(b), t.Distance) <= t.Distance
}

// EditDistance returns how many letters must be put in, taken out or changed to make b of a, or more than
// limit where it is more than limit.
func EditDistance(a, b []rune, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range a {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j, s := range b {
			change := diagonal
			if r != s {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
			least = min(least, row[j+1])
		}
		if least > limit {
			return limit + 1
		}
	}
	return row[len(b)]
}

// The parameters of BM25: how soon more occurrences stop to matter, and how much the length of the text does.
const (
	bm25K = 1.2
	bm25B = 0.75
)

// BM25 is what the scores of texts are made of: how rare each term is, and how long a text is on average.
type BM25 struct {
	average float64
	Rarity  []float64
}

// NewBM25 prepares scores. documents is how many there are, words how many words all of them have together,
// and hits[i] how many of them have the i-th term. The numbers may come from elsewhere, so nothing is taken
// for granted about them.
func NewBM25(documents, words float64, hits []float64) BM25 {
	b := BM25{average: words / documents, Rarity: make([]float64, len(hits))}
	if !(b.average > 0) || math.IsInf(b.average, 0) {
		b.average = 1
	}
	for i, n := range hits {
		b.Rarity[i] = math.Log1p(max(documents-n+0.5, 0) / (max(n, 0) + 0.5))
	}
	return b
}

// Term is what the i-th term adds to the score of a text: length is how many words the text has, count how
// often it has the term, at least once.
func (b *BM25) Term(i, count, length int) float64 {
	frequency := float64(count)
	return b.Rarity[i] * frequency * (bm25K + 1) / (frequency +
		bm25K*(1-bm25B+bm25B*float64(length)/b.average))
}

// Score scores a text that has the i-th term counts[i] times.
func (b *BM25) Score(length int, counts []int) (score float64) {
	for i, n := range counts {
		if n > 0 {
			score += b.Term(i, n, length)
		}
	}
	return score
}
