package lang

import (
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func fullTextBuiltins() []Builtin {
	return []Builtin{
		{Name: "FULLTEXTCONTAINS", Min: 2, Max: 2, Fn: fullTextContains(allTrue)},
		{Name: "FULLTEXTCONTAINSALL", Min: 2, Max: -1, Fn: fullTextContains(allTrue)},
		{Name: "FULLTEXTCONTAINSANY", Min: 2, Max: -1, Fn: fullTextContains(anyOf)},
		{Name: "FULLTEXTSCORE", Min: 2, Max: -1, Class: ClassRank},
		{Name: "RRF", Min: 0, Max: -1, Class: ClassRank},
		{Name: "_FULLTEXTWORDCOUNT", Min: 1, Max: 1, Fn: fnWordCount},
		{Name: TextScore, Min: 5, Max: 5, Fn: fnFullTextScore},
	}
}

// searchTermsCache keeps the compiled search terms of the last call of a full text function, since most
// queries use the same terms for every row. It also has a buffer for the words of a text.
type searchTermsCache struct {
	values []jsondoc.Value
	terms  []TextTerm
	valid  []bool
	tokens []index.TextToken
	spoken index.Language // language of the terms
	counts []int
}

// Get compiles terms, unless they are the same as in the last call.
func (t *searchTermsCache) Get(values []jsondoc.Value,
	language index.Language) (terms []TextTerm, valid []bool) {
	if t.terms != nil && t.spoken == language && slices.EqualFunc(values, t.values, jsondoc.Equal) {
		return t.terms, t.valid
	}
	t.values, t.terms, t.valid, t.spoken = nil, []TextTerm{}, nil, language
	for _, v := range values {
		term, ok := CompileTerm(v, language)
		t.values, t.terms, t.valid = append(t.values, v.Clone()), append(t.terms, term), append(t.valid, ok)
	}
	return t.terms, t.valid
}

// Words returns the words of a text. The result is valid until the next call.
func (c *CallContext) Words(text jsondoc.Value, language index.Language) []index.TextToken {
	c.terms.tokens = language.AppendTokens(c.terms.tokens[:0], text.Str())
	return c.terms.tokens
}

// fullTextContains returns the implementation of FULLTEXTCONTAINS, FULLTEXTCONTAINSALL or
// FULLTEXTCONTAINSANY: whether a text contains a term, all terms, or any term. combine makes the result
// from the results of the single terms: it gets their number and a function that tests the i-th.
func fullTextContains(combine func(int, func(int) jsondoc.Value) jsondoc.Value) func(*CallContext,
	[]jsondoc.Value) jsondoc.Value {
	return func(c *CallContext, args []jsondoc.Value) jsondoc.Value {
		if args[0].Kind() != jsondoc.String {
			return Undefined
		}
		terms, valid := c.terms.Get(args[1:], c.Language)
		if slices.Contains(valid, false) {
			return Undefined
		}
		tokens := c.Words(args[0], c.Language)
		return combine(len(terms),
			func(i int) jsondoc.Value {
				return jsondoc.BoolValue(terms[i].CountFor(&c.ResourceLimiter,
					tokens) > 0)
			})
	}
}

func fnWordCount(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	if args[0].Kind() != jsondoc.String {
		return Undefined
	}
	return jsondoc.NumberValue(float64(len(c.Words(args[0], c.Language))))
}

// fnFullTextScore returns the score of a text for an array of terms. Its further arguments are the number of
// documents, the number of words, and an array with the number of documents that have each term.
func fnFullTextScore(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	if args[0].Kind() != jsondoc.String || args[1].Kind() != jsondoc.Array || !AllOf(jsondoc.Number, args[2], args[3]) {
		return Undefined
	}
	var values []jsondoc.Value
	args[1].Each(func(_ string, v jsondoc.Value) bool {
		values = append(values, v)
		return true
	})
	terms, valid := c.terms.Get(values, c.Language)
	hits, ok := AppendNumbers(c.numbers[0][:0], args[4])
	c.numbers[0] = hits
	if !ok || len(hits) != len(terms) || slices.Contains(valid, false) {
		return Undefined
	}
	tokens := c.Words(args[0], c.Language)
	counts := c.terms.counts[:0]
	for i := range terms {
		counts = append(counts, terms[i].CountFor(&c.ResourceLimiter, tokens))
	}
	c.terms.counts = counts
	scores := NewBM25(args[2].Num(), args[3].Num(), hits)
	return jsondoc.NumberValue(scores.Score(len(tokens), counts))
}
