package plan

import (
	"math"
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// textScoreOrder is the order of documents by the full-text score of one of their properties. The statistics
// that the score needs are part of the query.
type textScoreOrder struct {
	CompiledRankScore
	x      syntax.Expr // the text
	Scores lang.BM25
}

// chooseTexts returns how an index serves ORDER BY _FullTextScore(path, [terms], numbers). It returns nil if
// no index does.
func (p *Planner) chooseTexts(key *bind.OrderKey) *textScoreOrder {
	c, ok := key.X.(*syntax.Call)
	if f, known := lang.Lookup(nameOf(c)); !ok || c.UDF || !known || f.Name != lang.TextScore || !key.Desc {
		return nil
	}
	path, indexed := p.textPath(c.Args[0])
	var constants []jsondoc.Value
	for _, arg := range c.Args[1:] {
		l, ok := arg.(*syntax.Literal)
		if !ok {
			return nil
		}
		constants = append(constants, l.Value)
	}
	hits, numbers := lang.AppendNumbers(nil, constants[3])
	if !indexed || !numbers || constants[0].Kind() != jsondoc.Array || !lang.AllOf(jsondoc.Number, constants[1],
		constants[2]) {
		return nil
	}
	o := &textScoreOrder{x: c.Args[0], Scores: lang.NewBM25(constants[1].Num(), constants[2].Num(), hits)}
	o.Path, o.Spoken, o.Valid = path, p.Info.Index.Language(path), true
	constants[0].Each(func(_ string, v jsondoc.Value) bool {
		term, ok := lang.CompileTerm(v, o.Spoken)
		o.Terms, o.Valid = append(o.Terms, term), o.Valid && ok
		return o.Valid
	})
	positive := !slices.ContainsFunc(o.Scores.Rarity, func(f float64) bool {
		return !(f > 0) || math.IsInf(f,
			0)
	})
	if !o.Valid || len(o.Terms) != len(hits) || !positive {
		return nil
	}
	return o
}

// String returns the property of the current document that is scored, or undefined if it is not a string.
func (o *textScoreOrder) String(f *eval.Frame) jsondoc.Value {
	if v := o.Text(f); v.Kind() == jsondoc.String {
		return v
	}
	return lang.Undefined
}

// nameOf returns the name of the called function; "" if it is no call.
func nameOf(c *syntax.Call) string {
	if c == nil {
		return ""
	}
	return c.Name
}

// textPath returns the path of a text whose words are indexed. The result is false for any other expression.
func (p *Planner) textPath(e syntax.Expr) (index.Path, bool) {
	route, entered, ok := p.ItemRoute(e)
	return route, ok && !entered && p.Info.Index.TextIndexed(route)
}
