package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// alive reports whether the item "a" can be read.
func (b *testStore) alive() bool {
	b.t.Helper()
	_, _, err := b.c.Read(b.ctx, pk("p"), "a", store.ReadOptions{})
	if err != nil && !is(err, fault.CodeNotFound) {
		b.t.Error(err)
	}
	return err == nil
}

func (b *testStore) lease(seconds int) store.ExpirySuspension {
	b.t.Helper()
	l, err := b.c.Lease(b.ctx, pk("p"), "a", seconds)
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

// TestLease checks that a lease suspends the expiry of an item exactly until its end, and that the item
// then expires as if there had been no lease.
func TestLease(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":10`, 2)
	defer b.close()
	b.put(`{"id":"a","pk":"p"}`)
	born := b.clock.Now().Unix()
	b.pass(9)
	if l := b.lease(5); l.Until != born+14 {
		t.Errorf("until %d", l.Until-born)
	}
	b.pass(4) // at 13
	b.sweep()
	if !b.alive() {
		t.Error("dead while it is leased")
	}
	b.lease(4) // renewed to 17
	b.pass(3)
	if !b.alive() {
		t.Error("dead while it is leased")
	}
	b.pass(1)
	if b.alive() {
		t.Error("alive when the lease is over")
	}
	for what, err := range map[string]error{
		"lease":   func() error { _, err := b.c.Lease(b.ctx, pk("p"), "a", 5); return err }(),
		"release": b.c.ReleaseLease(b.ctx, pk("p"), "a"),
		"nobody":  b.c.ReleaseLease(b.ctx, pk("p"), "nobody"),
	} {
		if !is(err, fault.CodeNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	b.sweep()

	b.put(`{"id":"a","pk":"p"}`) // a new life has no lease
	b.pass(1)
	b.lease(100)
	b.pass(20)
	if _, _, err := b.c.Replace(b.ctx, pk("p"), "a", []byte(`{"id":"a","pk":"p","ttl":1}`),
		store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.pass(5)
	if !b.alive() {
		t.Error("a replace has ended the lease")
	}
	if err := b.c.ReleaseLease(b.ctx, pk("p"), "a"); err != nil {
		t.Fatal(err)
	}
	if b.alive() {
		t.Error("alive without its lease")
	}
	for _, seconds := range []int{0, -1, store.MaxLease + 1} {
		if _, err := b.c.Lease(b.ctx, pk("p"), "a", seconds); !is(err, fault.CodeBadRequest) {
			t.Errorf("%d seconds: %v", seconds, err)
		}
	}
	if _, err := b.c.Lease(b.ctx, definition.PartitionKey{}, "a", 1); !is(err, fault.CodeBadRequest) {
		t.Errorf("no partition key: %v", err)
	}
}

// TestLeaseIsNoWrite checks that a lease changes neither the etag nor the LSN of an item and does not
// occur in change feeds.
func TestLeaseIsNoWrite(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":10,"changeFeedPolicy":{"retentionDuration":1000}`, 1)
	defer b.close()
	b.put(`{"id":"a","pk":"p"}`)
	before, r, err := b.c.Read(b.ctx, pk("p"), "a", store.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.pass(3)
	b.lease(30)
	if err := b.c.ReleaseLease(b.ctx, pk("p"), "a"); err != nil {
		t.Fatal(err)
	}
	b.lease(20)
	after, r2, err := b.c.Read(b.ctx, pk("p"), "a", store.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if string(before.AppendJSON(nil)) != string(after.AppendJSON(nil)) || before.ETag() != after.ETag() ||
		r.LSN != r2.LSN {
		t.Errorf("%s at %d\n%s at %d", before.AppendJSON(nil), r.LSN, after.AppendJSON(nil), r2.LSN)
	}
	page, _, err := b.c.Changes(b.ctx, store.ChangesRequest{})
	if err != nil || len(page.Changes) != 1 {
		t.Errorf("%v, %d changes", err, len(page.Changes))
	}
	b.pass(15) // its time is over; the lease holds
	b.expect("SELECT VALUE COUNT(1) FROM c", "1")
	b.sweep()
	b.expect("SELECT VALUE c.id FROM c", `"a"`)
	b.pass(5)
	b.expect("SELECT VALUE COUNT(1) FROM c", "0")
}

// TestLeaseIsDurable checks that an acknowledged lease survives a crash, with its original end.
func TestLeaseIsDurable(t *testing.T) {
	t.Parallel()
	ctx, fs := context.Background(), testdisk.NewCrashable(t)
	clock := ttl.NewManual(time.Unix(1_700_000_000, 0))
	db, err := openAt(ctx, fs, clock)
	if err != nil {
		t.Fatal(err)
	}
	d, err := db.CreateDatabase(ctx, "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	b := &testStore{t: t, ctx: ctx, clock: clock, db: db}
	if b.c, err = d.CreateContainer(ctx, specOf(t, `"defaultTtl":10`), definition.Throughput{}); err != nil {
		t.Fatal(err)
	}
	b.put(`{"id":"a","pk":"p"}`)
	b.pass(5)
	b.lease(100)
	wreck := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if b.db, err = openAt(ctx, wreck, clock); err != nil {
		t.Fatal(err)
	}
	if d, err = b.db.Database("db"); err == nil {
		b.c, err = d.Container("c")
	}
	if err != nil {
		t.Fatal(err)
	}
	b.pass(99)
	b.sweep()
	if !b.alive() {
		t.Error("the lease is lost")
	}
	b.pass(1)
	if b.alive() {
		t.Error("alive when the lease is over")
	}
	b.close()
}
