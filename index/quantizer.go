package index

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Codes of vectors.
//
// An index of the type quantizedFlat or diskANN has, beside each vector, a code of it that is at most an
// eighth as long. A search goes over the codes, which tell a scalar product and how far off that can be, and
// looks up the vectors of those alone that can be among the nearest. (There is no graph: diskANN and
// quantizedFlat are searched alike. A graph has to be repaired whenever a document expires, and finds
// less.)
//
// A code is that of RaBitQ (Gao, Long: SIGMOD 2024 and 2025), which needs no training, so that the code of a
// vector depends on the vector alone and is written with its document:
//
//   - The vector is rotated, by a rotation that is fixed for each number of dimensions: signs are changed and
//     the Walsh-Hadamard transform is applied, in turns, to the first and to the last 2^n elements. Whatever
//     the vector was, its elements are now about normally distributed, and what a code leaves of it points
//     anywhere.
//   - Each element is cut to some bits: to the middle of one of 2^bits steps, whose width is the best for a
//     normal distribution. 3 bits lose about 4 % of the square of a vector, 1 bit 36 %.
//   - With c for what the code says, o for the vector and q for that of the query, o·q is estimated by
//     c·q * o·o / o·c. The estimate has no bias. Its error is a sum over what the code leaves of o, in a
//     direction that has nothing to do with q, so it is about normally distributed as well, and its deviation
//     is known: |o| |q| sqrt((1 - r²) / (r² (dimensions-1))), with r for the cosine of o and c.
//
// The bound that is told is five deviations, which one estimate in two million exceeds: a document that it
// misleads may come later than it should. In few dimensions no error can be that large; the bound is exact.
//
//	+--------+-------+--------+---------+---------+-----+
//	| |o|    | o·o   | r      | bit 0   | bit 1   | ... |
//	|        | / o·c |        | of each | of each |     |
//	+--------+-------+--------+---------+---------+-----+
//	  float32 float32  uint16   one bit an element each
//
// Where the length of a vector is so large or so small that 32 bits are not good for it, the first number is
// infinite and nothing else is said.

// Quantizer makes codes of vectors. It is immutable.
type Quantizer struct {
	dimensions int
	kept       int // elements that have bits
	bits       int // of each
	signs      [rotations][]uint64
}

const (
	rotations  = 4
	codeHeader = 4 + 4 + 2
	maxBits    = 8
	// deviations is how many deviations of an estimate its bound is.
	deviations = 5
	// queryScale is the greatest element of a query, rotated and made whole: sums of eight fit into 16 bits.
	queryScale = math.MaxInt16 / 8
	// singleError is more than what is lost by numbers of 32 bits, as a share.
	singleError = 1e-6
	// the lengths of vectors that codes say something of
	shortest, longest = 1e-30, 1e30
)

// stepWidths are the widths of the steps, in standard deviations, that lose least of a normal distribution:
// for 1 bit, 2 bits and so on (Max: Quantizing for Minimum Distortion, 1960).
func stepWidths() [maxBits]float64 {
	return [maxBits]float64{1.596, 0.9957, 0.5860, 0.3352, 0.1881, 0.1041, 0.0569, 0.0308}
}

// NewQuantizer makes a Quantizer for vectors of that many dimensions, at least one. size is how many bytes
// the bits may have (see VectorPath.QuantizationByteSize), at least one; 0: three bits an element, behind
// which more are worth little, or two where three make more than an eighth of the vector. Vectors of less
// than 40 dimensions have longer codes than that.
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

// mixed returns the next of a sequence of numbers that look random (SplitMix64).
func mixed(state *uint64) uint64 {
	*state += 0x9E3779B97F4A7C15
	z := *state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Equal reports whether two quantizers make the same codes.
func (q *Quantizer) Equal(o *Quantizer) bool {
	return q == o || q != nil && o != nil && q.dimensions == o.dimensions && q.kept == o.kept &&
		q.bits == o.bits
}

func (q *Quantizer) row() int { return (q.kept + 7) / 8 }

// Dimensions is how many elements a vector has.
func (q *Quantizer) Dimensions() int { return q.dimensions }

// Size is how many bytes a code has.
func (q *Quantizer) Size() int { return codeHeader + q.bits*q.row() }

// rotate turns a vector round. Additions and single multiplications come to the same on all machines.
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

// hadamard is the Walsh-Hadamard transform, without its scale.
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
	if !(product > square/longest) { // of all that is kept next to nothing is left
		binary.LittleEndian.PutUint32(code, math.Float32bits(float32(math.Inf(1))))
		return dst
	}
	binary.LittleEndian.PutUint32(code[4:], math.Float32bits(float32(square/product)))
	r := min(product/math.Sqrt(float64(square*length)), 1)
	binary.LittleEndian.PutUint16(code[8:], uint16(r*math.MaxUint16))
	return dst
}

// cut sets the bits of elements. It returns the scalar products of what they say with the elements and with
// itself.
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

// VectorQuery estimates scalar products of one vector with those that codes stand for.
type VectorQuery struct {
	q      *Quantizer
	norm   float64
	step   float64 // what 1 in tables is
	offset float64 // what all sums lack, since the middle of the steps is at 0
	tables [][256]int16
	errors float64 // deviations of an estimate, but for what the code says
}

// Query prepares a search for a vector of the quantizer's dimensions.
func (q *Quantizer) Query(vector []float32) *VectorQuery {
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
	t := &VectorQuery{q: q, norm: math.Sqrt(square), step: most / queryScale}
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

// Estimate returns the scalar product with the vector that a code stands for, how far off that can be, and
// the length of that vector. All is infinite where the code says nothing; it is false where it is none.
func (t *VectorQuery) Estimate(code []byte) (product, bound, norm float64, ok bool) {
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

// sum adds up the elements of the query as often as the bits of a code say. Three bits are usual and have a
// loop of their own, whose sums do not wait for each other.
func (t *VectorQuery) sum(rows []byte) (sum int) {
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

// Norm is the length of the query's vector.
func (t *VectorQuery) Norm() float64 { return t.norm }
