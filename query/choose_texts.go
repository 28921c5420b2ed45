package query

import (
	"math"
	"slices"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// textOrder is a way to order documents by the score of a text, with numbers that the query has.
type textOrder struct {
	ranker
	x      syntax.Expr // the text
	scores lang.Bm25
}

// chooseTexts returns how an index serves ORDER BY _FullTextScore(path, [terms], numbers); nil where none
// does.
func (p *planner) chooseTexts(key *orderKey) *textOrder {
	c, ok := key.x.(*syntax.Call)
	if f, known := lang.LookupBuiltin(nameOf(c)); !ok || c.UDF || !known || f.Name != lang.TextScore || !key.desc {
		return nil
	}
	path, indexed := p.textPath(c.Args[0])
	var constants []doc.Value
	for _, arg := range c.Args[1:] {
		l, ok := arg.(*syntax.Literal)
		if !ok {
			return nil
		}
		constants = append(constants, l.Value)
	}
	hits, numbers := lang.AppendNumbers(nil, constants[3])
	if !indexed || !numbers || constants[0].Kind() != doc.Array || !lang.AllOf(doc.Number, constants[1], constants[2]) {
		return nil
	}
	o := &textOrder{x: c.Args[0], scores: lang.NewBM25(constants[1].Num(), constants[2].Num(), hits)}
	o.path, o.spoken, o.valid = path, p.info.Index.Language(path), true
	constants[0].Each(func(_ string, v doc.Value) bool {
		term, ok := lang.CompileTerm(v, o.spoken)
		o.terms, o.valid = append(o.terms, term), o.valid && ok
		return o.valid
	})
	positive := !slices.ContainsFunc(o.scores.Rarity, func(f float64) bool { return !(f > 0) || math.IsInf(f, 0) })
	if !o.valid || len(o.terms) != len(hits) || !positive {
		return nil
	}
	return o
}

// string is the text of the document that the frame is at; undefined where it has none.
func (o *textOrder) string(f *frame) doc.Value {
	if v := o.text(f); v.Kind() == doc.String {
		return v
	}
	return lang.Undefined
}

// nameOf is the name that a function is called by; "" for no call.
func nameOf(c *syntax.Call) string {
	if c == nil {
		return ""
	}
	return c.Name
}

// textPath returns the path of a text whose words are indexed.
func (p *planner) textPath(e syntax.Expr) (index.Path, bool) {
	route, entered, ok := p.itemRoute(e)
	return route, ok && !entered && p.info.Index.TextIndexed(route)
}
