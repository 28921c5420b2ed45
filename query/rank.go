package query

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/syntax"
)

// rankPart is one score of ORDER BY RANK: a FullTextScore or a VectorDistance.
type rankPart struct {
	call   syntax.Expr   // the whole function call
	text   syntax.Expr   // the first argument of FullTextScore; nil for a VectorDistance
	terms  []syntax.Expr // its other arguments
	rising bool          // small values are good ones
	weight float64
}

const (
	fullTextScore = "FULLTEXTSCORE"
	rankFusion    = "RRF"
)

// orderByRank binds ORDER BY RANK with one score, or with RRF over several.
func (b *binder) orderByRank(bl *block, s *scope, q *syntax.Query) {
	for i, src := range q.From {
		switch {
		case i > 0:
			b.failCode(src, CodeRankJoin, "The JOIN operator is not allowed with the ORDER BY RANK clause.")
		case src.In:
			b.failCode(src, CodeRankIn,
				"The FROM clause with the IN operator is not allowed with the ORDER BY RANK clause.")
		case src.Sub != nil:
			b.failCode(src, CodeRankSubquery,
				"Subqueries in the FROM clause are not allowed with the ORDER BY RANK clause.")
		}
	}
	b.rankedWithout(bl, q)
	if q.OrderBy.Directed {
		b.failCode(q.OrderBy, CodeRankDirection,
			"Specifying a sort order (ASC or DESC) in the ORDER BY RANK clause is not allowed.")
	}
	call := q.OrderBy.Rank
	fn := b.rankFunction(call)
	if fn == "" {
		b.failCode(call, CodeRankFunction,
			"The ORDER BY RANK clause must be followed by a VectorDistance and/or a FullTextScore function call.")
		return
	}
	before := len(b.errs)
	b.expr(call, &place{block: bl, scope: s, clause: "RANK", rank: call})
	if len(b.errs) > before {
		return
	}
	if fn == rankFusion {
		b.fusion(bl, call)
		return
	}
	bl.rank = []*rankPart{b.rankPart(call, fn)}
}

// rankedWithout refuses what ORDER BY RANK excludes: groups, aggregates and DISTINCT.
func (b *binder) rankedWithout(bl *block, q *syntax.Query) {
	if len(q.GroupBy) > 0 {
		clause := syntax.Span{Start: q.GroupBy[0].Extent().Start,
			End: q.GroupBy[len(q.GroupBy)-1].Extent().End}
		clause.Start = max(0, lastWord([]rune(b.text)[:clause.Start], "GROUP"))
		b.failCode(clause, CodeRankGroupBy,
			"The GROUP BY clause is not allowed with the ORDER BY RANK clause.")
	}
	for c, ref := range b.aggs {
		if ref.block == bl {
			b.failCode(c, CodeRankAggregate,
				"Aggregate functions are not allowed with the ORDER BY RANK clause.")
		}
	}
	if q.Select.Distinct {
		b.failCode(q.Select, CodeRankDistinct,
			"The DISTINCT keyword is not allowed with the ORDER BY RANK clause.")
	}
}

// lastWord is where a word of ASCII letters is last written in a text, in any case; -1 where it is not.
func lastWord(text []rune, word string) int {
	for i := len(text) - len(word); i >= 0; i-- {
		if strings.EqualFold(string(text[i:i+len(word)]), word) {
			return i
		}
	}
	return -1
}

// rankFunction returns the registered name of a function that may stand in ORDER BY RANK, or "".
func (b *binder) rankFunction(e syntax.Expr) string {
	c, ok := e.(*syntax.Call)
	if !ok || c.UDF {
		return ""
	}
	fn, ok := lookupBuiltin(c.Name)
	if !ok || fn.name != fullTextScore && fn.name != vectorDistance && fn.name != rankFusion {
		return ""
	}
	return fn.name
}

// fusion binds RRF(score, score, ... [, weights]).
func (b *binder) fusion(bl *block, call *syntax.Call) {
	args := call.Args
	var weights []float64
	if _, scores := args[len(args)-1].(*syntax.Call); !scores {
		var ok bool
		if weights, ok = b.weights(args[len(args)-1]); !ok || len(weights) != len(args)-1 {
			b.failCode(args[len(args)-1], CodeRankWeights,
				"The last parameter of the RRF function is an optional array of weights. When "+
					"present, it must be a literal array of numbers, one for each of the component scores.")
			return
		}
		args = args[:len(args)-1]
	}
	if len(args) < 2 {
		b.failCode(call, CodeArguments, "The %s function requires %s argument(s).", rankFusion, "at least 2")
		return
	}
	for i, arg := range args {
		fn := b.rankFunction(arg)
		if fn == "" || fn == rankFusion {
			b.failCode(arg, CodeRankFunction,
				"The ORDER BY RANK clause must be followed by a VectorDistance and/or a FullTextScore function call.")
			return
		}
		part := b.rankPart(arg.(*syntax.Call), fn)
		if weights != nil {
			part.weight = weights[i]
		}
		if part.weight < 0 { // Cosmos DB ranks by the worst then
			part.weight, part.rising = -part.weight, !part.rising
		}
		bl.rank = append(bl.rank, part)
	}
}

