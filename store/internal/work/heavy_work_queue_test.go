package work

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/fault"
)

// TestHeavyQueries checks that a quick query never waits, and that at most maxHeavy long ones run: one
// more waits until a place is free, its context ends, or its time limit passes.
func TestHeavyQueries(t *testing.T) {
	all := NewHeavy(2)
	watch := time.Duration(0)
	elapsed := func() time.Duration { return watch }
	fast := &QueuedQueryRun{all: all, elapsed: elapsed, limit: query.DefaultLimit, BegunAnew: true}
	if err := fast.Turn(t.Context()); err != nil || fast.placed || fast.runs {
		t.Fatalf("%v, %+v", err, fast)
	}
	watch = time.Second
	first := &QueuedQueryRun{all: all, elapsed: elapsed, limit: query.DefaultLimit, BegunAnew: true}
	if err := first.Turn(t.Context()); err != nil || !first.placed || !first.runs {
		t.Fatalf("%v, %+v", err, first)
	}
	for range maxHeavy - 1 { // the others' places
		if !all.places.TryAcquire(1) {
			t.Fatal("there is no place")
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	more := &QueuedQueryRun{all: all, elapsed: elapsed, limit: query.DefaultLimit, BegunAnew: true}
	if err := more.Turn(gone); !errors.Is(err, context.Canceled) || more.placed {
		t.Errorf("%v", err)
	}
	watch = query.DefaultLimit
	var late *query.TimeLimitError
	if err := more.Turn(t.Context()); !errors.As(err, &late) {
		t.Errorf("%v", err)
	}
	watch = time.Second
	waits := make(chan error, 1)
	go func() { waits <- more.Turn(t.Context()) }()
	first.Leave()
	if err := <-waits; err != nil || !more.runs {
		t.Errorf("%v", err)
	}
	more.Leave()
	all.places.Release(maxHeavy - 1)
	if !all.places.TryAcquire(maxHeavy) {
		t.Error("a place is not given back")
	}
}

// TestLongQueryPriority checks that the first long query is restarted once in a goroutine whose
// priority can be lowered, that later queries begin in such a goroutine, and that after enough quick ones
// they no longer do.
func TestLongQueryPriority(t *testing.T) {
	all := NewHeavy(2)
	watch := time.Duration(0)
	run := func(long bool) (begun int, watched bool) {
		h := all.Query(func() time.Duration { return watch }, query.DefaultLimit)
		defer h.Leave()
		err := h.Run(func() error {
			begun++
			watched = h.work != nil
			if watch = 0; long {
				watch = time.Second
			}
			return h.Turn(t.Context())
		})
		if err != nil {
			t.Fatal(err)
		}
		return begun, watched
	}
	for i, want := range []struct {
		long    bool
		begun   int
		watched bool
	}{{false, 1, false}, {true, 2, true}, {true, 1, true}, {false, 1, true}} {
		if begun, watched := run(want.long); begun != want.begun || watched != want.watched {
			t.Errorf("query %d was begun %d times, watched: %t", i, begun, watched)
		}
	}
	for range watchedAfterLong {
		run(false)
	}
	if _, watched := run(false); watched {
		t.Error("quick queries are watched for ever")
	}
}

// TestHeavyScripts checks that a limited number of scripts run at a time. One more ends its transaction
// and waits without locks until a script has ended, its context ends, or its time limit passes.
func TestHeavyScripts(t *testing.T) {
	all := NewHeavy(1)
	var leave [minScripts]func()
	for i := range leave {
		var err error
		if leave[i], err = all.Script(); err != nil {
			t.Fatal(err)
		}
	}
	inside, began := 0, make(chan struct{}, 2)
	run := func(ctx context.Context, limit time.Duration) error {
		return all.WithScripts(ctx, limit, func() error {
			inside++
			began <- struct{}{}
			left, err := all.Script()
			if err == nil {
				left()
			}
			return err
		})
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(gone, time.Hour); fault.ErrorCode(err) != fault.CodeCanceled ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := run(t.Context(), 0); fault.ErrorCode(err) != fault.CodeCanceled ||
		errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	<-began
	<-began
	waits := make(chan error, 1)
	go func() { waits <- run(t.Context(), time.Hour) }()
	<-began
	leave[0]()
	if err := <-waits; err != nil || inside != 4 {
		t.Errorf("%v, after %d transactions", err, inside)
	}
}
