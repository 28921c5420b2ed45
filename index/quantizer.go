package index

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Codes of vectors.
//
// An index of the type quantizedFlat or diskANN stores each vector and, in addition, its code: a compressed
// form of the vector, usually of at most an eighth of its length. A search scans the codes. From a code it
// estimates a scalar product with an error bound, and then reads only the vectors that can be among the
// nearest. (There is no graph: diskANN and quantizedFlat are searched alike. A graph would have to be
// repaired whenever a document expires, and finds less.)
//
// The codes are those of RaBitQ (Gao, Long: SIGMOD 2024 and 2025). RaBitQ needs no training, so the code
// of a vector depends on the vector alone and is written with its document:
//
//   - The vector is rotated. The rotation is fixed for each number of dimensions: in turns, signs are changed
//     and the Walsh-Hadamard transform is applied to the first or to the last 2^n elements. The elements of
//     any vector are then about normally distributed, and the quantization error has a random direction.
//   - Each element is quantized to a few bits: to the middle of one of 2^bits steps, whose width is the best
//     for a normal distribution. 3 bits lose about 4 % of the square of a vector, 1 bit 36 %.
//   - Let c be the vector of a code, o the original vector and q the vector of the query. o·q is estimated
//     by c·q * o·o / o·c. The estimate has no bias. Its error is a sum over the part of o that the code
//     has lost, whose direction is independent of q, so the error is about normally distributed too. Its
//     standard deviation is |o| |q| sqrt((1 - r²) / (r² (dimensions-1))), where r is the cosine of o and c.
//
// The bound from Estimate is five standard deviations. One estimate in two million exceeds it; its document
// may then be ranked too low. In few dimensions no error can be that large, and the bound is exact.
//
//	+--------+-------+--------+---------+---------+-----+
//	| |o|    | o·o   | r      | bit 0   | bit 1   | ... |
//	|        | / o·c |        | of each | of each |     |
//	+--------+-------+--------+---------+---------+-----+
//	  float32 float32  uint16   one bit an element each
//
// If the length of a vector is too large or too small for 32-bit numbers, the first number is infinite
// and the rest of the code has no meaning.

// Quantizer computes the codes of vectors: compressed forms with a few bits per element, by which a search
// estimates scalar products. It is immutable.
type Quantizer struct {
	dimensions int
	kept       int
	bits       int // number of bits of each element
	signs      [rotations][]uint64
}

const (
	rotations  = 4
	codeHeader = 4 + 4 + 2
	maxBits    = 8
	// deviations is the error bound of an estimate, in standard deviations.
	deviations = 5
	// queryScale is the largest element of a rotated query after conversion to integers: sums of eight
	// fit into 16 bits.
	queryScale = math.MaxInt16 / 8
	// singleError is an upper bound of the relative rounding error of 32-bit numbers.
	singleError = 1e-6
	// shortest and longest are the bounds of the length (norm) of vectors for which codes are computed.
	shortest, longest = 1e-30, 1e30
)

// stepWidths returns the step widths, in standard deviations, with the smallest loss for a normal
// distribution: for 1 bit, 2 bits and so on (Max: Quantizing for Minimum Distortion, 1960).
func stepWidths() [maxBits]float64 {
	return [maxBits]float64{1.596, 0.9957, 0.5860, 0.3352, 0.1881, 0.1041, 0.0569, 0.0308}
}

// NewQuantizer returns a Quantizer for vectors with at least one dimension. size is the maximum length, in
// bytes, of the bits of a code (VectorPath.QuantizationByteSize), without the code's header of 10 bytes. If
// it does not suffice for one bit per element, only the first 8*size elements have bits.
//
// If size is 0, NewQuantizer chooses it: three bits per element, because more bits improve little, or fewer,
// but at least one, if the code would otherwise be longer than an eighth of the vector. For less than 28
// dimensions even one bit would be too long; these codes have three bits per element.
func NewQuantizer(dimensions, size int) *Quantizer {
	q := &Quantizer{dimensions: dimensions, kept: dimensions}
	row := (dimensions + 7) / 8
	if size == 0 {
		size = 3 * row
		if most := dimensions/2 - codeHeader; most >= row {
			size = min(size, most)
		}
	}
	q.bits = min(max(size/row, 1), maxBits)
	if size < row {
		q.kept = 8 * size
	}
	state := uint64(dimensions)
	for i := range q.signs {
		q.signs[i] = make([]uint64, (dimensions+63)/64)
		for w := range q.signs[i] {
			q.signs[i][w] = mixed(&state)
		}
	}
	return q
}

