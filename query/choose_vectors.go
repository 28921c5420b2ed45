package query

import (
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// leastSquare is the least square of a length that codes are good for.
const leastSquare = 1e-60

// chooseCodes finds out whether there are codes. The vector of the query must have a direction, and a length
// whose square is a number.
func (p *planner) chooseCodes(v *vectors) {
	key, codes := p.info.Index.VectorCodes(v.path)
	if codes != nil && codes.Dimensions() == len(v.query) &&
		v.square > leastSquare && v.square < 1/leastSquare {
		v.codeKey, v.codes = key, codes.Query(v.query)
	}
}

// vectors is a way to order documents by the vectors of an index.
type vectors struct {
	path   index.Path
	key    []byte // that all entries have
	query  []float32
	square float64 // of query
	metric lang.VectorMetric

	codeKey []byte
	codes   *index.VectorQuery // nil: there are none
}

// chooseVectors returns how an index serves VectorDistance(path, [constants]); nil where none does.
func (p *planner) chooseVectors(e syntax.Expr) *vectors {
	c, ok := e.(*syntax.Call)
	if !ok {
		return nil // a constant by now
	}
	for i := range 2 {
		l, constant := c.Args[1-i].(*syntax.Literal)
		route, entered, ok := p.itemRoute(c.Args[i])
		if !constant || !ok || entered {
			continue
		}
		key, indexed := p.info.Index.VectorPrefix(route)
		query, numbers := lang.AppendNumbers(nil, l.Value)
		name := p.distanceOf(c)
		if len(c.Args) == 4 {
			name = p.distanceOption(c.Args[3])
		}
		metric, known := lang.MetricOf(name)
		if name == "" {
			metric, known = lang.MetricCosine, true
		}
		if indexed && numbers && known {
			v := &vectors{path: route, key: key, query: lang.AppendFloats(nil, query), metric: metric}
			v.square = lang.Squares(v.query)
			p.chooseCodes(v)
			return v
		}
	}
	return nil
}

func (v *vectors) String() string {
	if v.codes != nil {
		return "codes of the vectors of " + v.path.String()
	}
	return "vectors of " + v.path.String()
}

// sign turns similarities, where great is good, round.
func (v *vectors) sign() float64 {
	if v.metric.Descending() {
		return -1
	}
	return 1
}
