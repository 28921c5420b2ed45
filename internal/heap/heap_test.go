package heap_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mayflydb/mayfly/internal/heap"
	"github.com/mayflydb/mayfly/internal/metamorphic"
)

// TestHeap pushes, replaces and pops random numbers, and checks that the heap always returns the least.
func TestHeap(t *testing.T) {
	seed := metamorphic.FirstSeed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	h := heap.Heap[int]{Before: func(a, b int) bool { return a < b }}
	var all []int
	for range 5000 {
		n := r.IntN(100)
		switch {
		case len(all) == 0 || r.IntN(3) == 0:
			h.Push(n)
			all = append(all, n)
		case r.IntN(2) == 0:
			all[slices.Index(all, h.List[0])] = n
			h.List[0] = n
			h.Fix()
		default:
			got := h.Pop()
			if got != slices.Min(all) {
				t.Fatalf("popped %d of %v", got, all)
			}
			all = slices.Delete(all, slices.Index(all, got), slices.Index(all, got)+1)
		}
		if len(all) > 0 && h.List[0] != slices.Min(all) {
			t.Fatalf("%d is on top of %v", h.List[0], all)
		}
	}
	h.List = slices.Clone(all)
	h.Init()
	slices.Sort(all)
	for _, want := range all {
		if got := h.Pop(); got != want {
			t.Fatalf("popped %d, want %d", got, want)
		}
	}
}
