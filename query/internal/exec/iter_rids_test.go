package exec_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// TestRIDIterators checks the iterators over the intersection and the union of lists of rids: it reads random
// lists by random calls of Next and SeekGE, and compares the rids with those computed from sets.
func TestRIDIterators(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		var lists [][]uint64
		for range 1 + r.IntN(4) {
			var list []uint64
			for v := uint64(1); v < 200; v++ {
				if r.IntN(1+r.IntN(6)) == 0 {
					list = append(list, v)
				}
			}
			lists = append(lists, list)
		}
		var all, some []uint64
		for v := uint64(1); v < 200; v++ {
			n := 0
			for _, list := range lists {
				if slices.Contains(list, v) {
					n++
				}
			}
			if n == len(lists) {
				all = append(all, v)
			}
			if n > 0 {
				some = append(some, v)
			}
		}
		open := func() (list []source.PostingIterator) {
			for _, rids := range lists {
				list = append(list, &exec.SortedRIDListIterator{Rids: rids})
			}
			return list
		}
		var entries int64
		checkPostings(t, r, "intersection",
			&exec.RIDIntersection{List: open(), Pass: func() error { entries++; return nil }}, all)
		checkPostings(t, r, "union", &exec.RIDUnionIterator{All: open()}, some)
		checkPostings(t, r, "both",
			&exec.RIDIntersection{List: []source.PostingIterator{&exec.RIDUnionIterator{All: open()},
				&exec.SortedRIDListIterator{Rids: all}},
				Pass: func() error { entries++; return nil }}, all)
	}
}

func checkPostings(t *testing.T, r *rand.Rand, name string, p source.PostingIterator, want []uint64) {
	t.Helper()
	at := uint64(0)
	for {
		var ok bool
		target := at + 1
		if r.IntN(3) == 0 {
			target = at + uint64(r.IntN(30))
			target = max(target, 1)
			ok = p.SeekGE(target)
		} else {
			ok = p.Next()
		}
		i, _ := slices.BinarySearch(want, target)
		if ok != (i < len(want)) || ok && p.RID() != want[i] {
			t.Fatalf("%s: behind %d, from %d: %t", name, at, target, ok)
		}
		if !ok {
			break
		}
		at = p.RID()
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
