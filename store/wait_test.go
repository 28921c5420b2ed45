package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/inspect"
)

// runningWaitCall is a call of Wait that is running in a goroutine.
type runningWaitCall struct {
	t    *testing.T
	end  context.CancelFunc
	done chan struct{}
	out  store.ContainerWaitResult
	err  error
}

func (b *testStore) wait(req store.ItemConditionWaitRequest) *runningWaitCall {
	ctx, cancel := context.WithCancel(b.ctx)
	w := &runningWaitCall{t: b.t, end: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.out, w.err = b.c.Wait(ctx, req)
	}()
	return w
}

func (b *testStore) waitFor(what store.ContainerWaitCondition, id string) *runningWaitCall {
	return b.wait(store.ItemConditionWaitRequest{For: what, Key: store.ItemKey{Partition: pk("p"), ID: id}})
}

// over waits until the call of Wait has returned, and returns its result. The test hangs if it never does.
func (w *runningWaitCall) over() store.ContainerWaitResult {
	w.t.Helper()
	<-w.done
	w.end()
	if w.err != nil {
		w.t.Errorf("the wait failed: %v", w.err)
	}
	return w.out
}

// notYet cancels the call of Wait, and checks that it had not returned before and that the item has the
// given state.
func (w *runningWaitCall) notYet(state inspect.ItemState) {
	w.t.Helper()
	w.end()
	<-w.done
	if !is(w.err, fault.CodeCanceled) || w.out.Expiry.State != state {
		w.t.Errorf("the wait is over: %+v, %v", w.out, w.err)
	}
}

// TestWait checks that Wait returns when its condition becomes true: by a clock move, a write, a purge or
// a change of the expiry policy.
func TestWait(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":10`, 2)
	defer b.close()
	b.mortal("a", 0)
	expired, purged, quiet := b.waitFor(store.WaitExpired, "a"), b.waitFor(store.WaitPurged,
		"a"), b.waitFor(store.WaitQuiet, "")
	quiet.over() // nothing has expired
	b.pass(9)
	b.waitFor(store.WaitExpired, "a").notYet(inspect.StateLive)
	b.pass(1)
	if out := expired.over(); out.Expiry.State != inspect.StateGhost || out.Expiry.ExpiresAt != epoch+10 {
		t.Errorf("%+v", out)
	}
	b.waitFor(store.WaitPurged, "a").notYet(inspect.StateGhost)
	b.waitFor(store.WaitQuiet, "").notYet(inspect.StateUnknown)
	quiet = b.waitFor(store.WaitQuiet, "")
	b.purgeDue()
	quiet.over()
	if out := purged.over(); out.Expiry.State != inspect.StateUnknown {
		t.Errorf("%+v", out)
	}

	// A write that prolongs the life prolongs the wait; a delete and a policy end it.
	b.mortal("a", 0)
	w := b.waitFor(store.WaitExpired, "a")
	b.pass(5)
	b.mortal("a", 100)
	b.pass(50)
	b.waitFor(store.WaitExpired, "a").notYet(inspect.StateLive)
	b.pass(50)
	w.over()
	b.mortal("a", 0)
	w = b.waitFor(store.WaitExpired, "a")
	if _, err := b.c.Delete(b.ctx, pk("p"), "a", store.WriteOptions{}); err != nil {
		t.Error(err)
	}
	w.over()
	b.mortal("a", 0)
	b.pass(5)
	w = b.waitFor(store.WaitExpired, "a")
	b.setDefault("3")
	w.over()
	b.mortal("a", -1)
	b.leaseFor("a", 5)
	b.waitFor(store.WaitExpired, "a").notYet(inspect.StateLive)
}

func TestWaitForFeed(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]bool{"latest versions": false, "all versions": true} {
		t.Run(name, func(t *testing.T) {
			spec := `"defaultTtl":10`
			if keeps {
				spec += `,"changeFeedPolicy":{"retentionDuration":10}`
			}
			b := newTestStore(t, spec, 1)
			defer b.close()
			first := b.waitFor(store.WaitFeed, "a")
			b.mortal("b", 0)
			b.mortal("a", 0)
			out := first.over()
			if out.LSN == 0 || keeps != (out.Change == store.ChangeCreate) {
				t.Errorf("%+v", out)
			}
			next := store.ItemConditionWaitRequest{For: store.WaitFeed,
				Key:   store.ItemKey{Partition: pk("p"), ID: "a"},
				After: out.LSN}
			second := b.wait(next)
			b.wait(next).notYet(inspect.StateLive)
			b.mortal("a", 0)
			out = second.over()
			if out.LSN <= next.After || keeps != (out.Change == store.ChangeReplace) {
				t.Errorf("%+v", out)
			}
			next.After = out.LSN
			b.pass(10)
			b.wait(next).notYet(inspect.StateGhost)
			third := b.wait(next)
			b.purgeDue()
			if !keeps {
				third.notYet(inspect.StateUnknown) // deletes do not show in this feed
				return
			}
			if out = third.over(); out.Change != store.ChangeExpire ||
				out.Expiry.State != inspect.StatePurged {
				t.Errorf("%+v", out)
			}
		})
	}
}

// TestWaitByDatabaseClock checks that Wait uses the clock of its database, even if that stops
// following the server's clock during the wait.
func TestWaitByDatabaseClock(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":10`, 1)
	defer b.close()
	d, err := b.db.Database("db")
	if err != nil {
		t.Fatal(err)
	}
	b.mortal("a", 0)
	w := b.waitFor(store.WaitExpired, "a")
	ahead := 10 * time.Second
	if _, err := d.SetClock(b.ctx, store.ClockChangeRequest{Advance: &ahead}); err != nil {
		t.Fatal(err)
	}
	if out := w.over(); out.Expiry.Now != epoch+10 || b.seconds() != epoch {
		t.Errorf("expired at %d, the server's clock shows %d", out.Expiry.Now, b.seconds())
	}
}

// TestWaitForReaper checks that a purge by the background reaper ends a wait for WaitPurged.
func TestWaitForReaper(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, testdisk.New(t), `"defaultTtl":10`, store.Options{Ranges: 1})
	defer b.close()
	b.mortal("a", 0)
	purged := b.waitFor(store.WaitPurged, "a")
	b.pass(10)
	b.waitFor(store.WaitExpired, "a").over()
	b.pass(1)
	purged.over()
	b.waitFor(store.WaitQuiet, "").over()
}

// TestWaitForDroppedContainer checks that Wait fails if its container is dropped or the store is closed.
func TestWaitForDroppedContainer(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	b.mortal("a", 0)
	w := b.waitFor(store.WaitExpired, "a")
	d, err := b.db.Database("db")
	if err == nil {
		err = d.DeleteContainer(b.ctx, "c", store.WriteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if <-w.done; !is(w.err, fault.CodeOwnerNotFound) {
		t.Errorf("dropped: %v", w.err)
	}
	w.end()
	if b.c, err = d.CreateContainer(b.ctx, specOf(t, ""), definition.Throughput{}); err != nil {
		t.Fatal(err)
	}
	b.mortal("a", 0)
	w = b.waitFor(store.WaitExpired, "a")
	b.close()
	if <-w.done; !is(w.err, fault.CodeUnavailable) {
		t.Errorf("closed: %v", w.err)
	}
	w.end()
}
