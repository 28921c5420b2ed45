package mayfly_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayflydb/mayfly"
	"github.com/mayflydb/mayfly/queue/entity"
)

// queues opens a store in memory, for tests of queues. Its clock stands still until the test moves it.
func queues(t *testing.T) (*mayfly.DB, *mayfly.Clock) {
	t.Helper()
	db, _, clock := open(t)
	return db, clock
}

// bodies returns the bodies of messages as strings.
func bodies(list []*mayfly.ReceivedMessage) (texts []string) {
	for _, m := range list {
		texts = append(texts, string(m.Body))
	}
	return texts
}

// This example sends two orders to a queue. One is received and completed. The other expires and becomes a
// dead letter.
func ExampleDB_Queue() {
	ctx := context.Background()
	clock := mayfly.NewClock(newYear)
	db, err := mayfly.OpenMemory(mayfly.WithClock(clock))
	check(err)
	defer db.Close()
	orders, err := db.Queue(ctx, "orders", mayfly.MessageTTL(time.Hour), mayfly.DeadLetterExpired())
	check(err)

	check(orders.Send(ctx,
		mayfly.Message{Body: []byte("two lamps"), Properties: map[string]any{"priority": 5}},
		mayfly.Message{Body: []byte("a chair")}))
	list, err := orders.Receive(ctx, 1)
	check(err)
	fmt.Printf("%s, of priority %v\n", list[0].Body, list[0].Properties["priority"])
	check(list[0].Complete(ctx))

	clock.Advance(time.Hour)
	_, err = db.Sweep(ctx)
	check(err)
	dead, err := orders.DeadLetters().TryReceive(ctx, 10)
	check(err)
	fmt.Printf("%s: %s\n", dead[0].Body, dead[0].Reason)
	// Output:
	// two lamps, of priority 5
	// a chair: TTLExpiredException
}

// A topic delivers each message to the subscriptions whose conditions it matches.
func ExampleTopic_Subscription() {
	ctx := context.Background()
	db, err := mayfly.OpenMemory()
	check(err)
	defer db.Close()
	news, err := db.Topic(ctx, "news")
	check(err)
	all, err := news.Subscription(ctx, "all")
	check(err)
	urgent, err := news.Subscription(ctx, "urgent", mayfly.Where("priority > 3"))
	check(err)

	for i, text := range []string{"rain", "storm"} {
		check(
			news.Send(ctx, mayfly.Message{Body: []byte(text), Properties: map[string]any{"priority": i * 5}}),
		)
	}
	for _, s := range []*mayfly.Subscription{all, urgent} {
		list, err := s.Take(ctx, 10)
		check(err)
		fmt.Printf("%s\n", bodies(list))
	}
	// Output:
	// [rain storm]
	// [storm]
}

// TestMessages sends a message with all fields, compares it with what is received, and then completes,
// abandons, defers, dead-letters, schedules and cancels messages.
func TestMessages(t *testing.T) {
	db, clock := queues(t)
	ctx := t.Context()
	q := must(db.Queue(ctx, "q", mayfly.LockFor(30*time.Second), mayfly.MaxDeliveries(2)))
	sent := mayfly.Message{
		ID:            "1",
		Body:          []byte("x"),
		ContentType:   "text/plain",
		Subject:       "s",
		CorrelationID: "c",
		ReplyTo:       "r",
		TTL:           time.Minute,
		Properties: map[string]any{"s": "é", "b": true, "n": int64(-7), "f": 1.5,
			"t": newYear},
	}
	check(q.Send(ctx, sent))
	list := must(q.Receive(ctx, 10))
	if diff := cmp.Diff(sent, list[0].Message); diff != "" {
		t.Error(diff)
	}
	if m := list[0]; m.Number != 1 || m.Deliveries != 0 || !m.Enqueued.Equal(newYear) ||
		!m.ExpiresAt.Equal(newYear.Add(time.Minute)) || !m.LockedUntil.Equal(newYear.Add(30*time.Second)) {
		t.Errorf("%+v", m)
	}
	if more := must(q.TryReceive(ctx, 1)); len(more) > 0 {
		t.Error("a locked message is received")
	}
	clock.Advance(20 * time.Second)
	if until := must(list[0].Renew(ctx)); !until.Equal(newYear.Add(50 * time.Second)) {
		t.Error(until)
	}
	clock.Advance(30 * time.Second)
	if err := list[0].Complete(ctx); !errors.Is(err, mayfly.ErrLockLost) {
		t.Errorf("a lapsed lock: %v", err)
	}
	again := must(q.Receive(ctx, 1))
	if again[0].Deliveries != 1 {
		t.Errorf("%d deliveries", again[0].Deliveries)
	}
	check(again[0].Abandon(ctx))
	dead := must(q.DeadLetters().Receive(ctx, 1))
	if dead[0].Reason != "MaxDeliveryCountExceeded" {
		t.Errorf("%+v", dead[0])
	}
	check(dead[0].Complete(ctx))

	check(q.Send(ctx, mayfly.Message{Body: []byte("deferred")}, mayfly.Message{Body: []byte("bad")}))
	list = must(q.Receive(ctx, 2))
	check(list[0].Defer(ctx))
	check(list[1].DeadLetter(ctx, "broken", "it cannot be read"))
	kept := must(q.Deferred(ctx, list[0].Number))
	check(kept[0].Complete(ctx))
	if _, err := q.Deferred(ctx, list[0].Number); !errors.Is(err, mayfly.ErrNotFound) {
		t.Error(err)
	}
	if dead := must(q.DeadLetters().Take(ctx, 1)); dead[0].Reason != "broken" ||
		dead[0].Description != "it cannot be read" {
		t.Errorf("%+v", dead[0])
	}

	numbers := must(q.Schedule(ctx, mayfly.Message{Body: []byte("later"), At: db.Now().Add(time.Hour)},
		mayfly.Message{Body: []byte("never"), At: db.Now().Add(time.Hour)}))
	check(q.Cancel(ctx, numbers[1]))
	if err := q.Cancel(ctx, numbers[1]); !errors.Is(err, mayfly.ErrNotFound) {
		t.Error(err)
	}
	if got := bodies(must(q.Peek(ctx, 0, 10))); !slices.Equal(got, []string{"later"}) {
		t.Error(got)
	}
	clock.Advance(time.Hour)
	if got := bodies(must(q.Take(ctx, 10))); !slices.Equal(got, []string{"later"}) {
		t.Error(got)
	}
}

