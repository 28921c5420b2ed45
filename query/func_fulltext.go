package query

import (
	"slices"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
)

func fullTextBuiltins() []builtin {
	return []builtin{
		{name: "FULLTEXTCONTAINS", min: 2, max: 2, fn: fullTextContains(allTrue)},
		{name: "FULLTEXTCONTAINSALL", min: 2, max: -1, fn: fullTextContains(allTrue)},
		{name: "FULLTEXTCONTAINSANY", min: 2, max: -1, fn: fullTextContains(anyOf)},
		{name: "FULLTEXTSCORE", min: 2, max: -1, class: classRank},
		{name: "RRF", min: 0, max: -1, class: classRank},
		{name: "_FULLTEXTWORDCOUNT", min: 1, max: 1, fn: fnWordCount},
		{name: textScore, min: 5, max: 5, fn: fnFullTextScore},
	}
}

// termsCache keeps the terms of a query, which are the same for every row in most cases, and the memory for
// the words of a text.
type termsCache struct {
	values []doc.Value
	terms  []textTerm
	valid  []bool
	tokens []index.Token
	spoken index.Language // of the terms
	counts []int
}

// get compiles terms, unless they are those of the last time.
func (t *termsCache) get(values []doc.Value, language index.Language) (terms []textTerm, valid []bool) {
	if t.terms != nil && t.spoken == language && slices.EqualFunc(values, t.values, doc.Equal) {
		return t.terms, t.valid
	}
	t.values, t.terms, t.valid, t.spoken = nil, []textTerm{}, nil, language
	for _, v := range values {
		term, ok := compileTerm(v, language)
		t.values, t.terms, t.valid = append(t.values, v.Clone()), append(t.terms, term), append(t.valid, ok)
	}
	return t.terms, t.valid
}

// words analyses a text. What it returns is good until the next call.
func (c *call) words(text doc.Value, language index.Language) []index.Token {
	c.terms.tokens = language.AppendTokens(c.terms.tokens[:0], text.Str())
	return c.terms.tokens
}

// fullTextContains makes a function that looks for terms in a text.
func fullTextContains(combine func(int, func(int) doc.Value) doc.Value) func(*call, []doc.Value) doc.Value {
	return func(c *call, args []doc.Value) doc.Value {
		if args[0].Kind() != doc.String {
			return undefined
		}
		terms, valid := c.terms.get(args[1:], c.language)
		if slices.Contains(valid, false) {
			return undefined
		}
		tokens := c.words(args[0], c.language)
		return combine(len(terms),
			func(i int) doc.Value { return doc.BoolValue(terms[i].countFor(&c.meter, tokens) > 0) })
	}
}

func fnWordCount(c *call, args []doc.Value) doc.Value {
	if args[0].Kind() != doc.String {
		return undefined
	}
	return doc.NumberValue(float64(len(c.words(args[0], c.language))))
}

// fnFullTextScore scores a text for an array of terms, given how many documents and words there are and an
// array of how many documents have each term.
func fnFullTextScore(c *call, args []doc.Value) doc.Value {
	if args[0].Kind() != doc.String || args[1].Kind() != doc.Array || !allOf(doc.Number, args[2], args[3]) {
		return undefined
	}
	var values []doc.Value
	args[1].Each(func(_ string, v doc.Value) bool {
		values = append(values, v)
		return true
	})
	terms, valid := c.terms.get(values, c.language)
	hits, ok := appendNumbers(c.numbers[0][:0], args[4])
	c.numbers[0] = hits
	if !ok || len(hits) != len(terms) || slices.Contains(valid, false) {
		return undefined
	}
	tokens := c.words(args[0], c.language)
	counts := c.terms.counts[:0]
	for i := range terms {
		counts = append(counts, terms[i].countFor(&c.meter, tokens))
	}
	c.terms.counts = counts
	scores := newBM25(args[2].Num(), args[3].Num(), hits)
	return doc.NumberValue(scores.score(len(tokens), counts))
}
