package index

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func randomVector(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// TestEstimates compares estimated scalar products with the exact ones: no error is larger than the bound
// that Estimate returns, and the bounds are not much wider than necessary.
func TestEstimates(t *testing.T) {
	for _, c := range []struct {
		dimensions, size int
		most             float64 // of the bound, as a share of the lengths
	}{{1, 0, 0.01}, {2, 0, 0.8}, {3, 0, 0.8}, {17, 0, 0.6}, {64, 0, 0.4}, {77, 0, 0.4}, {384, 0, 0.07},
		{384, 48, 0.3}, {384, 20, 0.6}, {384, 384, 0.02}, {1536, 0, 0.03}} {
		q := NewQuantizer(c.dimensions, c.size)
		r := rand.New(rand.NewPCG(uint64(c.dimensions), 7))
		for range 50 {
			query := randomVector(r, c.dimensions)
			if r.IntN(4) == 0 {
				query = append([]float32{5}, make([]float32, c.dimensions-1)...)
			}
			search := q.Query(query)
			for range 50 {
				v := randomVector(r, c.dimensions)
				exact, square := 0.0, 0.0
				for i := range v {
					if r.IntN(200) == 0 { // very unlike the others
						v[i] *= 50
					}
					exact += float64(v[i]) * float64(query[i])
					square += float64(v[i]) * float64(v[i])
				}
				code := q.AppendCode(nil, v)
				product, bound, norm, ok := search.Estimate(code)
				if !ok || math.Abs(product-exact) > bound || math.Abs(norm*norm-square) > 1e-6*square {
					t.Errorf("%d dimensions in %d bytes: %v ± %v, length %v; exact %v, %v", c.dimensions,
						len(code), product, bound, norm, exact, math.Sqrt(square))
				}
				if share := bound / (norm * search.Norm()); share > c.most {
					t.Errorf("%d dimensions in %d bytes: a bound of %v", c.dimensions, len(code), share)
				}
			}
		}
	}
}

// TestCodesOfExtremeVectors computes codes of vectors that are zero, extremely long or extremely short, and
// checks that their estimates are valid. Bytes that are not a code have no estimate.
func TestCodesOfExtremeVectors(t *testing.T) {
	q := NewQuantizer(4, 0)
	search := q.Query([]float32{1, 2, 3, 4})
	for _, c := range []struct {
		v    []float32
		norm float64
	}{{[]float32{0, 0, 0, 0}, 0}, {[]float32{1e38, 1e38, 1e38, 1e38}, math.Inf(1)},
		{[]float32{1e-40, 0, 0, 0}, math.Inf(1)},
		{[]float32{float32(math.Inf(1)), 0, 0, 1}, math.Inf(1)}} {
		product, bound, norm, ok := search.Estimate(q.AppendCode(nil, c.v))
		if !ok || norm != c.norm || math.IsNaN(product) || math.IsNaN(bound) {
			t.Errorf("%v: %v ± %v, length %v, %t", c.v, product, bound, norm, ok)
		}
	}
	if _, _, _, ok := search.Estimate([]byte("no code")); ok {
		t.Error("what is no code has an estimate")
	}
}

// TestCodesAreStable compares the code of one vector with its stored bytes: codes must not change between
// releases, because they are stored in data folders.
func TestCodesAreStable(t *testing.T) {
	v := make([]float32, 24)
	for i := range v {
		v[i] = float32(i*i%17) - 7.5
	}
	got := hex.EncodeToString(NewQuantizer(24, 6).AppendCode(nil, v))
	if want := "d91fdd41c7fabd4049f3e56d8746ba7f"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestVectorCodes checks which types of vector indexes store codes, the length of the codes, and that
// codes are used only if all older index definitions of the container have the same.
func TestVectorCodes(t *testing.T) {
	make := func(text string) *Indexer {
		p, err := Parse(fmt.Appendf(nil, `{"vectorIndexes":[%s]}`, text))
		if err != nil {
			t.Fatal(err)
		}
		x, err := NewIndexer(IndexingSettings{Policy: p, Vectors: map[string]int{"/v": 384}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	path := PathTo(jsondoc.PathOf("v"))
	flat := make(`{"path":"/v","type":"flat"}`)
	quantized := make(`{"path":"/v","type":"quantizedFlat"}`)
	graph := make(`{"path":"/v","type":"diskANN"}`)
	short := make(`{"path":"/v","type":"diskANN","quantizationByteSize":96}`)
	for _, c := range []struct {
		x    *Indexer
		size int // 0: no codes
	}{{flat, 0}, {quantized, 154}, {graph, 154}, {short, 106}, {graph.WithOlder(quantized), 154},
		{graph.WithOlder(flat), 0}, {graph.WithOlder(quantized, short), 0}, {nil, 0}} {
		_, codes := c.x.VectorCodes(path)
		if c.size == 0 && codes == nil {
			continue
		}
		if codes == nil || codes.Size() != c.size {
			t.Errorf("codes of %v, want %d bytes", codes, c.size)
		}
	}
	body := []byte(`{"v":[`)
	for i := range 384 {
		body = fmt.Appendf(body, "%d,", i%5)
	}
	body = append(body[:len(body)-1], "]}"...)
	key, codes := quantized.VectorCodes(path)
	found := false
	for _, e := range quantized.Entries(nil, body, 1) {
		if bytes.Equal(e.Key, key) {
			found = len(e.Value) == codes.Size()
			if text := FormatKey(e.Key); text != "/v code" {
				t.Errorf("the key is written as %q", text)
			}
		}
	}
	if !found {
		t.Error("there is no code")
	}
}

// BenchmarkEstimate measures the estimate of one scalar product by the code of a vector of 384 dimensions.
func BenchmarkEstimate(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	q := NewQuantizer(384, 0)
	var codes [][]byte
	for range 1000 {
		codes = append(codes, q.AppendCode(nil, randomVector(r, 384)))
	}
	query := q.Query(randomVector(r, 384))
	for i := 0; b.Loop(); i++ {
		query.Estimate(codes[i%len(codes)])
	}
}

// BenchmarkAppendCode measures the computation of the code of a vector of 384 dimensions.
func BenchmarkAppendCode(b *testing.B) {
	q := NewQuantizer(384, 0)
	v := randomVector(rand.New(rand.NewPCG(1, 1)), 384)
	var code []byte
	for b.Loop() {
		code = q.AppendCode(code[:0], v)
	}
}
