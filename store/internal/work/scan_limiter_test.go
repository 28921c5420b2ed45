package work

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// values is a reader whose scan and GetMany return large values.
type values struct {
	engine.Reader
	n int
}

func (v *values) Scan(engine.Range, bool) engine.Iterator { return &valuesIterator{n: v.n} }
func (v *values) GetMany(keys [][]byte) ([][]byte, error) { return make([][]byte, len(keys)), nil }

type valuesIterator struct{ n int }

func (it *valuesIterator) Next() bool         { it.n--; return it.n >= 0 }
func (it *valuesIterator) SeekGE([]byte) bool { return it.n > 0 }
func (it *valuesIterator) Key() []byte        { return []byte("k") }
func (it *valuesIterator) Value() []byte      { return make([]byte, yieldBytes/2) }
func (it *valuesIterator) Close() error       { return nil }

// TestScanYields: on one processor another goroutine runs before a scan of large values has ended.
func TestScanYields(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var ran atomic.Bool
	go ran.Store(true)
	w := &ScanLimiter{Ctx: t.Context()}
	it := LimitedReader{&values{n: 3}, w}.Scan(engine.Range{}, false)
	for it.Next() {
		it.Value()
	}
	if err := it.Close(); err != nil || !ran.Load() {
		t.Errorf("error %v, the other goroutine has run: %t", err, ran.Load())
	}
}