// mixed advances state and returns the next number of a pseudo-random sequence (SplitMix64).
func mixed(state *uint64) uint64 {
	*state += 0x9E3779B97F4A7C15
	z := *state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Equal reports whether two quantizers compute the same codes.
func (q *Quantizer) Equal(o *Quantizer) bool {
	return q == o || q != nil && o != nil && q.dimensions == o.dimensions && q.kept == o.kept &&
		q.bits == o.bits
}

func (q *Quantizer) row() int { return (q.kept + 7) / 8 }

// Dimensions returns the number of elements of a vector.
func (q *Quantizer) Dimensions() int { return q.dimensions }

// Size returns the length of a code in bytes.
func (q *Quantizer) Size() int { return codeHeader + q.bits*q.row() }

// rotate rotates a vector in place. Each addition and multiplication is rounded by itself, never fused, so
// the result is the same on all machines.
func (q *Quantizer) rotate(v []float64) {
	n := 1 << (bits.Len(uint(len(v))) - 1)
	scale := 1 / math.Sqrt(float64(n))
	for round, signs := range q.signs {
		for i := range v {
			if signs[i/64]>>(i%64)&1 != 0 {
				v[i] = -v[i]
			}
		}
		part := v[:n]
		if round%2 == 1 {
			part = v[len(v)-n:]
		}
		hadamard(part)
		for i := range part {
			part[i] = float64(part[i] * scale)
		}
	}
}

// hadamard applies the Walsh-Hadamard transform, without scaling.
func hadamard(v []float64) {
	for h := 1; h < len(v); h *= 2 {
		for i := 0; i < len(v); i += 2 * h {
			a, b := v[i:i+h], v[i+h:i+2*h]
			for j := range a {
				a[j], b[j] = a[j]+b[j], a[j]-b[j]
			}
		}
	}
}

// AppendCode appends the code of a vector of the quantizer's dimensions.
func (q *Quantizer) AppendCode(dst []byte, vector []float32) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, q.Size())...)
	code := dst[start:]
	o := make([]float64, len(vector))
	square := 0.0
	for i, f := range vector {
		o[i] = float64(f)
		square += float64(o[i] * o[i])
	}
	norm := float32(math.Sqrt(square))
	if norm != 0 && !(norm >= shortest && norm <= longest) {
		norm = float32(math.Inf(1))
	}
	binary.LittleEndian.PutUint32(code, math.Float32bits(norm))
	if norm == 0 || math.IsInf(float64(norm), 0) {
		return dst
	}
	q.rotate(o)
	product, length := q.cut(code[codeHeader:], o[:q.kept])
	if !(product > square/longest) { // almost nothing is left of the vector in the elements that have bits
		binary.LittleEndian.PutUint32(code, math.Float32bits(float32(math.Inf(1))))
		return dst
	}
	binary.LittleEndian.PutUint32(code[4:], math.Float32bits(float32(square/product)))
	r := min(product/math.Sqrt(float64(square*length)), 1)
	binary.LittleEndian.PutUint16(code[8:], uint16(r*math.MaxUint16))
	return dst
}

// cut quantizes elements into code. It returns the scalar products of the quantized elements with the
// elements and with themselves.
func (q *Quantizer) cut(code []byte, o []float64) (product, length float64) {
	square := 0.0
	for _, f := range o {
		square += float64(f * f)
	}
	width := math.Sqrt(square/float64(len(o))) * stepWidths()[q.bits-1]
	half := float64(int(1) << (q.bits - 1))
	row := q.row()
	for i, f := range o {
		level := half
		if width > 0 {
			level = min(max(math.Floor(f/width)+half, 0), 2*half-1)
		}
		for b := range q.bits {
			code[b*row+i/8] |= byte(int(level)>>b&1) << (i % 8)
		}
		said := level + 0.5 - half
		product += float64(said * f)
		length += float64(said * said)
	}
	return product, length
}

