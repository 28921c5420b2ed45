package bind

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// RankScore is one score of ORDER BY RANK: a FullTextScore or a VectorDistance.
type RankScore struct {
	Call   syntax.Expr   // the whole function call
	Text   syntax.Expr   // the first argument of FullTextScore; nil for a VectorDistance
	Terms  []syntax.Expr // its other arguments
	Rising bool          // smaller values are better
	Weight float64
}

const (
	fullTextScore = "FULLTEXTSCORE"
	rankFusion    = "RRF"
)

// orderByRank binds ORDER BY RANK with one score, or with RRF over several.
func (b *Binder) orderByRank(bl *QueryBlock, s *nameScope, q *syntax.QueryTree) {
	for i := len(q.From) - 1; i > 0; i-- { // a JOIN covers all sources before it
		b.failCode(syntax.TextSpan{Start: q.From[0].Start, End: q.From[i].End}, queryerror.CodeRankJoin,
			"The JOIN operator is not allowed with the ORDER BY RANK clause.")
	}
	for _, src := range q.From {
		switch {
		case src.In:
			b.failCode(src, queryerror.CodeRankIn,
				"The FROM clause with the IN operator is not allowed with the ORDER BY RANK clause.")
		case src.Sub != nil:
			b.failCode(src, queryerror.CodeRankSubquery,
				"Subqueries in the FROM clause are not allowed with the ORDER BY RANK clause.")
		}
	}
	b.rankedWithout(bl, q)
	if q.OrderBy.Directed {
		b.failCode(q.OrderBy, queryerror.CodeRankDirection,
			"Specifying a sort order (ASC or DESC) in the ORDER BY RANK clause is not allowed.")
	}
	call := q.OrderBy.Rank
	fn := b.rankFunction(call)
	if fn == "" {
		b.noRankFunction(q)
		return
	}
	before := len(b.errs)
	b.expr(call, &enclosingClause{block: bl, scope: s, clause: "RANK", rank: call})
	if len(b.errs) > before {
		return
	}
	if fn == rankFusion {
		b.fusion(bl, q)
		return
	}
	bl.Rank = []*RankScore{b.rankPart(call, fn)}
}

// rankedWithout refuses the clauses that cannot be combined with ORDER BY RANK: groups, aggregates and
// DISTINCT.
func (b *Binder) rankedWithout(bl *QueryBlock, q *syntax.QueryTree) {
	if len(q.GroupBy) > 0 {
		clause := syntax.TextSpan{Start: q.GroupBy[0].Extent().Start,
			End: q.GroupBy[len(q.GroupBy)-1].Extent().End}
		clause.Start = max(0, lastWord([]rune(b.Text)[:clause.Start], "GROUP"))
		b.failCode(clause, queryerror.CodeRankGroupBy,
			"The GROUP BY clause is not allowed with the ORDER BY RANK clause.")
	}
	for c, ref := range b.Aggs {
		if ref.Block == bl {
			b.failCode(c, queryerror.CodeRankAggregate,
				"Aggregate functions are not allowed with the ORDER BY RANK clause.")
		}
	}
	if q.Select.Distinct {
		b.failCode(q.Select, queryerror.CodeRankDistinct,
			"The DISTINCT keyword is not allowed with the ORDER BY RANK clause.")
	}
}

// lastWord returns the index of the last occurrence of a word of ASCII letters in a text, ignoring case, or
// -1.
func lastWord(text []rune, word string) int {
	for i := len(text) - len(word); i >= 0; i-- {
		if strings.EqualFold(string(text[i:i+len(word)]), word) {
			return i
		}
	}
	return -1
}

// rankFunction returns the registered name of a function that is allowed in ORDER BY RANK, or "".
func (b *Binder) rankFunction(e syntax.Expr) string {
	c, ok := e.(*syntax.Call)
	if !ok || c.UDF {
		return ""
	}
	fn, ok := lang.Lookup(c.Name)
	if !ok || fn.Name != fullTextScore && fn.Name != lang.VectorDistance && fn.Name != rankFusion {
		return ""
	}
	return fn.Name
}

// fusion binds RRF(score, score, ... [, weights]).
func (b *Binder) fusion(bl *QueryBlock, q *syntax.QueryTree) {
	args := q.OrderBy.Rank.Args
	before := len(b.errs)
	var weights []float64
	if n := len(args) - 1; n > 0 && b.isList(args[n]) {
		var ok bool
		if weights, ok = b.weights(args[n]); !ok || len(weights) != n {
			b.failCode(q.OrderBy, queryerror.CodeRankWeights,
				"The last parameter of the RRF function is an optional array of weights. When present, it must be a "+
					"literal array of numbers, one for each of the component scores used for the RRF function. The length "+
					"of this array must be the same as the number of the component scores.")
		}
		args = args[:n]
	}
	if len(args) < 2 {
		b.failCode(q.OrderBy, queryerror.CodeFewScores,
			"A score fusion function requires at least two component score functions.")
	}
	for _, arg := range args {
		if fn := b.rankFunction(arg); fn == "" || fn == rankFusion {
			b.noRankFunction(q)
		}
	}
	if len(b.errs) > before {
		return
	}
	for i, arg := range args {
		part := b.rankPart(arg.(*syntax.Call), b.rankFunction(arg))
		if weights != nil {
			part.Weight = weights[i]
		}
		if part.Weight < 0 { // Cosmos DB then ranks the lowest scores first
			part.Weight, part.Rising = -part.Weight, !part.Rising
		}
		bl.Rank = append(bl.Rank, part)
	}
}

