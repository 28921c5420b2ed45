package store_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/doors"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// skewed is a system clock that shows another time than the one that it follows.
type skewed struct {
	ttl.Clock
	by time.Duration
}

func (c skewed) Now() time.Time { return c.Clock.Now().Add(c.by) }

// twoServers is two stores over one engine that tells the time of clock. The clocks of their machines are
// ahead of it and behind it.
func twoServers(t *testing.T, spec string, clock *ttl.Virtual) (ahead, behind *bench) {
	t.Helper()
	options := func(by time.Duration) store.Options {
		machine := skewed{clock, by}
		return store.Options{Clock: machine, Wall: machine, Ranges: 1, ManualReaper: true}
	}
	var shared *doors.Shared
	ahead = newBenchOver(t, vfs.NewMem(), spec, options(40*time.Second), func(p *pebble.Engine) engine.Engine {
		var err error
		if shared, err = doors.Share(p); err != nil {
			t.Fatal(err)
		}
		return shared.Server(clock)
	})
	other := *ahead
	var err error
	if other.db, err = store.Open(ahead.ctx, shared.Server(clock), options(-40*time.Second)); err != nil {
		t.Fatal(err)
	}
	other.lookUp()
	t.Cleanup(func() {
		for _, b := range []*bench{ahead, &other} {
			checkSound(t, b.db)
			if err := b.db.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return ahead, &other
}

// Servers whose machines disagree about the time agree on what has expired, and date what they write by the
// database's clock.
func TestServersHaveTheTimeOfTheirDatabase(t *testing.T) {
	clock := ttl.NewManual(time.Unix(1_700_000_000, 0))
	ahead, behind := twoServers(t, `"defaultTtl":30`, clock)
	live := func(b *bench) bool {
		_, _, err := b.c.Read(b.ctx, pk("p"), "a", store.ReadOptions{})
		if err != nil && !is(err, fault.CodeNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	ahead.doc("a", 0)
	it, _, err := behind.c.Read(behind.ctx, pk("p"), "a", store.ReadOptions{})
	if err != nil {
		t.Fatalf("a new document is not there: %v", err)
	}
	if ts := it.Timestamp(); ts != 1_700_000_000 {
		t.Errorf("it is dated %d", ts)
	}
	clock.Advance(29 * time.Second)
	if !live(ahead) || !live(behind) {
		t.Error("it has expired early")
	}
	clock.Advance(time.Second)
	if live(behind) || live(ahead) {
		t.Error("it has not expired in time")
	}
	if one, two := ahead.db.Now(), behind.db.Now(); !one.Equal(two) || one.Unix() != 1_700_000_030 {
		t.Errorf("the servers say %v and %v", one, two)
	}
	for i, b := range []*bench{behind, ahead, behind, ahead} { // in turn: no write is dated before another
		clock.Advance(time.Second)
		b.doc("b", 0)
		it, _, err := behind.c.Read(b.ctx, pk("p"), "b", store.ReadOptions{})
		if err != nil || it.Timestamp() != 1_700_000_031+int64(i) {
			t.Errorf("write %d is dated %d, %v", i, it.Timestamp(), err)
		}
	}
}
