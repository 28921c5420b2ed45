package pebble

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestCgroupLimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.max")
	if got := cgroupLimit(file); got != math.MaxUint64 {
		t.Errorf("no file: %d, want no limit", got)
	}
	for text, want := range map[string]uint64{"max\n": math.MaxUint64, "536870912\n": 512 << 20, "": math.MaxUint64} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := cgroupLimit(file); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
