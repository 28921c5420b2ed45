package plan

import (
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// leastSquare is the smallest squared length of a query's vector for which a vector search can use the
// compressed vectors in the index (see chooseCodes).
const leastSquare = 1e-60

// chooseCodes decides whether a run can use the codes of vectors, short approximations in the index that give
// lower bounds of distances. The query's vector must not be (nearly) zero and its squared length must be
// finite.
func (p *Planner) chooseCodes(v *VectorOrder) {
	key, codes := p.Info.Index.VectorCodes(v.path)
	if codes != nil && codes.Dimensions() == len(v.Query) &&
		v.Square > leastSquare && v.Square < 1/leastSquare {
		v.CodeKey, v.Codes = key, codes.Query(v.Query)
	}
}

// VectorOrder says how an index orders documents by the distance of their vectors from the query's vector.
type VectorOrder struct {
	path   index.Path
	Key    []byte // common key of all entries
	Query  []float32
	Square float64 // squared length of the query's vector
	Metric lang.VectorMetric

	CodeKey []byte
	Codes   *index.ScalarProductEstimator // nil: there are none
}

// chooseVectors returns how an index serves VectorDistance(path, [constants]). It returns nil if no index
// does.
func (p *Planner) chooseVectors(e syntax.Expr) *VectorOrder {
	c, ok := e.(*syntax.Call)
	if !ok {
		return nil // the argument has been folded into a constant
	}
	for i := range 2 {
		l, constant := c.Args[1-i].(*syntax.Literal)
		route, entered, ok := p.ItemRoute(c.Args[i])
		if !constant || !ok || entered {
			continue
		}
		key, indexed := p.Info.Index.VectorPrefix(route)
		query, numbers := lang.AppendNumbers(nil, l.Value)
		name := p.DistanceOf(c)
		if len(c.Args) == 4 {
			name = p.DistanceOption(c.Args[3])
		}
		metric, known := lang.MetricOf(name)
		if name == "" {
			metric, known = lang.MetricCosine, true
		}
		if indexed && numbers && known {
			v := &VectorOrder{path: route, Key: key, Query: lang.AppendFloats(nil, query), Metric: metric}
			v.Square = lang.Squares(v.Query)
			p.chooseCodes(v)
			return v
		}
	}
	return nil
}

// String describes the index for the output of a plan: the vectors of a path, or their codes.
func (v *VectorOrder) String() string {
	if v.Codes != nil {
		return "codes of the vectors of " + v.path.String()
	}
	return "vectors of " + v.path.String()
}

// Sign returns the factor by which values are multiplied so that the best is the least: -1 for similarities,
// of which the greatest is the best, and 1 otherwise.
func (v *VectorOrder) Sign() float64 {
	if v.Metric.Descending() {
		return -1
	}
	return 1
}
