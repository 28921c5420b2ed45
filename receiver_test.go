package mayfly_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly"
)

// TestQueueSessions checks that the messages of a session are received in order, that only one receiver
// can lock the session, and that the session keeps its state.
func TestQueueSessions(t *testing.T) {
	db, clock := queues(t)
	ctx := t.Context()
	q := must(db.Queue(ctx, "q", mayfly.WithSessions(), mayfly.LockFor(time.Minute)))
	for i := range 6 {
		check(q.Send(ctx, mayfly.Message{Session: fmt.Sprint("s", i%2), Body: []byte(fmt.Sprint(i))}))
	}
	s := must(q.NextSession(ctx))
	if _, err := q.Session(ctx, s.ID); !errors.Is(err, mayfly.ErrConflict) {
		t.Errorf("a session that is held: %v", err)
	}
	list := must(s.Receive(ctx, 10))
	if got := bodies(list); !slices.Equal(got, []string{"0", "2", "4"}) {
		t.Error(got)
	}
	for _, m := range list {
		check(m.Complete(ctx))
	}
	check(s.SetState(ctx, []byte("seen")))
	must(s.Renew(ctx))
	s.Close()
	s = must(q.Session(ctx, "s0"))
	if state := must(s.State(ctx)); string(state) != "seen" {
		t.Errorf("state %s", state)
	}
	clock.Advance(time.Minute)
	if err := s.SetState(ctx, nil); !errors.Is(err, mayfly.ErrLockLost) {
		t.Error(err)
	}
}

// TestRestoreEndsLocks checks that after a Restore all calls that need the lock of a message or a session
// return ErrLockLost, and that after Close they return ErrUnavailable.
func TestRestoreEndsLocks(t *testing.T) {
	db := must(mayfly.OpenMemory())
	ctx := t.Context()
	q := must(db.Queue(ctx, "q"))
	talks := must(db.Queue(ctx, "talks", mayfly.WithSessions()))
	check(q.Send(ctx, mayfly.Message{}))
	check(talks.Send(ctx, mayfly.Message{Session: "s"}))
	check(db.Snapshot(ctx, "one"))
	m, s := must(q.Receive(ctx, 1))[0], must(talks.Session(ctx, "s"))
	inSession := must(s.Receive(ctx, 1))[0]
	needs := map[string]func() error{
		"complete":            func() error { return m.Complete(ctx) },
		"renew":               func() error { _, err := m.Renew(ctx); return err },
		"complete in session": func() error { return inSession.Complete(ctx) },
		"receive":             func() error { _, err := s.Receive(ctx, 1); return err },
		"try to receive":      func() error { _, err := s.TryReceive(ctx, 1); return err },
		"renew a session":     func() error { _, err := s.Renew(ctx); return err },
		"state":               func() error { _, err := s.State(ctx); return err },
		"set state":           func() error { return s.SetState(ctx, nil) },
	}
	waits := make(chan error)
	go func() { _, err := s.Receive(ctx, 1); waits <- err }()
	check(db.Restore(ctx, "one"))
	if err := <-waits; !errors.Is(err, mayfly.ErrLockLost) {
		t.Errorf("who waits for a session's messages: %v", err)
	}
	for name, do := range needs {
		if err := do(); !errors.Is(err, mayfly.ErrLockLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.Close()
	s = must(talks.Session(ctx, "s")) // nobody has it
	check(must(s.Receive(ctx, 1))[0].Complete(ctx))
	check(db.Close())
	err := s.SetState(ctx, nil)
	if !errors.Is(err, mayfly.ErrUnavailable) || errors.Is(err, mayfly.ErrLockLost) {
		t.Errorf("in a closed store: %v", err)
	}
}

// TestHandle checks that Handle abandons a message whose function fails, so that it is delivered again,
// and that it completes the messages already processed when its context ends.
func TestHandle(t *testing.T) {
	db, _ := queues(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q := must(db.Queue(ctx, "q", mayfly.MaxDeliveries(3)))
	for i := range 20 {
		check(q.Send(ctx, mayfly.Message{Body: []byte(fmt.Sprint(i))}))
	}
	var done, tries atomic.Int32
	errs := make(chan error)
	for range 3 {
		go func() {
			errs <- q.Handle(ctx, func(_ context.Context, m *mayfly.ReceivedMessage) error {
				if string(m.Body) == "7" {
					tries.Add(1)
					return errors.New("it is the seventh")
				}
				if done.Add(1) == 19 {
					defer cancel()
				}
				return nil
			})
		}()
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	left := must(q.Info(t.Context())).Counts
	if dead := int64(tries.Load() / 3); left.Active+left.DeadLetter != 1 || left.DeadLetter != dead {
		t.Errorf("%+v after %d tries", left, tries.Load())
	}
	check(db.DeleteQueue(t.Context(), "q"))
	if err := q.Handle(t.Context(), nil); !errors.Is(err, mayfly.ErrNotFound) {
		t.Error(err)
	}
}

// TestReceiversDuringRestore checks that Handle and NextSession, which wait while the store is
// restored, continue with the restored data.
func TestReceiversDuringRestore(t *testing.T) {
	db, _ := queues(t)
	ctx, cancel := context.WithCancel(t.Context())
	q := must(db.Queue(ctx, "q"))
	sessions := must(db.Queue(ctx, "s", mayfly.WithSessions()))
	check(db.Snapshot(ctx, "empty"))
	handled, ended := make(chan string), make(chan error)
	go func() {
		ended <- q.Handle(ctx, func(_ context.Context, m *mayfly.ReceivedMessage) error {
			handled <- string(m.Body)
			return nil
		})
	}()
	for i := range 20 {
		text := fmt.Sprint(i)
		taken := make(chan string)
		go func() {
			for got := ""; got != text; { // or one of the round before, until it is restored away
				s, err := sessions.NextSession(ctx)
				if err != nil {
					taken <- err.Error()
					return
				}
				got = s.ID
				s.Close()
			}
			taken <- text
		}()
		check(db.Restore(ctx, "empty"))
		check(q.Send(ctx, mayfly.Message{Body: []byte(text)}))
		check(sessions.Send(ctx, mayfly.Message{Session: text, Body: []byte("m")}))
		if i%2 == 0 { // while it is handled
			check(db.Restore(ctx, "empty"))
			check(q.Send(ctx, mayfly.Message{Body: []byte(text)}))
			check(sessions.Send(ctx, mayfly.Message{Session: text, Body: []byte("m")}))
		}
		for got := ""; got != text; {
			select {
			case got = <-handled: // or what was received before the restore
			case err := <-ended:
				t.Fatalf("round %d: %v", i, err)
			}
		}
		if got := <-taken; got != text {
			t.Errorf("session %s instead of %s", got, text)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	closed := must(mayfly.OpenMemory())
	q = must(closed.Queue(t.Context(), "q"))
	check(closed.Close())
	if err := q.Handle(t.Context(), nil); !errors.Is(err, mayfly.ErrUnavailable) {
		t.Error(err)
	}
}
