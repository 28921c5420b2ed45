package store_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// TestNamesOfRangesHistories: containers of two names are made, split, dropped, put back by restores and by
// forks, at random. Under a name the id of a range never has two spans, and no container
// has two versions in its session tokens.
func TestNamesOfRangesHistories(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { namesOfRanges(t, seed) })
	}
}

func namesOfRanges(t *testing.T, seed uint64) {
	o := store.Options{ManualReaper: true}
	if seed%3 == 0 {
		o.FirstNumber = uint32(1000 * (seed + 1))
	}
	b := newBenchWith(t, vfs.NewMem(), "", o)
	defer b.close()
	random := rand.New(rand.NewPCG(seed, 1))
	spans := map[string]string{} // database/container/id -> span
	versions := map[string]int64{}
	look := func() {
		t.Helper()
		for _, d := range b.db.Databases() {
			for _, c := range d.Containers() {
				name := d.ID() + "/" + c.ID()
				for _, r := range c.Ranges().Ranges {
					key := name + "/" + r.ID
					if was := spans[key]; was != "" && was != r.Min+"-"+r.Max {
						t.Fatalf("the range %s was %s and is %s-%s", key, was, r.Min, r.Max)
					}
					spans[key] = r.Min + "-" + r.Max
				}
				key := name + "/" + c.RID()
				if was := versions[key]; was != 0 && was != c.SessionVersion() {
					t.Fatalf("the version of %s was %d and is %d", key, was, c.SessionVersion())
				}
				versions[key] = c.SessionVersion()
			}
		}
	}
	snapshots := 0
	for range 60 {
		look()
		name := []string{"db", "other"}[random.IntN(2)]
		d, err := b.db.Database(name)
		switch step := random.IntN(9); {
		case err != nil && step < 5:
			_, err = b.db.CreateDatabase(b.ctx, name, definition.Throughput{})
		case err != nil && snapshots > 0:
			_, err = b.db.ForkDatabase(b.ctx, fmt.Sprint("s", random.IntN(snapshots)), "db", name)
			if err != nil {
				continue // the snapshot has no such database
			}
		case err != nil:
			continue
		case step == 0:
			err = b.db.DeleteDatabase(b.ctx, name, store.WriteOptions{})
		case step == 1:
			_, err = b.db.Snapshot(b.ctx, fmt.Sprint("s", snapshots))
			snapshots++
		case step == 2 && snapshots > 0:
			err = b.db.Restore(b.ctx, fmt.Sprint("s", random.IntN(snapshots)))
		case step == 3 && snapshots > 0:
			_, err = b.db.RestoreDatabase(b.ctx, fmt.Sprint("s", random.IntN(snapshots)), name)
			if err != nil {
				continue
			}
		default:
			c, gone := d.Container("c")
			if gone != nil {
				_, err = d.CreateContainerWith(b.ctx, specOf(t, ""),
					store.ContainerOptions{Ranges: []int{1, 1, 2, 4}[random.IntN(4)]})
			} else if random.IntN(2) == 0 {
				err = d.DeleteContainer(b.ctx, "c", store.WriteOptions{})
			} else {
				ranges := c.Ranges().Ranges
				low := ranges[random.IntN(len(ranges))]
				if _, err = c.Split(b.ctx, low.ID, low.Min+"0"+strconv.Itoa(1+random.IntN(9))); err != nil {
					continue // no bound inside of the range
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	look()
}
