package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// pausingClock is a clock that stops the first script that calls Now until release is closed.
type pausingClock struct {
	*ttl.VirtualClock
	once           sync.Once
	begun, release chan struct{}
}

func (p *pausingClock) Now() time.Time {
	if within("goja.") {
		p.once.Do(func() { close(p.begun) })
		<-p.release
	}
	return p.VirtualClock.Now()
}

// TestRangeAccessDuringScript checks that while a stored procedure runs, reads of its range continue, and
// writes wait until their context ends or their time limit has passed.
func TestRangeAccessDuringScript(t *testing.T) {
	t.Parallel()
	testdisk.Pebble(t, "its clock stops the script, which has the time of the database with another engine")
	clock := &pausingClock{VirtualClock: ttl.NewManual(time.Unix(1_700_000_000, 0)),
		begun:   make(chan struct{}),
		release: make(chan struct{})}
	b := newBenchWith(t, testdisk.New(t), "", store.Options{Ranges: 1, ManualReaper: true, Clock: clock,
		QueryTime:  100 * time.Millisecond,
		ScriptTime: time.Hour})
	defer b.close()
	b.put(`{"id":"1","pk":"a","n":1}`)
	b.procedure("p", `function () {
		__.readDocument(__.getAltLink() + "/docs/1", function (err, d) {
			d.n++;
			__.replaceDocument(d._self, d, function () { Date.now(); });
		});
	}`)
	done := make(chan error, 1)
	go func() {
		_, err := b.execute("p")
		done <- err
	}()
	<-clock.begun
	a, other := definition.NewPartitionKey(jsondoc.StringValue("a")), definition.NewPartitionKey(
		jsondoc.StringValue("b"))
	for range 20 { // they see what was there before
		if it, _, err := b.c.Read(b.ctx, a, "1", store.ReadOptions{}); err != nil ||
			jsondoc.Of(it.Body()).Member("n").Num() != 1 {
			t.Fatalf("a read: %s, %v", it.Body(), err)
		}
		if _, _, err := b.c.Read(b.ctx, other, "1", store.ReadOptions{}); !is(err, fault.CodeNotFound) {
			t.Fatalf("a read of nothing: %v", err)
		}
		b.expect("SELECT VALUE c.n FROM c", "1")
		if page, _, err := b.c.Changes(b.ctx, store.ChangesRequest{}); err != nil || len(page.Changes) != 1 {
			t.Fatalf("the feed: %v, %v", page, err)
		}
		if page, _, err := b.c.List(b.ctx, store.ListOptions{}); err != nil || len(page.Items) != 1 {
			t.Fatalf("a list: %v, %v", page, err)
		}
	}
	write := func(ctx context.Context) error {
		_, _, err := b.c.Upsert(ctx, other, []byte(`{"id":"1","pk":"b"}`), store.WriteOptions{})
		return err
	}
	hangsUp, cancel := context.WithCancel(b.ctx)
	waits := make(chan error, 1)
	go func() { waits <- write(hangsUp) }()
	cancel()
	if err := <-waits; !is(err, fault.CodeCanceled) {
		t.Errorf("a write whose request has ended: %v", err)
	}
	if err := write(context.Background()); !is(err, fault.CodeCanceled) {
		t.Errorf("a write that nobody ends: %v", err)
	}
	close(clock.release)
	if err := <-done; err != nil {
		t.Errorf("the procedure: %v", err)
	}
	if err := write(b.ctx); err != nil {
		t.Errorf("a write afterwards: %v", err)
	}
	b.expect("SELECT VALUE c.n FROM c WHERE IS_DEFINED(c.n)", "2")
}

// TestPatchOfOwnWrite checks a conditional patch of an item that its own pre-trigger has just written,
// with a condition that takes long. It cannot be evaluated before the transaction, so the patch fails and
// is not repeated.
func TestPatchOfOwnWrite(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	b.put(`{"id":"many","pk":"a","l":[]}`)
	b.trigger("t", `function () {
		var l = [];
		for (var i = 0; i < 1000; i++) l.push(1);
		__.upsertDocument(__.getSelfLink(), { id: "many", pk: "a", l: l });
	}`)
	p := patchOf(t, `{"op":"set","path":"/v","value":1}`)
	p.Condition = "FROM c WHERE EXISTS(SELECT VALUE 1 " + endlessJoin + ")"
	key := definition.NewPartitionKey(jsondoc.StringValue("a"))
	if _, _, err := b.c.Patch(b.ctx, key, "many", *p,
		store.WriteOptions{PreTriggers: []string{"t"}}); !is(err, fault.CodeBadRequest) {
		t.Errorf("%v", err)
	}
	p.Condition = "FROM c WHERE ARRAY_LENGTH(c.l) = 1000"
	if _, _, err := b.c.Patch(b.ctx, key, "many", *p,
		store.WriteOptions{PreTriggers: []string{"t"}}); err != nil {
		t.Errorf("%v", err)
	}
	b.expect("SELECT VALUE c.v FROM c", "1")
}
