package mayfly_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly"
	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// TestWriteOfInvalidDocument checks that Create, Upsert and Replace reject values that are not documents with
// ErrBadRequest.
func TestWriteOfInvalidDocument(t *testing.T) {
	_, c, _ := open(t)
	for _, bad := range []any{nil, []byte(nil), []byte(""), []byte(`{"id":`),
		[]byte(`{"id":"a","user":"ada"`), []byte(`[1]`), 7, mayfly.Document{}, (*mayfly.Document)(nil),
		[]byte(`{"id":4,"user":"ada"}`),
		[]byte(`{"user":"ada"}`)} {
		for _, opts := range [][]mayfly.WriteOption{nil, {mayfly.TTL(time.Second)}} {
			for name, write := range map[string]func(context.Context, any,
				...mayfly.WriteOption) (mayfly.Document, error){
				"create": c.Create, "upsert": c.Upsert, "replace": c.Replace} {
				if _, err := write(t.Context(), bad, opts...); !errors.Is(err, mayfly.ErrBadRequest) {
					t.Errorf("%s %T %s with %d options: %v", name, bad, bad, len(opts), err)
				}
			}
		}
	}
	for _, bad := range []string{`{}`, `[]`, `{"user":"ada"}`} { // which are not NonePartitionKey
		if err := c.DeletePartition(t.Context(), jsondoc.Of([]byte(bad))); !errors.Is(err, mayfly.ErrBadRequest) {
			t.Errorf("the partition %s: %v", bad, err)
		}
	}
	d := must(c.Create(t.Context(), Session{ID: "a", User: "ada"}))
	must(c.Upsert(t.Context(), &d)) // as a Change has its Previous
}

// TestIfMatch checks that an Upsert with IfMatch writes nothing if the etag is that of another version or
// of an expired document, and that Create rejects the option.
func TestIfMatch(t *testing.T) {
	_, c, clock := open(t)
	s := Session{ID: "a", User: "ada"}
	first := must(c.Create(t.Context(), s))
	is := mayfly.IfMatch(first.ETag)
	try := func(what string, want error) {
		t.Helper()
		if _, err := c.Upsert(t.Context(), s, is); !errors.Is(err, want) {
			t.Errorf("%s: upsert: %v, want %v", what, err, want)
		}
		err := c.Transact(t.Context(), "ada", func(tx *mayfly.Tx) error {
			_, err := tx.Upsert(s, is)
			return err
		})
		if !errors.Is(err, want) || errors.Is(err, mayfly.ErrNotFound) {
			t.Errorf("%s: upsert in a transaction: %v, want %v", what, err, want)
		}
	}
	clock.Advance(time.Hour)
	try("expired", mayfly.ErrPreconditionFailed)
	if got := ids(t, c); got != "" {
		t.Errorf("%s is there", got)
	}
	must(c.Create(t.Context(), s))
	try("another version", mayfly.ErrPreconditionFailed)
	is = mayfly.IfMatch("*")
	try("any version", nil)
	is = mayfly.IfMatch("")
	try("the etag of no document", mayfly.ErrBadRequest)
	if _, err := c.Create(t.Context(), Session{ID: "b", User: "ada"}, mayfly.IfMatch("*")); !errors.Is(err,
		mayfly.ErrBadRequest) {
		t.Errorf("create: %v", err)
	}
}

// TestEndedContext checks that calls whose context has already ended return ErrCanceled and have no
// effect.
func TestEndedContext(t *testing.T) {
	db := must(mayfly.OpenMemory())
	defer db.Close()
	q, talks := must(db.Queue(t.Context(), "q")), must(db.Queue(t.Context(), "talks", mayfly.WithSessions()))
	check(q.Send(t.Context(), mayfly.Message{}))
	m, held := must(q.Receive(t.Context(), 1))[0], must(talks.Session(t.Context(), "held"))
	check(held.SetState(t.Context(), []byte("state")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for what, err := range map[string]error{
		"session":         second(talks.Session(ctx, "free")),
		"renew":           second(m.Renew(ctx)),
		"renew a session": second(held.Renew(ctx)),
		"state":           second(held.State(ctx)),
		"deferred":        second(q.Deferred(ctx, m.Number)),
		"complete":        m.Complete(ctx),
		"log":             second(db.Container(ctx, "app/log", mayfly.LogExpirations(time.Hour))),
	} {
		if !errors.Is(err, mayfly.ErrCanceled) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(talks.Session(t.Context(), "free")).Close()
	held.Close()
	held.Close()
	if _, err := held.State(t.Context()); !errors.Is(err, mayfly.ErrLockLost) {
		t.Errorf("the state of a session that was given back: %v", err)
	}
}

// TestSendInvalidUTF8 checks that Send rejects messages with invalid UTF-8 in their fields or properties.
func TestSendInvalidUTF8(t *testing.T) {
	db, _ := queues(t)
	q := must(db.Queue(t.Context(), "q"))
	for _, bad := range []mayfly.Message{{ID: "a\xff"}, {Session: "\xff"}, {Subject: "\xff"},
		{Properties: map[string]any{"a\xff": 1}}, {Properties: map[string]any{"a": "\xff"}}} {
		if err := q.Send(t.Context(), bad); !errors.Is(err, mayfly.ErrBadRequest) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	check(q.Send(t.Context(), mayfly.Message{Properties: map[string]any{"n": uint(7)}}))
	if n := must(q.Receive(t.Context(), 1))[0].Properties["n"]; n != uint64(7) {
		t.Errorf("%T %v", n, n)
	}
}

// TestContainerWithInvalidOption checks that a container is not created if one of its options is invalid.
func TestContainerWithInvalidOption(t *testing.T) {
	db, _, _ := open(t)
	for i, bad := range []mayfly.ContainerOption{mayfly.LogExpirations(365 * 24 * time.Hour),
		mayfly.LogExpirations(-1), mayfly.KeepVersions(time.Second), mayfly.PartitionBy("bad")} {
		_, err := db.Container(t.Context(), fmt.Sprint("app/", i), bad)
		if !errors.Is(err, mayfly.ErrBadRequest) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if got := db.Containers(); len(got) != 1 {
		t.Errorf("containers: %q", got)
	}
}

// TestRestoreDuringAdminOperations checks that operations other than reads and writes of documents, such as
// opening a container, changing its default TTL and Sweep, are retried internally when a Restore interrupts
// them.
func TestRestoreDuringAdminOperations(t *testing.T) {
	db, c, _ := open(t)
	ctx := context.Background()
	check(db.Snapshot(ctx, "one"))
	var all sync.WaitGroup
	for what, ask := range map[string]func() error{
		"open a container": func() error { return second(db.Container(ctx, c.Path())) },
		"make a container": func() error {
			return second(db.Container(ctx, "new/c", mayfly.LogExpirations(time.Hour)))
		},
		"sweep":     func() error { return second(db.Sweep(ctx)) },
		"an hour":   func() error { return c.SetDefaultTTL(ctx, time.Hour) },
		"two hours": func() error { return c.SetDefaultTTL(ctx, 2*time.Hour) },
	} {
		all.Go(func() {
			for range 2 {
				if err := ask(); err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
			}
		})
	}
	asked := make(chan struct{})
	go func() { all.Wait(); close(asked) }()
	for range 100 { // a call may have to wait for as long as restores follow each other
		select {
		case <-asked:
			return
		default:
			check(db.Restore(ctx, "one"))
		}
	}
	<-asked
}