// errOf returns the error of a call that returns a value and an error.
func errOf[T any](_ T, err error) error { return err }

// TestQueueErrors checks which exported error each invalid or impossible operation on queues returns.
func TestQueueErrors(t *testing.T) {
	db, _ := queues(t)
	ctx := t.Context()
	q := must(db.Queue(ctx, "q"))
	must(db.Queue(ctx, "Q", mayfly.LockFor(time.Minute))) // the same one, as it is
	topic := must(db.Topic(ctx, "t"))
	held := must(db.Queue(ctx, "held", mayfly.WithSessions()))
	over, cancel := context.WithCancel(ctx)
	cancel()
	for name, c := range map[string]struct {
		want error
		do   func() error
	}{
		"another kind": {mayfly.ErrConflict, func() error { return errOf(db.Topic(ctx, "q")) }},
		"no name":      {mayfly.ErrBadRequest, func() error { return errOf(db.Queue(ctx, "")) }},
		"lock": {mayfly.ErrBadRequest,
			func() error { return errOf(db.Queue(ctx, "x", mayfly.LockFor(1))) }},
		"rule": {mayfly.ErrBadRequest,
			func() error { return errOf(topic.Subscription(ctx, "s", mayfly.Where("a >"))) }},
		"forward": {mayfly.ErrBadRequest,
			func() error { return errOf(db.Queue(ctx, "f", mayfly.ForwardTo("none"))) }},
		"ttl": {mayfly.ErrBadRequest,
			func() error { return q.Send(ctx, mayfly.Message{TTL: -1}) }},
		"property": {mayfly.ErrBadRequest,
			func() error { return q.Send(ctx, mayfly.Message{Properties: map[string]any{"a": q}}) }},
		"size": {mayfly.ErrTooLarge,
			func() error { return q.Send(ctx, mayfly.Message{Body: make([]byte, 300<<10)}) }},
		"nobody":          {mayfly.ErrCanceled, func() error { return errOf(q.Receive(over, 1)) }},
		"no session":      {mayfly.ErrForbidden, func() error { return errOf(held.Receive(ctx, 1)) }},
		"no next session": {mayfly.ErrCanceled, func() error { return errOf(held.NextSession(over)) }},
		"a session's send": {mayfly.ErrForbidden,
			func() error { return held.Send(ctx, mayfly.Message{}) }},
		"gone": {mayfly.ErrNotFound, func() error { return db.DeleteQueue(ctx, "none") }},
	} {
		if err := c.do(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	var own *entity.Error
	if err := q.Send(ctx, mayfly.Message{Body: make([]byte, 300<<10)}); !errors.As(err, &own) {
		t.Errorf("%T", err)
	}
}

// TestQueuesAfterRestartAndRestore checks that messages survive a restart, and that Restore undoes the
// messages sent after the snapshot.
func TestQueuesAfterRestartAndRestore(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := must(mayfly.Open(dir))
	q := must(db.Queue(ctx, "q"))
	check(q.Send(ctx, mayfly.Message{Body: []byte("kept")}))
	check(db.Snapshot(ctx, "one"))
	check(q.Send(ctx, mayfly.Message{Body: []byte("undone")}))
	check(db.Restore(ctx, "one"))
	check(db.Close())
	db = must(mayfly.Open(dir))
	defer db.Close()
	q = must(db.Queue(ctx, "q"))
	if got := bodies(must(q.Take(ctx, 10))); !slices.Equal(got, []string{"kept"}) {
		t.Error(got)
	}
}

// TestMessagePropertyAtUnixEpoch checks that a message property with the time 1970-01-01 00:00 UTC, whose
// encoding is 0, is received as that time.
func TestMessagePropertyAtUnixEpoch(t *testing.T) {
	db, _ := queues(t)
	q := must(db.Queue(t.Context(), "q"))
	began := time.Unix(0, 0).UTC()
	check(q.Send(t.Context(), mayfly.Message{Properties: map[string]any{"t": began}}))
	if got := must(q.Take(t.Context(), 1))[0].Properties["t"]; got != began {
		t.Errorf("%v", got)
	}
}

// TestQueueOptions checks that DropDuplicates drops duplicates only within its time, and that
// DeleteWhenIdle deletes a queue that is not used.
func TestQueueOptions(t *testing.T) {
	db, clock := queues(t)
	ctx := t.Context()
	q := must(db.Queue(ctx, "q", mayfly.DropDuplicates(time.Minute), mayfly.DeleteWhenIdle(time.Hour)))
	for range 2 {
		check(q.Send(ctx, mayfly.Message{ID: "same"}))
	}
	clock.Advance(time.Minute + time.Second)
	check(q.Send(ctx, mayfly.Message{ID: "same"}))
	if list := must(q.Take(ctx, 10)); len(list) != 2 {
		t.Errorf("%d messages", len(list))
	}
	clock.Advance(time.Hour + time.Minute)
	if err := q.Send(ctx, mayfly.Message{}); !errors.Is(err, mayfly.ErrNotFound) {
		t.Errorf("an idle queue: %v", err)
	}
}
