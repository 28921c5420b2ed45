package mayfly_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly"
	"github.com/mayflydb/mayfly/store"
)

// die creates documents with the given ids, advances the clock by an hour so that they expire, and purges
// them.
func die(t *testing.T, db *mayfly.DB, c *mayfly.Container, clock *mayfly.Clock, names ...string) {
	t.Helper()
	for _, id := range names {
		must(c.Create(t.Context(), Session{ID: id, User: "ada"}))
	}
	clock.Advance(time.Hour)
	must(db.Sweep(t.Context()))
}

// TestExpirationsAcrossRestores checks that a loop over the log of expirations with Follow continues in
// the restored data after a Restore, and ends with ErrUnavailable when the store is closed.
func TestExpirationsAcrossRestores(t *testing.T) {
	db, c, clock := sessions(mayfly.LogExpirations(24 * time.Hour))
	check(db.Snapshot(t.Context(), "one"))
	died := make(chan mayfly.Expiration)
	end := make(chan error, 1)
	go func() {
		for e, err := range c.Expirations(t.Context(), "", mayfly.Follow()) {
			if err != nil {
				end <- err
				return
			}
			died <- e
		}
	}()
	for _, id := range []string{"a", "b", "c"} {
		die(t, db, c, clock, id)
		if e := <-died; e.Document.ID != id || e.Lost {
			t.Errorf("%s has died, lost %t; want %s", e.Document.ID, e.Lost, id)
		}
		check(db.Restore(t.Context(), "one"))
	}
	check(db.Close())
	if err := <-end; !errors.Is(err, mayfly.ErrUnavailable) {
		t.Errorf("in a store that is closed: %v", err)
	}
}

// TestExpirationsIteratorReuse checks that the iterator returned by Expirations can be used twice, and that
// each loop over it begins at the same position.
func TestExpirationsIteratorReuse(t *testing.T) {
	db, c, clock := open(t, mayfly.LogExpirations(24*time.Hour))
	die(t, db, c, clock, "a", "b")
	log := c.Expirations(t.Context(), "")
	for range 2 {
		var dead []string
		for e, err := range log {
			check(err)
			dead = append(dead, e.Document.ID)
		}
		if !slices.Equal(dead, []string{"a", "b"}) {
			t.Errorf("%q have died", dead)
		}
	}
}

// TestExpirationsLost checks that a reader of the log of expirations learns that entries after its
// position are no longer kept: the next entry that it gets has Lost set, even if that entry is written
// later.
func TestExpirationsLost(t *testing.T) {
	db, c, clock := open(t, mayfly.LogExpirations(2*time.Hour))
	die(t, db, c, clock, "seen", "missed")
	var position mayfly.FeedPosition
	for e, err := range c.Expirations(t.Context(), "") {
		check(err)
		position = e.Position
		break
	}
	clock.Advance(24 * time.Hour)
	must(db.Sweep(t.Context()))
	waits := make(waitBegunSignal)
	told := make(chan mayfly.Expiration)
	go func() {
		defer close(told)
		for e, err := range c.Expirations(waits.in(t.Context()), position, mayfly.Follow()) {
			if err != nil {
				return
			}
			told <- e
		}
	}()
	<-waits // it has seen that there is nothing
	die(t, db, c, clock, "next")
	if e := <-told; e.Document.ID != "next" || !e.Lost {
		t.Errorf("%s, lost %t", e.Document.ID, e.Lost)
	}
}

// waitBegunSignal is a channel that is closed at the first call of Done on the context that the method in
// returns. A test uses it to notice that the code under test has begun to wait.
type waitBegunSignal chan struct{}

func (w waitBegunSignal) in(ctx context.Context) context.Context {
	return &signalingContext{ctx, sync.OnceFunc(func() { close(w) })}
}

type signalingContext struct {
	context.Context
	told func()
}

func (w *signalingContext) Done() <-chan struct{} {
	w.told()
	return w.Context.Done()
}

// TestAllVersions checks a feed with AllVersions in a container with three partition ranges: without a
// position it begins at the oldest change that is still kept in each range, and it fails with
// ErrBadRequest at a position whose following changes are no longer kept.
func TestAllVersions(t *testing.T) {
	const documents = 250 // more than a page of each range
	clock := mayfly.NewClock(newYear)
	db := must(mayfly.OpenMemory(mayfly.WithClock(clock),
		mayfly.WithOptions(func(o *store.Options) { o.Ranges = 3 })))
	defer db.Close()
	c := must(db.Container(t.Context(), "app/c", mayfly.KeepVersions(time.Hour)))
	all := func(after mayfly.FeedPosition) (n int, last mayfly.FeedPosition, err error) {
		for ch, err := range c.Changes(t.Context(), after, mayfly.AllVersions()) {
			if err != nil {
				return n, last, err
			}
			n, last = n+1, ch.Position
		}
		return n, last, nil
	}
	if n, _, err := all(""); n != 0 || err != nil {
		t.Errorf("%d changes of none, %v", n, err)
	}
	write := func() {
		for i := range documents {
			must(c.Upsert(t.Context(), map[string]string{"id": strconv.Itoa(i)}))
		}
	}
	write()
	n, old, err := all("")
	if n != documents || err != nil {
		t.Errorf("%d changes, %v", n, err)
	}
	write()
	for position := range firstPositions(t, c) {
		if n, _, err := all(position); err != nil || n < documents || n > 2*documents {
			t.Errorf("%d changes behind %s, %v", n, position, err)
		}
	}
	clock.Advance(40 * time.Minute)
	write()
	clock.Advance(40 * time.Minute)
	for range 2 { // before and after the old ones are gone
		if n, _, err := all(""); n != documents || err != nil {
			t.Errorf("%d changes are kept, %v", n, err)
		}
		if _, _, err := all(old); !errors.Is(err, mayfly.ErrBadRequest) {
			t.Errorf("behind a position that is too old: %v", err)
		}
		must(db.Sweep(t.Context()))
	}
}

// firstPositions returns the first two different positions that a feed with AllVersions yields. A reader
// at such a position has not begun to read some of the partition ranges.
func firstPositions(t *testing.T, c *mayfly.Container) map[mayfly.FeedPosition]bool {
	list := make(map[mayfly.FeedPosition]bool)
	for ch, err := range c.Changes(t.Context(), "", mayfly.AllVersions()) {
		if check(err); ch.Position != "" && len(list) < 2 {
			list[ch.Position] = true
		}
	}
	return list
}
