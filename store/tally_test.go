package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// TestCountsAfterRandomOperations compares the results of COUNT and GROUP BY with the documents after each of
// many random operations. It runs each query several times, so that the numbers of index entries are
// cached.
func TestCountsAfterRandomOperations(t *testing.T) {
	t.Parallel()
	for seed := range uint64(racetest.Campaign(4, 2)) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			h := &countQueryFixture{testStore: newQueryBench(t, store.Options{Ranges: 1 + int(seed%2)}, false,
				`"defaultTtl":20`), r: rand.New(rand.NewPCG(seed, 1))}
			defer h.close()
			for i := range 300 {
				h.write(i)
			}
			for range 60 {
				h.step()
				h.compare()
			}
		})
	}
}

// countQueryFixture is a testStore whose documents have a property g with one of three values.
type countQueryFixture struct {
	*testStore
	r *rand.Rand
}

// write stores the i-th document, sometimes with a ttl of its own.
func (h *countQueryFixture) write(i int) {
	own := [...]string{"", "", `,"ttl":-1`, `,"ttl":3`, `,"ttl":40`}[h.r.IntN(5)]
	h.put(fmt.Sprintf(`{"id":"%d","pk":"p%d","g":%d%s}`, i, i%5, h.r.IntN(3), own))
}

// step performs one random operation on the documents, the clock or the settings.
func (h *countQueryFixture) step() {
	i := h.r.IntN(300)
	p := pk(fmt.Sprint("p", i%5))
	var err error
	switch h.r.IntN(10) {
	case 0, 1, 2:
		h.write(i)
	case 3:
		if _, err = h.c.Delete(h.ctx, p, fmt.Sprint(i), store.WriteOptions{}); is(err, fault.CodeNotFound) {
			err = nil
		}
	case 4, 5:
		h.pass(1 + h.r.IntN(3))
	case 6:
		h.sweep()
	case 7:
		if _, err = h.c.Lease(h.ctx, p, fmt.Sprint(i), 1+h.r.IntN(5)); is(err, fault.CodeNotFound) {
			err = nil
		} else if err == nil && h.r.IntN(2) == 0 {
			err = h.c.ReleaseLease(h.ctx, p, fmt.Sprint(i))
		}
	case 8:
		if h.r.IntN(4) == 0 {
			_, err = h.c.DeletePartition(h.ctx, p)
		}
	case 9:
		spec := h.c.Info().Spec
		spec.DefaultTTL = []ttl.Seconds{20, ttl.Never, 0, 60}[h.r.IntN(4)]
		var d *store.Database
		if d, err = h.db.Database("db"); err == nil {
			_, err = d.ReplaceContainer(h.ctx, spec.ID, spec, store.WriteOptions{})
		}
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// compare runs the counting queries several times each, and compares their results with the documents.
func (h *countQueryFixture) compare() {
	h.t.Helper()
	var n [3]int
	for _, d := range h.documents(h.c) {
		n[d.Get("g").Int()]++
	}
	groups := ""
	for g, n := range n {
		if n > 0 {
			groups += fmt.Sprintf(` {"g":%d,"n":%d}`, g, n)
		}
	}
	for range 3 {
		h.expect("SELECT VALUE COUNT(1) FROM c WHERE c.g = 1", fmt.Sprint(n[1]))
		h.expect("SELECT VALUE COUNT(1) FROM c WHERE c.g >= 1", fmt.Sprint(n[1]+n[2]))
		h.expect("SELECT VALUE COUNT(c.g) FROM c", fmt.Sprint(n[0]+n[1]+n[2]))
		if groups != "" {
			h.expect("SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g", groups[1:])
		}
	}
}