func (b *Binder) noRankFunction(q *syntax.QueryTree) {
	b.failCode(q.OrderBy, queryerror.CodeRankFunction,
		"The ORDER BY RANK clause must be followed by a VectorDistance and/or a FullTextScore function call.")
}

// isList reports whether an expression is an array literal, or a parameter whose value is an array.
func (b *Binder) isList(e syntax.Expr) bool {
	_, literal := e.(*syntax.ArrayLiteral)
	p, parameter := e.(*syntax.Parameter)
	return literal || parameter && b.PinnedValue(p.Name).Kind() == jsondoc.Array
}

// weights returns the values of an array literal of numbers, or of a parameter whose value is one. The result
// is false for any other expression.
func (b *Binder) weights(e syntax.Expr) ([]float64, bool) {
	var weights []float64
	number := func(v jsondoc.Value) bool {
		weights = append(weights, v.Num())
		return v.Kind() == jsondoc.Number
	}
	switch e := e.(type) {
	case *syntax.Parameter:
		ok := b.PinnedValue(e.Name).Kind() == jsondoc.Array
		b.PinnedValue(e.Name).Each(func(_ string, v jsondoc.Value) bool {
			ok = ok && number(v)
			return ok
		})
		return weights, ok
	case *syntax.ArrayLiteral:
		for _, elem := range e.Elems {
			minus := false
			if u, ok := elem.(*syntax.Unary); ok && u.Op == syntax.Neg {
				elem, minus = u.X, true
			}
			if !number(b.literalOf(elem)) {
				return nil, false
			}
			if n := len(weights) - 1; minus {
				weights[n] = -weights[n]
			}
		}
		return weights, true
	}
	return nil, false
}

func (b *Binder) rankPart(call *syntax.Call, fn string) *RankScore {
	if fn == lang.VectorDistance {
		return &RankScore{Call: call, Rising: b.Euclidean(call), Weight: 1}
	}
	return &RankScore{Call: call, Text: call.Args[0], Terms: call.Args[1:], Weight: 1}
}

// Euclidean reports whether a smaller result of a VectorDistance means a nearer vector, according to the
// call's options or the vector policy.
func (b *Binder) Euclidean(c *syntax.Call) bool {
	name := ""
	if len(c.Args) == 4 {
		name = b.DistanceOption(c.Args[3])
	} else {
		name = b.DistanceOf(c)
	}
	metric, ok := lang.MetricOf(name)
	return ok && !metric.Descending()
}

// DistanceOption returns the distance function that is named in the options of a call.
func (b *Binder) DistanceOption(options syntax.Expr) string {
	switch e := options.(type) {
	case *syntax.Parameter:
		return b.PinnedValue(e.Name).Member("distanceFunction").Str()
	case *syntax.Literal:
		return e.Value.Member("distanceFunction").Str()
	case *syntax.ObjectLiteral:
		if i := slices.Index(e.Keys, "distanceFunction"); i >= 0 {
			if l, ok := e.Values[i].(*syntax.Literal); ok {
				return l.Value.Str()
			}
		}
	}
	return ""
}

// DistanceOf returns the distance function that the vector policy sets for either of the paths in a call.
func (b *Binder) DistanceOf(c *syntax.Call) string {
	for _, arg := range c.Args[:min(2, len(c.Args))] {
		if route, _, ok := b.ItemRoute(arg); ok {
			if distance, ok := b.Info.Vectors[route.String()]; ok {
				return distance
			}
		}
	}
	return ""
}

// scoreTerms refuses a FullTextScore with terms other than string literals, object literals with a term and a
// distance, and parameters with such values.
func (b *Binder) scoreTerms(c *syntax.Call) {
	if slices.ContainsFunc(c.Args[1:], func(e syntax.Expr) bool { return !b.isTerm(e) }) {
		b.failCode(c.Args[1], queryerror.CodeScoreTerms,
			"The second through last arguments of the 'FullTextScore' function must be literals of type string or "+
				"object specifying the fuzzy search argument containing a 'term' property which is a string and a 'distance' property which is a "+
				"number between 0 and 2 (inclusive).")
	}
}

func (b *Binder) isTerm(e syntax.Expr) bool {
	o, ok := e.(*syntax.ObjectLiteral)
	if !ok {
		v := b.literalOf(e)
		return v.Kind() == jsondoc.String || isFuzzy(v.Member("term"), v.Member("distance"))
	}
	var term, distance jsondoc.Value
	for i, key := range o.Keys {
		switch key {
		case "term":
			term = b.literalOf(o.Values[i])
		case "distance":
			distance = b.literalOf(o.Values[i])
		}
	}
	return isFuzzy(term, distance)
}

// isFuzzy reports whether the two values are a valid term and distance of a fuzzy search.
func isFuzzy(term, distance jsondoc.Value) bool {
	n, ok := lang.AsInteger(distance)
	return term.Kind() == jsondoc.String && ok && n >= 0 && n <= 2
}

// TextTerms returns the constant terms of a score. ok is false if one of them is not a valid term: the score
// is then undefined.
func (part *RankScore) TextTerms(language index.Language) (terms []lang.TextTerm, ok bool) {
	ok = true
	for _, e := range part.Terms {
		l, constant := e.(*syntax.Literal)
		if !constant {
			return nil, false
		}
		term, good := lang.CompileTerm(l.Value, language)
		terms, ok = append(terms, term), ok && good
	}
	return terms, ok
}
