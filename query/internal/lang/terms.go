package lang

import (
	"math"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// TextTerm is a term of a full-text search: one word, or several words, which are a phrase. The words are
// analysed like those of texts.
type TextTerm struct {
	Words    []index.TextToken // their positions count from the first word
	language index.Language
	Distance int // maximum edit distance of a word: 0 to 2
}

// maxFuzz is the maximum edit distance of a fuzzy term.
const maxFuzz = 2

// CompileTerm compiles a term: a string, or an object {"term": "blue", "distance": 1} for a fuzzy term. ok is
// false if v is neither. language is that of the texts.
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

// count returns how often the term occurs in a text. A term without words after its analysis never occurs.
func (t *TextTerm) count(tokens []index.TextToken) (n int) {
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

// CountFor returns how often the term occurs in a text. It reports its work to the meter, and returns 0 if
// the run has ended.
func (t *TextTerm) CountFor(m *ResourceLimiter, tokens []index.TextToken) int {
	if !m.Spend(TokenWork * len(tokens) * (1 + t.Distance)) {
		return 0
	}
	return t.count(tokens)
}

// TokenWork is the work, in units of ResourceLimiter.Spend, of comparing a word of a text with a term
// exactly. A fuzzy comparison costs as much again for each letter of edit distance.
const TokenWork = 32

// at reports whether the tokens begin with the term.
func (t *TextTerm) at(tokens []index.TextToken) bool {
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

// EditDistance returns how many letters must be inserted, removed or changed to turn a into b, or a number
// greater than limit if the distance exceeds it.
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

// The parameters of BM25: the saturation of term counts, and the weight of the text length.
const (
	bm25K = 1.2
	bm25B = 0.75
)

// BM25 computes the scores of texts from the rarity of each term and the average length of the texts.
type BM25 struct {
	average float64
	Rarity  []float64
}

// NewBM25 prepares scores. documents is the number of documents, words the number of words of all documents
// together, and hits[i] the number of documents with the i-th term. The numbers may come from a client, so
// any values are accepted.
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

// Term returns the contribution of the i-th term to the score of a text. length is the number of words of the
// text, count the number of occurrences of the term, at least one.
func (b *BM25) Term(i, count, length int) float64 {
	frequency := float64(count)
	return b.Rarity[i] * frequency * (bm25K + 1) / (frequency +
		bm25K*(1-bm25B+bm25B*float64(length)/b.average))
}

// Score returns the score of a text in which the i-th term occurs counts[i] times.
func (b *BM25) Score(length int, counts []int) (score float64) {
	for i, n := range counts {
		if n > 0 {
			score += b.Term(i, n, length)
		}
	}
	return score
}
