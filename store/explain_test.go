package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/ttl"
)

// epoch is the time at which the clock of a testStore starts, in seconds since 1970.
const epoch = 1_700_000_000

func (b *testStore) mortal(id string, own ttl.Seconds) {
	b.t.Helper()
	body := fmt.Sprintf(`{"id":%q,"pk":"p"}`, id)
	if own != ttl.Absent {
		body = fmt.Sprintf(`{"id":%q,"pk":"p","ttl":%d}`, id, own)
	}
	if _, _, err := b.c.Upsert(b.ctx, pk("p"), []byte(body), store.WriteOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *testStore) expiry(id string) inspect.ItemExpiryExplanation {
	b.t.Helper()
	e, err := b.c.ExplainItem(b.ctx, pk("p"), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return e
}

func TestExplainItem(t *testing.T) {
	t.Parallel()
	const keeps = `,"changeFeedPolicy":{"retentionDuration":10}`
	for name, c := range map[string]struct {
		spec string
		do   func(b *testStore)
		want string // state, source, ttl, expiry behind the epoch, remaining
		says string
	}{
		"off": {``, func(b *testStore) { b.mortal("a", 0) }, "live off 0 never",
			"It does not expire: the container's time to live is off."},
		"off, own ttl": {``, func(b *testStore) { b.mortal("a", 7) }, "live off 0 never",
			"It does not expire: its own ttl of 7s has no effect, since"},
		"off, own -1": {``, func(b *testStore) { b.mortal("a", -1) }, "live item -1 never",
			"It does not expire: its own ttl is -1."},
		"-1": {`"defaultTtl":-1`, func(b *testStore) { b.mortal("a", 0) },
			"live container -1 never", "the container's default is -1."},
		"-1, own ttl": {`"defaultTtl":-1`, func(b *testStore) { b.mortal("a", 7) }, "live item 7 7 7",
			"It expires in 7s, at 2023-11-14T22:13:27Z: its own ttl is 7s from its last write at " +
				"2023-11-14T22:13:20Z."},
		"n": {`"defaultTtl":9`, func(b *testStore) { b.mortal("a", 0); b.pass(4) },
			"live container 9 9 5", "It expires in 5s, at"},
		"n, own -1": {`"defaultTtl":9`, func(b *testStore) { b.mortal("a", -1) }, "live item -1 never",
			""},
		"n, longer": {`"defaultTtl":9`, func(b *testStore) { b.mortal("a", 90); b.pass(9) },
			"live item 90 90 81", ""},
		"n, written again": {`"defaultTtl":9`,
			func(b *testStore) {
				b.mortal("a", 0)
				b.pass(4)
				b.mortal("a",
					0)
			}, "live container 9 13 9", ""},
		"ghost": {`"defaultTtl":9`, func(b *testStore) { b.mortal("a", 0); b.pass(9) },
			"ghost container 9 9 0", "It expired at 2023-11-14T22:13:29Z, and is not purged yet: it has no"},
		"ghost by floor": {`"defaultTtl":9`,
			func(b *testStore) { b.mortal("a", 0); b.pass(10); b.setDefault("100") }, "ghost floor 0 10 0",
			"It expired at 2023-11-14T22:13:30Z or before, and is not purged yet: it had expired when the container's default was changed at 2023-11-14T22:13:30Z or earlier"},
		"ghost, then off": {`"defaultTtl":9`,
			func(b *testStore) {
				b.mortal("a",
					5)
				b.pass(10)
				b.setDefault("null")
			}, "ghost floor 0 10 0", ""},
		"lowered": {`"defaultTtl":900`,
			func(b *testStore) {
				b.mortal("a",
					0)
				b.pass(10)
				b.setDefault("4")
			}, "ghost container 4 4 0", ""},
		"lease": {`"defaultTtl":9`,
			func(b *testStore) {
				b.mortal("a", 0)
				b.leaseFor("a",
					30)
				b.pass(10)
			}, "live lease 9 30 20", "It expires in 20s, at 2023-11-14T22:13:50Z: a lease suspends its " +
				"expiry until 2023-11-14T22:13:50Z."},
		"lease too short": {`"defaultTtl":90`, func(b *testStore) { b.mortal("a", 0); b.leaseFor("a", 30) },
			"live container 90 90 90", ""},
		"lease over": {`"defaultTtl":9`,
			func(b *testStore) {
				b.mortal("a", 0)
				b.leaseFor("a",
					30)
				b.pass(30)
			}, "ghost lease 9 30 0", "a lease suspended its expiry until"},
		"lease over floor": {`"defaultTtl":9`,
			func(b *testStore) {
				b.mortal("a", 0)
				b.leaseFor("a",
					30)
				b.pass(10)
				b.setDefault("null")
			}, "live lease 0 30 20", ""},
		"purged, forgotten": {`"defaultTtl":9`,
			func(b *testStore) { b.mortal("a", 0); b.pass(9); b.purgeDue() },
			"unknown off 0 never", "There is no such item"},
		"purged, known": {`"defaultTtl":9` + keeps,
			func(b *testStore) {
				b.mortal("b", 0)
				b.mortal("a", 0)
				b.pass(9)
				b.purgeDue()
				b.mortal("b",
					0)
			}, "purged off 0 never", "It expired and was purged at 2023-11-14T22:13:29Z."},
		"purged, in the log": {`"defaultTtl":9`, func(b *testStore) {
			b.settings(withEvents(100))
			b.mortal("a", 0)
			b.pass(12)
			b.purgeDue()
		}, "purged off 0 9 0", "It expired at 2023-11-14T22:13:29Z and is purged."},
		"deleted": {`"defaultTtl":9` + keeps, func(b *testStore) {
			b.mortal("a", 0)
			if _, err := b.c.Delete(b.ctx, pk("p"), "a", store.WriteOptions{}); err != nil {
				b.t.Error(err)
			}
		}, "unknown off 0 never", ""},
		"deleted with its partition": {`"defaultTtl":9`, func(b *testStore) {
			b.mortal("a", 0)
			if _, err := b.c.DeletePartition(b.ctx, pk("p")); err != nil {
				b.t.Error(err)
			}
		}, "unknown off 0 never", ""},
		"never there": {`"defaultTtl":9`, func(*testStore) {}, "unknown off 0 never", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestStore(t, c.spec, 2)
			defer b.close()
			c.do(b)
			e := b.expiry("a")
			got := fmt.Sprintf("%v %v %d never", e.State, e.Source, e.TTL)
			if e.Mortal {
				got = fmt.Sprintf("%v %v %d %d %d", e.State, e.Source, e.TTL, e.ExpiresAt-epoch,
					e.Remaining())
			}
			if got != c.want || !strings.Contains(e.Sentence(), c.says) {
				t.Errorf("%s: %s\nwant %s: %s", got, e.Sentence(), c.want, c.says)
			}
			it, _, err := b.c.Read(b.ctx, pk("p"), "a", store.ReadOptions{})
			if (err == nil) != (e.State == inspect.StateLive) {
				t.Errorf("explained as %v, read: %v", e.State, err)
			}
			if err == nil && it.Expiry() != e {
				t.Errorf("the item says %+v, the container %+v", it.Expiry(), e)
			}
		})
	}
}

func (b *testStore) leaseFor(id string, seconds int) {
	b.t.Helper()
	if _, err := b.c.Lease(b.ctx, pk("p"), id, seconds); err != nil {
		b.t.Error(err)
	}
}

func TestExplainRefuses(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	for name, key := range map[string]store.ItemKey{
		"no partition key": {ID: "a"},
		"no id":            {Partition: pk("p")},
	} {
		if _, err := b.c.ExplainItem(b.ctx, key.Partition, key.ID); !is(err, fault.CodeBadRequest) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := b.c.Wait(b.ctx, store.ItemConditionWaitRequest{Key: key}); !is(err,
			fault.CodeBadRequest) {
			t.Errorf("wait, %s: %v", name, err)
		}
	}
}
