package work

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// fakeLargeValueReader is an engine.Reader whose Scan and GetMany return values of many bytes.
type fakeLargeValueReader struct {
	engine.Reader
	n int
}

func (v *fakeLargeValueReader) Scan(engine.Range, bool) engine.Iterator {
	return &fakeLargeValueIterator{n: v.n}
}
func (v *fakeLargeValueReader) GetMany(keys [][]byte) ([][]byte, error) {
	return make([][]byte, len(keys)), nil
}

type fakeLargeValueIterator struct{ n int }

func (it *fakeLargeValueIterator) Next() bool         { it.n--; return it.n >= 0 }
func (it *fakeLargeValueIterator) SeekGE([]byte) bool { return it.n > 0 }
func (it *fakeLargeValueIterator) Key() []byte        { return []byte("k") }
func (it *fakeLargeValueIterator) Value() []byte      { return make([]byte, yieldBytes/2) }
func (it *fakeLargeValueIterator) Close() error       { return nil }

// TestScanYields checks that a scan of large values lets another goroutine run before its end, although
// there is only one processor.
func TestScanYields(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var ran atomic.Bool
	go ran.Store(true)
	w := &ScanTimeLimiter{Ctx: t.Context()}
	it := ScanTimeLimitedReader{&fakeLargeValueReader{n: 3}, w}.Scan(engine.Range{}, false)
	for it.Next() {
		it.Value()
	}
	if err := it.Close(); err != nil || !ran.Load() {
		t.Errorf("error %v, the other goroutine has run: %t", err, ran.Load())
	}
}
