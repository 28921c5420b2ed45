package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// defaultTTLChange describes a test's change of a container's default TTL: in the second at, it changes to
// the value of the field to, and four seconds later back to that of the field from.
type defaultTTLChange struct {
	from, to, at int64
	c            *store.Container
}

func (ch *defaultTTLChange) String() string {
	return fmt.Sprintf("default %d to %d at %d", ch.from, ch.to, ch.at)
}

// defaults returns the default TTLs that have been in force until a second, in order, each with the first
// and last second of its time. changed says whether a change in that second has been made already.
func (ch *defaultTTLChange) defaults(second int64, changed bool) (spans [][3]int64) {
	end := func(at int64) int64 { return min(at, second) }
	spans = append(spans, [3]int64{ch.from, 0, end(ch.at)})
	if second > ch.at || second == ch.at && changed {
		spans = append(spans, [3]int64{ch.to, ch.at, end(ch.at + 4)})
	}
	if second > ch.at+4 || second == ch.at+4 && changed {
		spans = append(spans, [3]int64{ch.from, ch.at + 4, second})
	}
	return spans
}

// dead reports whether an item that was written in second 0 with the ttl own (0: none) has expired by the
// given second. It has if its time to live ended while one of the defaults so far was in force. changed
// reports whether a change of the default in that very second has been made already.
func (ch *defaultTTLChange) dead(own, second int64, changed bool) bool {
	return slices.ContainsFunc(ch.defaults(second, changed), func(span [3]int64) bool {
		life := own
		if own == 0 {
			life = span[0]
		}
		return span[0] != 0 && life > 0 && life <= span[2]
	})
}

// TestTTLChangeOfDefault checks each change of the default TTL with each kind of item, around the change
// and each expiry: the new default counts from the last write, also backwards in time, and expired items
// stay expired.
func TestTTLChangeOfDefault(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	kinds := []int64{0, -1, 1, 5, 9, 25, maxLife}
	var ids []string
	for _, own := range kinds {
		ids = append(ids, fmt.Sprint("ttl=", own))
	}
	defaults := []int64{0, -1, 1, 5, 10}
	onFixtures(t, func(g *ttlSuiteRig) {
		var changes []*defaultTTLChange
		for _, from := range defaults {
			for _, to := range defaults {
				for at := int64(4); at <= 6 && from != to; at++ {
					ch := &defaultTTLChange{from: from, to: to, at: at}
					ch.c = g.container(fmt.Sprintf("from%d-to%d-at%d", from, to, at), ttl.Seconds(from), "")
					for i, own := range kinds {
						g.put(ch.c, ids[i], own)
					}
					changes = append(changes, ch)
				}
			}
		}
		look := func(ch *defaultTTLChange, second int64, changed bool) {
			want := map[string]expectedVisibleItem{}
			for i, own := range kinds {
				if !ch.dead(own, second, changed) {
					want[ids[i]] = expectedVisibleItem{ttl: own}
				}
			}
			g.alive(ch.String(), ch.c, ids, want)
		}
		for _, second := range []int64{1, 4, 5, 6, 8, 9, 10, 11, 24, 25, 26, maxLife} {
			g.until(second)
			for _, ch := range changes {
				var err error
				ch.c, err = g.d.Container(ch.c.ID()) // the store may have been opened anew
				g.must(err)
				look(ch, second, false)
				if second != ch.at && second != ch.at+4 {
					continue
				}
				spec := ch.c.Info().Spec
				if spec.DefaultTTL = ttl.Seconds(ch.to); second == ch.at+4 {
					spec.DefaultTTL = ttl.Seconds(ch.from)
				}
				_, err = g.d.ReplaceContainer(g.ctx, spec.ID, spec, store.WriteOptions{})
				g.must(err)
				look(ch, second, true)
			}
		}
	})
}
