package requestlog

import (
	"strings"
	"sync"
	"testing"
)

// TestConcurrentAddsWithinMemory adds entries of all sizes concurrently, with a reader. The log must stay
// within its memory and hold the latest entries, none of them torn, and the reader must be told if it misses
// one.
func TestConcurrentAddsWithinMemory(t *testing.T) {
	l := New(3 << 20)
	const writers, each = 4, 400
	var work sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			for i := range each {
				e := entry(w*each + i)
				e.ResponseBody = []byte(strings.Repeat(string(rune('a'+w)), (i*977)%(3*MaxBody)))
				e.Out = int64(len(e.ResponseBody))
				l.Add(e)
			}
		})
	}
	stop := make(chan struct{})
	done := make(chan uint64)
	go func() { // a reader beside the writers
		r := l.Read(0, Filter{})
		seen := uint64(0)
		for {
			select {
			case <-stop:
				done <- seen
				return
			default:
			}
			list, lost := r.Next()
			for _, e := range list {
				if e.ID <= seen || e.ID != seen+1 && !lost {
					t.Errorf("%d behind %d", e.ID, seen)
				}
				seen = e.ID
			}
			if seen != r.Position() && !lost {
				t.Errorf("%d entries were examined, and the last one returned is %d", r.Position(), seen)
			}
			seen = r.Position() // entries that were lost behind the last one have been reported
		}
	}()
	work.Wait()
	close(stop)
	<-done
	most, allocated := l.Memory()
	if most > 3<<20 || allocated > most {
		t.Errorf("%d of %d bytes", allocated, most)
	}
	list, _ := l.Read(0, Filter{}).Next()
	if len(list) < 20 || list[len(list)-1].ID != writers*each {
		t.Fatalf("%d entries", len(list))
	}
	for _, brief := range list {
		r := l.Find(brief.ID)
		if want := int(min(r.Out, MaxBody)); len(r.ResponseBody) != want ||
			r.ResponseCut != (r.Out > MaxBody) {
			t.Fatalf("%d bytes of %d", len(r.ResponseBody), r.Out)
		}
		if b := string(r.ResponseBody); b != "" && b != strings.Repeat(b[:1], len(b)) {
			t.Fatal("an entry is torn")
		}
	}
}
