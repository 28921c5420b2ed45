package query

import (
	"math"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
)

// textTerm is what a full-text search looks for: one word or, with several, a phrase. Its words are analysed
// like the text.
type textTerm struct {
	words    []index.Token // positions count from the first one
	language index.Language
	distance int // how many letters a word may differ by: 0 to 2
}

// maxFuzz is how far a fuzzy term may be from what it finds.
const maxFuzz = 2

// compileTerm reads a term: a string, or an object {"term": "blue", "distance": 1} for one that may be
// misspelled. ok is false where it is neither. language is that of the texts.
func compileTerm(v doc.Value, language index.Language) (t textTerm, ok bool) {
	t.language = language
	text := v
	if v.Kind() == doc.Object {
		text = v.Member("term")
		if d := v.Member("distance"); d.Kind() != doc.Undefined {
			if t.distance, ok = position(d); !ok || t.distance < 0 || t.distance > maxFuzz {
				return t, false
			}
		}
	}
	if text.Kind() != doc.String {
		return t, false
	}
	t.words = language.AppendTokens(nil, text.Str())
	for i := len(t.words) - 1; i >= 0; i-- {
		t.words[i].Position -= t.words[0].Position
	}
	return t, true
}

// count returns how often the term occurs in a text. A term of which the analysis leaves nothing does not
// occur.
func (t *textTerm) count(tokens []index.Token) (n int) {
	if len(t.words) == 0 {
		return 0
	}
	for i := range tokens {
		if t.at(tokens[i:]) {
			n++
		}
	}
	return n
}

// countFor is count for a run that is told of the work.
func (t *textTerm) countFor(m *meter, tokens []index.Token) int {
	if !m.spend(tokenWork * len(tokens) * (1 + t.distance)) {
		return 0
	}
	return t.count(tokens)
}

// tokenWork is the work of comparing a word with a term, for each letter by which it may differ.
const tokenWork = 32

// at tells whether the tokens begin with the term.
func (t *textTerm) at(tokens []index.Token) bool {
	first := tokens[0].Position
	for i, word := range t.words {
		if i >= len(tokens) || tokens[i].Position-first != word.Position ||
			!t.same(word.Term, tokens[i].Term) {
			return false
		}
	}
	return true
}

func (t *textTerm) same(a, b string) bool {
	if t.distance == 0 || a == b {
		return a == b
	}
	return editDistance([]rune(a), []rune(b), t.distance) <= t.distance
}

// editDistance returns how many letters must be put in, taken out or changed to make b of a, or more than
// limit where it is more than limit.
func editDistance(a, b []rune, limit int) int {
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

// bm25 is what the scores of texts are made of: how rare each term is, and how long a text is on average.
type bm25 struct {
	average float64
	rarity  []float64
}

// newBM25 prepares scores. documents is how many there are, words how many words all of them have together,
// and hits[i] how many of them have the i-th term. The numbers may come from elsewhere, so nothing is taken
// for granted about them.
func newBM25(documents, words float64, hits []float64) bm25 {
	b := bm25{average: words / documents, rarity: make([]float64, len(hits))}
	if !(b.average > 0) || math.IsInf(b.average, 0) {
		b.average = 1
	}
	for i, n := range hits {
		b.rarity[i] = math.Log1p(max(documents-n+0.5, 0) / (max(n, 0) + 0.5))
	}
	return b
}

// term is what the i-th term adds to the score of a text: length is how many words the text has, count how
// often it has the term, at least once.
func (b *bm25) term(i, count, length int) float64 {
	frequency := float64(count)
	return b.rarity[i] * frequency * (bm25K + 1) / (frequency +
		bm25K*(1-bm25B+bm25B*float64(length)/b.average))
}

// score scores a text that has the i-th term counts[i] times.
func (b *bm25) score(length int, counts []int) (score float64) {
	for i, n := range counts {
		if n > 0 {
			score += b.term(i, n, length)
		}
	}
	return score
}
