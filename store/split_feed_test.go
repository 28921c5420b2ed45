package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// TestFeedsAcrossSplits checks that readers of a change feed that follow one range into its halves, and
// one of the whole container, get every change before, during and after splits once.
func TestFeedsAcrossSplits(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 3))
		b, s := newSplitBench(t, testdisk.New(t))
		b.create(`"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":60}`, 1+int(seed%2))
		last := map[string]uint64{}                // LSN of the last write of an item that is there
		history := map[string][]store.ChangeKind{} // of each item
		// by the reader of ranges, by that of the whole: latest versions
		seen := [2]map[string][]uint64{{}, {}}
		told := [2]map[string][]store.ChangeKind{{}, {}} // the same: all versions
		// positions of the reader of ranges, by mode and range
		at := [2]map[string]string{{}, {}}
		parents := map[string]string{}           // of ranges
		whole := [2]string{"", b.feedNow(t, "")} // positions of the other
		for _, id := range b.rangeIDs() {
			at[0][id], at[1][id] = "", b.feedNow(t, id)
		}
		note := func(reader int, mode store.ChangeFeedMode, changes []store.Change) {
			for _, ch := range changes {
				id := ch.Key.ID
				if id == "" {
					id = ch.Item.ID()
				}
				if mode == store.LatestVersions {
					seen[reader][id] = append(seen[reader][id], ch.LSN)
				} else {
					told[reader][id] = append(told[reader][id], ch.Kind)
				}
			}
		}
		read := func(pages int) {
			for i, mode := range []store.ChangeFeedMode{store.LatestVersions, store.AllVersions} {
				for range pages {
					page, _, err := b.c.Changes(b.ctx,
						store.ChangesRequest{Mode: mode, MaxItems: 1 + r.IntN(9),
							Start: store.ChangesStart{After: whole[i]}})
					if err != nil {
						t.Fatal(err)
					}
					note(1, mode, page.Changes)
					whole[i] = page.Position
					for _, id := range b.rangeIDs() {
						from, ok := at[i][id]
						for p := id; !ok; from, ok = at[i][p] {
							p = parents[p]
						}
						req := store.ChangesRequest{Mode: mode, MaxItems: 1 + r.IntN(9),
							Scope: store.KeyOrRange{Range: id}, Start: store.ChangesStart{
								After: from}}
						page, _, err := b.c.Changes(b.ctx, req)
						if err != nil {
							t.Fatal(err)
						}
						note(0, mode, page.Changes)
						at[i][id] = page.Position
					}
				}
			}
		}
		write := func() {
			id := fmt.Sprint(r.IntN(40))
			p := "p" + id
			if r.IntN(9) == 0 {
				if _, err := b.c.Delete(b.ctx, pk(p), id, store.WriteOptions{}); err == nil {
					history[id] = append(history[id], store.ChangeDelete)
					delete(last, id)
				}
				return
			}
			it, receipt, err := b.c.Upsert(b.ctx, pk(p), fmt.Appendf(nil, `{"id":%q,"pk":%q,"n":%d}`, id, p,
				r.IntN(100)), store.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			kind := store.ChangeReplace
			if receipt.Inserted {
				kind = store.ChangeCreate
			}
			history[id], last[id] = append(history[id], kind), it.LSN()
		}
		for range 300 {
			switch r.IntN(12) {
			case 0:
				ids := b.rangeIDs()
				if len(ids) == 9 {
					continue
				}
				parent := ids[r.IntN(len(ids))]
				halves, err := b.during(s, parent, func(int, bool) {
					for range r.IntN(4) {
						write()
					}
					if r.IntN(3) == 0 {
						read(1)
					}
				})
				if err != nil && !is(err, fault.CodeConflict) {
					t.Fatal(err)
				}
				for _, h := range halves {
					parents[h.ID] = parent
				}
			case 1, 2:
				read(1)
			default:
				write()
			}
			b.clock.Advance(100 * time.Millisecond)
		}
		read(400)
		for reader, name := range []string{"ranges", "the whole"} {
			for id := range history {
				if lsns := seen[reader][id]; last[id] > 0 &&
					(len(lsns) == 0 || lsns[len(lsns)-1] != last[id]) {
					t.Errorf("seed %d: the reader of %s has seen %s at %v, it was written at %d", seed, name,
						id, lsns, last[id])
				} else if c := slices.Compact(slices.Clone(lsns)); len(c) != len(lsns) {
					t.Errorf("seed %d: the reader of %s has seen %s at %v", seed, name, id, lsns)
				}
				if !slices.Equal(told[reader][id], history[id]) {
					t.Errorf("seed %d: the reader of %s was told of %s: %v, it was %v", seed, name, id,
						told[reader][id], history[id])
				}
			}
		}
		checkClean(t, b.db)
		if err := b.db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// create creates the test's database and its container. policies holds members of the definition as JSON.
func (b *testStore) create(policies string, ranges int) {
	b.t.Helper()
	d, err := b.db.CreateDatabase(b.ctx, "db", definition.Throughput{})
	if err != nil {
		b.t.Fatal(err)
	}
	if b.c, err = d.CreateContainerWith(b.ctx, specOf(b.t, policies),
		store.ContainerOptions{Ranges: ranges}); err != nil {
		b.t.Fatal(err)
	}
}

// feedNow returns the current position in the feed of all versions, of the range id or, if that is empty,
// of the whole container.
func (b *testStore) feedNow(t *testing.T, id string) string {
	t.Helper()
	page, _, err := b.c.Changes(b.ctx, store.ChangesRequest{Mode: store.AllVersions,
		Scope: store.KeyOrRange{Range: id}, Start: store.ChangesStart{Now: true}})
	if err != nil {
		t.Fatal(err)
	}
	return page.Position
}