// ScalarProductEstimator estimates the scalar products of one vector with vectors of which only the codes are
// known, short approximations that a Quantizer has made.
type ScalarProductEstimator struct {
	q      *Quantizer
	norm   float64
	step   float64 // the value of 1 in tables
	offset float64 // added to every sum, because the steps are symmetric to 0
	tables [][256]int16
	errors float64 // bound of the error of an estimate, before the factors from the code
}

// Query prepares a search with a vector of the quantizer's dimensions.
func (q *Quantizer) Query(vector []float32) *ScalarProductEstimator {
	v := make([]float64, len(vector))
	square, most := 0.0, 0.0
	for i, f := range vector {
		v[i] = float64(f)
		square += v[i] * v[i]
	}
	q.rotate(v)
	for _, f := range v[:q.kept] {
		most = max(most, math.Abs(f))
	}
	t := &ScalarProductEstimator{q: q, norm: math.Sqrt(square), step: most / queryScale}
	others := math.Sqrt(max(float64(q.dimensions-1), 1))
	t.errors = t.norm * min(deviations, others) / others
	if t.step == 0 {
		t.step = 1
	}
	whole := make([]int16, 8*q.row())
	sum := 0.0
	for i, f := range v[:q.kept] {
		whole[i] = int16(math.Round(f / t.step))
		sum += float64(whole[i])
	}
	t.offset = (0.5 - float64(int(1)<<(q.bits-1))) * sum
	t.tables = make([][256]int16, q.row())
	for i := range t.tables {
		table := &t.tables[i]
		for b := 1; b < 256; b++ {
			table[b] = table[b&(b-1)] + whole[8*i+bits.TrailingZeros(uint(b))]
		}
	}
	return t
}

// Estimate returns the estimated scalar product with the vector of a code, the error bound, and the length
// of that vector. All are infinite if the vector was too long or too short for a code. ok is false if code
// is not a code of the quantizer.
func (t *ScalarProductEstimator) Estimate(code []byte) (product, bound, norm float64, ok bool) {
	if len(code) != t.q.Size() {
		return 0, 0, 0, false
	}
	norm = float64(math.Float32frombits(binary.LittleEndian.Uint32(code)))
	switch {
	case norm == 0:
		return 0, 0, 0, true
	case math.IsInf(norm, 0):
		return norm, norm, norm, true
	}
	factor := float64(math.Float32frombits(binary.LittleEndian.Uint32(code[4:])))
	r := max(float64(binary.LittleEndian.Uint16(code[8:])), 1) / math.MaxUint16
	product = factor * t.step * (float64(t.sum(code[codeHeader:])) + t.offset)
	rounded := deviations * t.step / (r * math.Sqrt(12))
	bound = norm * (t.errors*math.Sqrt(1-r*r)/r + rounded + singleError*t.norm)
	return product, bound, norm, true
}

// sum returns the scalar product of the query's vector and a vector of small integers, which is part of a
// code. rows has the integers by bits: the lowest bit of all of them, then the next one, and so on. For three
// bits, the usual number, sum has a faster loop.
func (t *ScalarProductEstimator) sum(rows []byte) (sum int) {
	tables := t.tables
	if n := len(tables); t.q.bits == 3 && len(rows) == 3*n {
		x, y, z := rows[:len(tables)], rows[n:][:len(tables)], rows[2*n:][:len(tables)]
		var a, b, c int
		for i := range tables {
			table := &tables[i]
			a += int(table[x[i]])
			b += int(table[y[i]])
			c += int(table[z[i]])
		}
		return a + 2*b + 4*c
	}
	for b := range t.q.bits {
		row := rows[b*len(tables):]
		one := 0
		for i := range tables {
			one += int(tables[i][row[i]])
		}
		sum += one << b
	}
	return sum
}

// Norm returns the length of the query's vector.
func (t *ScalarProductEstimator) Norm() float64 { return t.norm }
