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
		c.floats[i] = appendFloats(c.floats[i][:0], c.numbers[i])
	}
	if !ok[0] || !ok[1] || len(c.floats[0]) != len(c.floats[1]) {
		return undefined
	}
	if d, defined := metric.distance(c.floats[0], c.floats[1], squares(c.floats[1])); defined {
		return doc.NumberValue(d)
	}
	return undefined
}

// appendFloats appends the elements of a vector, which count as floats of 32 bits.
func appendFloats(dst []float32, numbers []float64) []float32 {
	for _, f := range numbers {
		dst = append(dst, float32(f))
	}
	return dst
}

// distance returns the similarity or distance of two vectors of one length; bb is what squares says of the
// second one. It is undefined where the vectors have no elements, or one is too large for a float of 32 bits.
// The cosine of a vector of zeroes is 0. The same vectors have the same distance to the last bit, wherever
// they come from: an index gives them as documents do.
func (m vectorMetric) distance(a, b []float32, bb float64) (float64, bool) {
	var dot, aa, gap float64
	if m == metricEuclidean {
		gap, aa = gaps(a, b)
	} else {
		dot, aa = products(a, b)
	}
	switch {
	case len(a) == 0, !(aa <= math.MaxFloat64 && bb <= math.MaxFloat64):
		return 0, false
	case m == metricDot:
		return dot, true
	case m == metricEuclidean:
		return math.Sqrt(gap), true
	case aa == 0 || bb == 0:
		return 0, true
	}
	return min(max(dot/math.Sqrt(aa*bb), -1), 1), true
}

// squares returns the scalar product of a vector with itself.
func squares(a []float32) float64 {
	_, aa := products(a, a)
	return aa
}

// products returns the scalar products of a with b and with itself. As in Cosmos DB the sums are doubles,
// made from the first element to the last: in another order they differ in their last bits.
func products(a, b []float32) (dot, aa float64) {
	b = b[:len(a)]
	for i := range a {
		x := float64(a[i])
		dot += x * float64(b[i]) // the product of two floats of 32 bits is exact: FMA changes nothing
		aa += x * x
	}
	return dot, aa
}

// gaps returns the square of the distance of two vectors, and that of a from nothing.
func gaps(a, b []float32) (gap, aa float64) {
	b = b[:len(a)]
	for i := range a {
		x := float64(a[i])
		d := x - float64(b[i])
		gap += float64(d * d) // rounded by itself, on processors with FMA as well
		aa += x * x
	}
	return gap, aa
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
