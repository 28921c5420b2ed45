package query

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/internal/lang"
)

// leastRanked is how many documents are taken by each score, at least; and twice what the page is to hold.
const leastRanked = 120

// ranker is a compiled part of ORDER BY RANK.
type ranker struct {
	text   valuer // nil for a VectorDistance
	spoken index.Language
	terms  []lang.TextTerm
	valid  bool
	path   index.Path // of a text whose words are indexed; nil where they are not
	score  valuer     // of a VectorDistance
	// how an index has the nearest vectors, where these are the best ones; nil: none has
	vectors *vectors
	rising  bool
	weight  float64
}

// compileRankers compiles ORDER BY RANK.
func compileRankers(c *compiler, p *planner, parts []*rankPart) []ranker {
	list := make([]ranker, len(parts))
	for i, part := range parts {
		r := &list[i]
		r.rising, r.weight = part.rising, part.weight
		if part.text == nil {
			r.score = c.value(part.call)
			if v := p.chooseVectors(part.call); v != nil && v.metric.Descending() != part.rising {
				r.vectors = v
			}
			continue
		}
		r.text = c.value(part.text)
		r.spoken = c.spokenAt(part.text)
		r.terms, r.valid = part.textTerms(r.spoken)
		if path, ok := p.textPath(part.text); ok {
			r.path = path
		}
	}
	return list
}

// better puts scores in order, the best first, those that are none last.
func (r *ranker) better(a, b float64) int {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return cmp.Compare(truthBit(math.IsNaN(a)), truthBit(math.IsNaN(b)))
	case r.rising:
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

// streams tells whether all parts give out their best documents in order. Of a fusion without an end all
// documents are wanted.
func (p *planned) streams() bool {
	parts := p.rank
	return len(parts) > 0 && (len(parts) == 1 || p.top.limit >= 0) &&
		!slices.ContainsFunc(parts, func(r ranker) bool { return !r.streams() })
}

func (r *ranker) streams() bool { return r.vectors != nil || r.text != nil && r.valid && !r.rising }

// rankText says what indexes the parts have.
func rankText(parts []ranker) string {
	texts := make([]string, len(parts))
	for i, r := range parts {
		if texts[i] = "words of " + r.path.String(); r.vectors != nil {
			texts[i] = r.vectors.String()
		}
	}
	return strings.Join(texts, ", and by ")
}
