package lang

import (
	"math"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// VectorMetric is the measure by which VECTORDISTANCE compares two vectors.
type VectorMetric uint8

const (
	MetricCosine    VectorMetric = iota // the cosine of the angle: 1 for the same direction
	MetricDot                           // the scalar product
	MetricEuclidean                     // the Euclidean distance
)

// MetricOf returns the distance function with a name as in policies and options, ignoring case. The result is
// false for an unknown name.
func MetricOf(name string) (VectorMetric, bool) {
	switch strings.ToLower(name) {
	case "cosine":
		return MetricCosine, true
	case "dotproduct":
		return MetricDot, true
	case "euclidean":
		return MetricEuclidean, true
	}
	return 0, false
}

// Descending reports whether the nearest vectors have the greatest values.
func (m VectorMetric) Descending() bool { return m != MetricEuclidean }

func vectorBuiltins() []Builtin {
	return []Builtin{{Name: "VECTORDISTANCE", Min: 2, Max: 4, Fn: fnVectorDistance}}
}

// fnVectorDistance implements VECTORDISTANCE, the distance or similarity of two vectors. It takes the
// metric from its options; the default is the cosine. If the container's vector policy sets a metric for
// the path, the compiler has added it to the options (see package eval).
func fnVectorDistance(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	metric := MetricCosine
	if len(args) > 2 && args[2].Kind() != jsondoc.Bool {
		return Undefined
	}
	if len(args) > 3 {
		if args[3].Kind() != jsondoc.Object {
			return Undefined
		}
		if name := args[3].Member("distanceFunction"); name.Kind() != jsondoc.Undefined {
			var ok bool
			if metric, ok = MetricOf(name.Str()); !ok {
				return Undefined
			}
		}
	}
	var ok [2]bool
	for i := range ok {
		c.numbers[i], ok[i] = AppendNumbers(c.numbers[i][:0], args[i])
		c.floats[i] = AppendFloats(c.floats[i][:0], c.numbers[i])
	}
	if !ok[0] || !ok[1] || len(c.floats[0]) != len(c.floats[1]) {
		return Undefined
	}
	if d, defined := metric.Distance(c.floats[0], c.floats[1], Squares(c.floats[1])); defined {
		return jsondoc.NumberValue(d)
	}
	return Undefined
}

// AppendFloats appends the elements of a vector, converted to floats of 32 bits.
func AppendFloats(dst []float32, numbers []float64) []float32 {
	for _, f := range numbers {
		dst = append(dst, float32(f))
	}
	return dst
}

// Distance returns the similarity or distance of two vectors of the same length; bb is Squares(b). The
// second result is false if the vectors have no elements, or if an element is too large for a float of 32
// bits. The cosine of a zero vector is 0. The result for the same vectors is always the same to the last
// bit, whether they come from an index or from documents.
func (m VectorMetric) Distance(a, b []float32, bb float64) (float64, bool) {
	var dot, aa, gap float64
	if m == MetricEuclidean {
		gap, aa = squaredDistance(a, b)
	} else {
		dot, aa = products(a, b)
	}
	switch {
	case len(a) == 0, !(aa <= math.MaxFloat64 && bb <= math.MaxFloat64):
		return 0, false
	case m == MetricDot:
		return dot, true
	case m == MetricEuclidean:
		return math.Sqrt(gap), true
	case aa == 0 || bb == 0:
		return 0, true
	}
	return min(max(dot/math.Sqrt(aa*bb), -1), 1), true
}

// Squares returns the scalar product of a vector with itself.
func Squares(a []float32) float64 {
	_, aa := products(a, a)
	return aa
}

// products returns the scalar products of a with b and with itself. As in Cosmos DB the sums are doubles,
// added from the first element to the last; another order would change their last bits.
func products(a, b []float32) (dot, aa float64) {
	b = b[:len(a)]
	for i := range a {
		x := float64(a[i])
		dot += x * float64(b[i]) // the product of two 32-bit floats is exact, so FMA does not change it
		aa += x * x
	}
	return dot, aa
}

// squaredDistance returns the squared distance of two vectors, and the squared length of a.
func squaredDistance(a, b []float32) (gap, aa float64) {
	b = b[:len(a)]
	for i := range a {
		x := float64(a[i])
		d := x - float64(b[i])
		gap += float64(d * d) // rounded separately, also on processors with FMA
		aa += x * x
	}
	return gap, aa
}

// MinMultiplier and MaxMultiplier are the bounds of the options searchListSizeMultiplier and
// quantizedVectorListMultiplier of VECTORDISTANCE.
const MinMultiplier, MaxMultiplier = 1, 100

// BadMultiplier returns the name and the value of the first option of VECTORDISTANCE,
// searchListSizeMultiplier or quantizedVectorListMultiplier, that is not an integer between MinMultiplier
// and MaxMultiplier. name is "" if there is none.
func BadMultiplier(options jsondoc.Value) (name string, value jsondoc.Value) {
	for _, name := range []string{"searchListSizeMultiplier", "quantizedVectorListMultiplier"} {
		v := options.Member(name)
		if n, ok := position(v); v.Kind() != jsondoc.Undefined &&
			(!ok || n < MinMultiplier || n > MaxMultiplier) {
			return name, v
		}
	}
	return "", Undefined
}
