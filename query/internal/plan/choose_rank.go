package plan

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
)

// LeastRanked is the least number of documents that each score of ORDER BY RANK RRF(...) contributes to
// the fusion: its best ones. If twice the number of rows up to the end of the page is higher, it
// contributes that many.
const LeastRanked = 120

// CompiledRankScore is one score of ORDER BY RANK in compiled form: it computes the score of a document and
// compares scores. It also says which index returns the documents in the order of the score, if there is one.
type CompiledRankScore struct {
	Text   eval.ValueFunc // nil for a VectorDistance
	Spoken index.Language
	Terms  []lang.TextTerm
	Valid  bool
	Path   index.Path     // path of the text, if its words are indexed; else nil
	Score  eval.ValueFunc // of a VectorDistance
	// Vectors says how a vector index returns the documents in the order of this score, the nearest vectors
	// first. It is nil if no index can do so, for example because the score prefers the most distant vectors.
	Vectors *VectorOrder
	rising  bool
	Weight  float64
}

// compileRankers compiles the scores of ORDER BY RANK.
func compileRankers(c *eval.Compiler, p *Planner, parts []*bind.RankScore) []CompiledRankScore {
	list := make([]CompiledRankScore, len(parts))
	for i, part := range parts {
		r := &list[i]
		r.rising, r.Weight = part.Rising, part.Weight
		if part.Text == nil {
			r.Score = c.Value(part.Call)
			if v := p.chooseVectors(part.Call); v != nil && v.Metric.Descending() != part.Rising {
				r.Vectors = v
			}
			continue
		}
		r.Text = c.Value(part.Text)
		r.Spoken = c.LanguageAt(part.Text)
		r.Terms, r.Valid = part.TextTerms(r.Spoken)
		if path, ok := p.textPath(part.Text); ok {
			r.Path = path
		}
	}
	return list
}

// Compare compares scores: the best first, missing ones last.
func (r *CompiledRankScore) Compare(a, b float64) int {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return cmp.Compare(eval.TruthBit(math.IsNaN(a)), eval.TruthBit(math.IsNaN(b)))
	case r.rising:
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

// Streams reports whether a query with ORDER BY RANK can be answered without ranking all documents: for each
// score an index returns the best documents in order, and the best ones are enough. A fusion of several
// scores without a limit needs all documents.
func (p *Plan) Streams() bool {
	parts := p.Rank
	return len(parts) > 0 && (len(parts) == 1 || p.Top.Limit >= 0) &&
		!slices.ContainsFunc(parts, func(r CompiledRankScore) bool { return !r.Streams() })
}

// Streams reports whether an index returns the best documents by this score in order.
func (r *CompiledRankScore) Streams() bool {
	return r.Vectors != nil || r.Text != nil && r.Valid && !r.rising
}

// rankText describes, for the output of a plan, the indexes that serve the scores of ORDER BY RANK.
func rankText(parts []CompiledRankScore) string {
	texts := make([]string, len(parts))
	for i, r := range parts {
		if texts[i] = "words of " + r.Path.String(); r.Vectors != nil {
			texts[i] = r.Vectors.String()
		}
	}
	return strings.Join(texts, ", and by ")
}