// weights reads a literal array of numbers, or a parameter that is one.
func (b *binder) weights(e syntax.Expr) ([]float64, bool) {
	var weights []float64
	number := func(v doc.Value) bool {
		weights = append(weights, v.Num())
		return v.Kind() == doc.Number
	}
	switch e := e.(type) {
	case *syntax.Parameter:
		ok := b.given(e.Name).Kind() == doc.Array
		b.given(e.Name).Each(func(_ string, v doc.Value) bool {
			ok = ok && number(v)
			return ok
		})
		return weights, ok
	case *syntax.ArrayLit:
		for _, elem := range e.Elems {
			minus := false
			if u, ok := elem.(*syntax.Unary); ok && u.Op == syntax.Neg {
				elem, minus = u.X, true
			}
			l, ok := elem.(*syntax.Literal)
			if !ok || !number(l.Value) {
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

func (b *binder) rankPart(call *syntax.Call, fn string) *rankPart {
	if fn == vectorDistance {
		return &rankPart{call: call, rising: b.euclidean(call), weight: 1}
	}
	return &rankPart{call: call, text: call.Args[0], terms: call.Args[1:], weight: 1}
}

// euclidean tells whether a VectorDistance is one where small values are near: by its options or the vector
// policy.
func (b *binder) euclidean(c *syntax.Call) bool {
	name := ""
	if len(c.Args) == 4 {
		name = b.distanceOption(c.Args[3])
	} else {
		name = b.distanceOf(c)
	}
	metric, ok := metricOf(name)
	return ok && !metric.descending()
}

// distanceOption reads the distance function that options name.
func (b *binder) distanceOption(options syntax.Expr) string {
	switch e := options.(type) {
	case *syntax.Parameter:
		return b.given(e.Name).Member("distanceFunction").Str()
	case *syntax.Literal:
		return e.Value.Member("distanceFunction").Str()
	case *syntax.ObjectLit:
		if i := slices.Index(e.Keys, "distanceFunction"); i >= 0 {
			if l, ok := e.Values[i].(*syntax.Literal); ok {
				return l.Value.Str()
			}
		}
	}
	return ""
}

// distanceOf returns the distance function that the vector policy has for one of the paths of a call.
func (b *binder) distanceOf(c *syntax.Call) string {
	for _, arg := range c.Args[:min(2, len(c.Args))] {
		if route, _, ok := b.itemRoute(arg); ok {
			if distance, ok := b.info.Vectors[route.String()]; ok {
				return distance
			}
		}
	}
	return ""
}

// scoreTerms refuses a FullTextScore whose terms are not written out as strings or objects, or parameters
// that are such. An array of such terms, the older form, is taken as well.
func (b *binder) scoreTerms(c *syntax.Call) {
	for _, term := range c.Args[1:] {
		list := []syntax.Expr{term}
		if array, ok := term.(*syntax.ArrayLit); ok {
			list = array.Elems
		}
		if slices.ContainsFunc(list, func(e syntax.Expr) bool { return !b.isTerm(e) }) {
			b.failCode(c.Args[1], CodeScoreTerms,
				"The second through last arguments of the 'FullTextScore' function must be literals of type string or "+
					"object specifying the fuzzy search argument containing a 'term' property which is a string and a 'distance' property which is a "+
					"number between 0 and 2 (inclusive).")
			return
		}
	}
}

func (b *binder) isTerm(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Literal:
		return e.Value.Kind() == doc.String
	case *syntax.Parameter:
		k := b.given(e.Name).Kind()
		return k == doc.String || k == doc.Object || k == doc.Array
	case *syntax.ObjectLit:
		return true
	}
	return false
}

// textTerms are the constant terms of a score. It is false where one is no term: then there is no score. An
// array of terms, the older form, is taken as well.
func (part *rankPart) textTerms(language index.Language) (terms []textTerm, ok bool) {
	ok = true
	add := func(v doc.Value) {
		term, good := compileTerm(v, language)
		terms, ok = append(terms, term), ok && good
	}
	for _, e := range part.terms {
		l, constant := e.(*syntax.Literal)
		switch {
		case !constant:
			return nil, false
		case l.Value.Kind() == doc.Array:
			l.Value.Each(func(_ string, v doc.Value) bool {
				add(v)
				return true
			})
		default:
			add(l.Value)
		}
	}
	return terms, ok
}

// textPath returns the path of a text whose words are indexed.
func (p *planner) textPath(e syntax.Expr) (index.Path, bool) {
	route, entered, ok := p.itemRoute(e)
	return route, ok && !entered && p.info.Index.TextIndexed(route)
}
