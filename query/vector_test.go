package query

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// fakeVectorSource is a Source that has only the vectors of a vector index and their quantized codes, without
// documents. It counts the vectors that are read.
type fakeVectorSource struct {
	source.DocumentSource
	vectors, codes [][]byte // the values of the entries, by rid
	codeKey        []byte
	looked         int // single vectors
	walked         int // vectors one after the other
}

func (s *fakeVectorSource) Terms(lo, _ []byte, _ bool) source.IndexEntryIterator {
	if bytes.Equal(lo, s.codeKey) {
		return &fakeVectorIterator{list: s.codes, at: -1}
	}
	s.walked += len(s.vectors)
	return &fakeVectorIterator{list: s.vectors, at: -1}
}

func (s *fakeVectorSource) Value(_ []byte, rid uint64) ([]byte, bool, error) {
	s.looked++
	return s.vectors[rid], true, nil
}

type fakeVectorIterator struct {
	list [][]byte
	at   int
}

func (t *fakeVectorIterator) Next() bool    { t.at++; return t.at < len(t.list) }
func (t *fakeVectorIterator) Key() []byte   { return nil }
func (t *fakeVectorIterator) Value() []byte { return t.list[t.at] }
func (t *fakeVectorIterator) RID() uint64   { return uint64(t.at) }
func (t *fakeVectorIterator) Close() error  { return nil }

// randomVectors returns n random vectors that are scattered around random centers, at distances of about
// spread; the centers have lengths of about 1. If centers is 0, the vectors are scattered around the
// origin.
func randomVectors(r *rand.Rand, n, dimensions, centers int, spread float64) [][]float32 {
	normal := func(around []float32, scale float64) []float32 {
		v := make([]float32, dimensions)
		for i := range v {
			v[i] = float32(scale * r.NormFloat64() / math.Sqrt(float64(dimensions)))
			if around != nil {
				v[i] += around[i]
			}
		}
		return v
	}
	var middle [][]float32
	for range centers {
		middle = append(middle, normal(nil, 1))
	}
	list := make([][]float32, n)
	for i := range list {
		if centers == 0 {
			list[i] = normal(nil, 1)
		} else {
			list[i] = normal(middle[r.IntN(centers)], spread)
		}
	}
	return list
}

// NearestByCodes checks that a search for the nearest vectors through their quantized codes finds the same
// vectors as a comparison with all vectors, and reads fewer vectors.
func NearestByCodes(t *testing.T, seed uint64) {
	t.Logf("seed %d", seed)
	for _, c := range []struct {
		name                      string
		dimensions, size, centers int
		spread                    float64
		metric                    lang.VectorMetric
		most                      int // vectors looked up for a query
	}{
		{"random", 384, 0, 0, 0, lang.MetricCosine, 800},
		{"clusters", 384, 0, 100, 0.5, lang.MetricCosine, 2500},
		{"clusters by distance", 384, 0, 100, 0.3, lang.MetricEuclidean, 2000},
		{"clusters by product", 384, 0, 100, 0.5, lang.MetricDot, 2000},
		{"tight clusters", 384, 0, 20, 0.01, lang.MetricCosine, nearestVectors},
		{"a bit an element", 384, 48, 0, 0, lang.MetricCosine, nearestVectors},
		{"a few elements", 384, 16, 0, 0, lang.MetricCosine, nearestVectors},
		{"as many bytes as elements", 384, 384, 0, 0, lang.MetricCosine, 40},
		{"odd", 77, 0, 10, 0.4, lang.MetricEuclidean, nearestVectors},
		{"three", 3, 0, 0, 0, lang.MetricCosine, nearestVectors},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 11))
			all := randomVectors(r, nearestVectors+10, c.dimensions, c.centers, c.spread)
			q := index.NewQuantizer(c.dimensions, c.size)
			src := &fakeVectorSource{codeKey: []byte("codes")}
			for _, v := range all[:nearestVectors] {
				var value []byte
				for _, f := range v {
					value = binary.LittleEndian.AppendUint32(value, math.Float32bits(f))
				}
				src.vectors = append(src.vectors, value)
				src.codes = append(src.codes, q.AppendCode(nil, v))
			}
			if n := q.Size(); c.size == 0 && c.dimensions > 40 && n > c.dimensions*4/8 {
				t.Errorf("a code of %d dimensions has %d bytes", c.dimensions, n)
			}
			found := 0
			for _, v := range all[nearestVectors:] {
				plain := &plan.VectorOrder{Key: []byte("vectors"), Query: v, Square: lang.Squares(v),
					Metric: c.metric}
				coded := *plain
				coded.CodeKey, coded.Codes = src.codeKey, q.Query(v)
				want := tenNearest(t, src, plain)
				src.looked, src.walked = 0, 0
				for _, e := range tenNearest(t, src, &coded) {
					if slices.Contains(want, e) {
						found++
					}
				}
				if src.looked > c.most {
					t.Errorf("%d vectors looked up", src.looked)
				}
			}
			t.Logf("%d of 100; the last query looked %d vectors up and read %d", found, src.looked,
				src.walked)
			if found < 99 {
				t.Errorf("%d of 100 were found", found)
			}
		})
	}
}

func tenNearest(t *testing.T, src source.DocumentSource, v *plan.VectorOrder) (list []exec.DocumentDistance) {
	t.Helper()
	x := &exec.Execution{Plan: &plan.Plan{}, Opts: exec.RunOptions{}.WithDefaults()}
	x.Run = eval.NewRun(context.Background(), x.Plan.FrameSettings, eval.Env{})
	d, err := x.OpenDistances(src, v, nil, false)
	if err != nil || d == nil {
		t.Fatal(d, err)
	}
	for range 10 {
		e, ok, err := d.Next()
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		list = append(list, e)
	}
	return list
}
