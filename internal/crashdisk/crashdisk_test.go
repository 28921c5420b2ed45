package crashdisk

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestUseDuringCrashClone runs CrashClone repeatedly while another goroutine uses the disk. It checks that
// neither deadlocks, and that each clone can be used.
func TestUseDuringCrashClone(t *testing.T) {
	d := New()
	f, err := d.Create("0", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 2000 {
			name, next := fmt.Sprint(i), fmt.Sprint(i+1)
			f, err := d.ReuseForWrite(name, next, vfs.WriteCategoryUnspecified)
			if err != nil {
				t.Error(err)
				return
			}
			lock, err := d.Lock("lock")
			if err != nil {
				t.Error(err)
				return
			}
			for _, err := range []error{f.Close(), lock.Close(), d.Link(next, "link"), d.Remove("link")} {
				if err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 2000 {
		list, err := d.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0}).List("")
		if err != nil || len(list) > 3 {
			t.Errorf("%v, %v", list, err)
		}
	}
	wg.Wait()
}
