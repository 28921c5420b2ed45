package pebble

import (
	"math"
	"runtime"
	"testing"
)

func TestDefaultCache(t *testing.T) {
	for _, test := range []struct{ memory, limit, want int64 }{
		{0, math.MaxInt64, 64 << 20}, // the memory is not known
		{1 << 30, math.MaxInt64, 64 << 20},
		{16 << 30, math.MaxInt64, 512 << 20},
		{16 << 30, 4 << 30, 128 << 20},
		{256 << 30, math.MaxInt64, 1 << 30},
	} {
		if got := defaultCache(test.memory, test.limit); got != test.want {
			t.Errorf("%d bytes of memory, limit %d: a cache of %d bytes, want %d", test.memory, test.limit, got,
				test.want)
		}
	}
	if runtime.GOOS == "linux" && totalMemory() <= 0 {
		t.Error("the memory of this computer is not known")
	}
}

func TestCacheOfOptions(t *testing.T) {
	for name, test := range map[string]struct {
		given Options
		want  int64
	}{
		"folder": {Options{Dir: "data"}, defaultCache(totalMemory(), goMemoryLimit())},
		"memory": {Options{Memory: true}, 64 << 20},
		"chosen": {Options{Dir: "data", CacheBytes: 1 << 20}, 1 << 20},
	} {
		o, err := test.given.withDefaults()
		if err != nil || o.CacheBytes != test.want {
			t.Errorf("%s: a cache of %d bytes, %v, want %d", name, o.CacheBytes, err, test.want)
		}
	}
}
