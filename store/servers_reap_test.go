package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// TestReapOfSeveralServers checks that Reap and SweepNow use the current time of the database and the
// current expiry policy, even if another server has changed that and this one has not read it yet.
func TestReapOfSeveralServers(t *testing.T) {
	t.Parallel()
	for name, purge := range map[string]func(b *testStore) (int, error){
		"SweepNow":     func(b *testStore) (int, error) { return b.db.SweepNow(b.ctx) },
		"Reap":         func(b *testStore) (int, error) { return b.db.Reap(b.ctx) },
		"Reap of some": func(b *testStore) (int, error) { return b.c.Reap(b.ctx, 5) },
	} {
		t.Run(name, func(t *testing.T) {
			clock := ttl.NewManual(time.Unix(1_700_000_000, 0))
			slow := ttl.NewManual(clock.Now()) // machines whose clocks stand still
			a, b := twoServers(t, `"defaultTtl":-1`, clock, [2]ttl.Clock{slow, slow}, unwatched)
			a.doc("time", 5)
			clock.Advance(5 * time.Second)
			if n, err := purge(a); n != 1 || err != nil {
				t.Errorf("after the time to live, %d were purged, %v", n, err)
			}
			a.doc("policy", 0)
			b.setDefault("5")
			clock.Advance(5 * time.Second)
			if n, err := purge(a); n != 1 || err != nil {
				t.Errorf("by another server's policy, %d were purged, %v", n, err)
			}
			b.setDefault("-1")
			a.put(fmt.Sprintf(`{"id":"path","pk":"p","at":%d}`, clock.Now().Unix()))
			b.countFrom("/at", 5)
			clock.Advance(5 * time.Second)
			if n, err := purge(a); n != 1 || err != nil {
				t.Errorf("by another property, %d were purged, %v", n, err)
			}
		})
	}
}
