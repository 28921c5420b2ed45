package query

import (
	"math"
	"strings"

	"github.com/mayflydb/mayfly/doc"
)

// vectorMetric is how VECTORDISTANCE compares two vectors.
type vectorMetric uint8

const (
	metricCosine    vectorMetric = iota // the cosine of the angle: 1 for the same direction
	metricDot                           // the scalar product
	metricEuclidean                     // the distance
)

// metricOf reads the name of a distance function as policies and options spell it, in any case.
func metricOf(name string) (vectorMetric, bool) {
	switch strings.ToLower(name) {
	case "cosine":
		return metricCosine, true
	case "dotproduct":
		return metricDot, true
	case "euclidean":
		return metricEuclidean, true
	}
	return 0, false
}

// descending tells whether the nearest vectors have the greatest values.
func (m vectorMetric) descending() bool { return m != metricEuclidean }

func vectorBuiltins() []builtin {
	return []builtin{{name: "VECTORDISTANCE", min: 2, max: 4, fn: fnVectorDistance}}
}

// fnVectorDistance takes the metric from its options. Where these name none it is the cosine: what the
// container's vector policy says for a path is known to whoever binds the call, and written into the options
// then.
func fnVectorDistance(c *call, args []doc.Value) doc.Value {
	metric := metricCosine
	if len(args) > 2 && args[2].Kind() != doc.Bool {
		return undefined
	}
	if len(args) > 3 {
		if args[3].Kind() != doc.Object {
			return undefined
		}
		if name := args[3].Member("distanceFunction"); name.Kind() != doc.Undefined {
			var ok bool
			if metric, ok = metricOf(name.Str()); !ok {
				return undefined
			}
		}
	}
	var ok [2]bool
	for i := range ok {
		c.numbers[i], ok[i] = appendNumbers(c.numbers[i][:0], args[i])
	}
	if !ok[0] || !ok[1] {
		return undefined
	}
	return metric.compare(c.numbers[0], c.numbers[1])
}

// compare returns the similarity or distance of two vectors. Their elements count as floats of 32 bits; it is
// undefined where one is too large for that, and where the vectors differ in length or have none. The cosine
// of a vector of zeroes is 0.
func (m vectorMetric) compare(a, b []float64) doc.Value {
	if len(a) != len(b) || len(a) == 0 {
		return undefined
	}
	var dot, aa, bb, gap float64
	for i := range a {
		x, y := float64(float32(a[i])), float64(float32(b[i]))
		dot += x * y
		aa += x * x
		bb += y * y
		gap += (x - y) * (x - y)
	}
	switch {
	case !(aa <= math.MaxFloat64 && bb <= math.MaxFloat64):
		return undefined
	case m == metricDot:
		return doc.NumberValue(dot)
	case m == metricEuclidean:
		return doc.NumberValue(math.Sqrt(gap))
	case aa == 0 || bb == 0:
		return doc.NumberValue(0)
	}
	return doc.NumberValue(min(max(dot/(math.Sqrt(aa)*math.Sqrt(bb)), -1), 1))
}

// The multipliers among the options of VECTORDISTANCE, and what they may be.
const minMultiplier, maxMultiplier = 1, 100

// badMultiplier returns the first option of VECTORDISTANCE that is a multiplier outside its range; name is ""
// where all are good.
func badMultiplier(options doc.Value) (name string, value doc.Value) {
	for _, name := range []string{"searchListSizeMultiplier", "quantizedVectorListMultiplier"} {
		v := options.Member(name)
		if n, ok := position(v); v.Kind() != doc.Undefined &&
			(!ok || n < minMultiplier || n > maxMultiplier) {
			return name, v
		}
	}
	return "", undefined
}
