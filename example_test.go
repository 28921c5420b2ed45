package mayfly_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/mayflydb/mayfly"
)

// Session is the type of the documents in the examples.
type Session struct {
	ID   string `json:"id"`
	User string `json:"user"`
	Page string `json:"page,omitempty"`
}

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// sessions returns a container of a store whose clock the example moves.
func sessions(opts ...mayfly.ContainerOption) (*mayfly.DB, *mayfly.Container, *mayfly.Clock) {
	clock := mayfly.NewClock(newYear)
	db, err := mayfly.OpenMemory(mayfly.WithClock(clock))
	check(err)
	opts = append([]mayfly.ContainerOption{mayfly.PartitionBy("/user"), mayfly.DefaultTTL(30 * time.Minute)}, opts...)
	c, err := db.Container(context.Background(), "app/sessions", opts...)
	check(err)
	return db, c, clock
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// This example writes and reads a session that expires after half an hour, and moves the clock to its expiry.
func Example() {
	ctx := context.Background()
	clock := mayfly.NewClock(newYear)
	db, err := mayfly.OpenMemory(mayfly.WithClock(clock)) // or mayfly.Open("data"), on the system's clock
	check(err)
	defer db.Close()
	sessions, err := db.Container(ctx, "app/sessions",
		mayfly.PartitionBy("/user"), mayfly.DefaultTTL(30*time.Minute))
	check(err)

	_, err = sessions.Create(ctx, Session{ID: "s1", User: "ada", Page: "/cart"})
	check(err)
	clock.Advance(30*time.Minute - time.Second)
	s, err := mayfly.Read[Session](ctx, sessions, "ada", "s1")
	check(err)
	fmt.Println(s.Page)

	clock.Advance(time.Second)
	_, err = mayfly.Read[Session](ctx, sessions, "ada", "s1")
	fmt.Println(errors.Is(err, mayfly.ErrNotFound))
	// Output:
	// /cart
	// true
}

// The TTL of a document can be longer than the default of its container, or Forever.
func ExampleTTL() {
	ctx := context.Background()
	db, sessions, clock := sessions()
	defer db.Close()
	d, err := sessions.Upsert(ctx, Session{ID: "s1", User: "ada"}, mayfly.TTL(24*time.Hour))
	check(err)
	fmt.Println(d.ExpiresAt.Sub(clock.Now()))
	d, err = sessions.Upsert(ctx, Session{ID: "s1", User: "ada"}, mayfly.TTL(mayfly.Forever))
	check(err)
	fmt.Println(d.ExpiresAt.IsZero())
	// Output:
	// 24h0m0s
	// true
}

// Two writers change the same document. The second write fails, because the document has another etag.
func ExampleIfMatch() {
	ctx := context.Background()
	db, sessions, _ := sessions()
	defer db.Close()
	first, err := sessions.Create(ctx, Session{ID: "s1", User: "ada"})
	check(err)
	_, err = sessions.Replace(ctx, Session{ID: "s1", User: "ada", Page: "/"}, mayfly.IfMatch(first.ETag))
	check(err)
	_, err = sessions.Replace(ctx, Session{ID: "s1", User: "ada", Page: "/cart"}, mayfly.IfMatch(first.ETag))
	fmt.Println(errors.Is(err, mayfly.ErrPreconditionFailed))
	// Output: true
}

// A query without the option In reads all partitions.
func ExampleQuery() {
	ctx := context.Background()
	db, sessions, _ := sessions()
	defer db.Close()
	for i, user := range []string{"ada", "bob", "cyd"} {
		_, err := sessions.Create(ctx, Session{ID: fmt.Sprint("s", i), User: user, Page: "/cart"})
		check(err)
	}
	text := "SELECT VALUE c.user FROM c WHERE c.page = @page ORDER BY c.user DESC"
	for user, err := range mayfly.Query[string](ctx, sessions, text, mayfly.With(mayfly.Args{"page": "/cart"})) {
		check(err)
		fmt.Println(user)
	}
	n, err := mayfly.One[int](ctx, sessions, "SELECT VALUE COUNT(1) FROM c", mayfly.In("ada"))
	fmt.Println(n, err)
	// Output:
	// cyd
	// bob
	// ada
	// 1 <nil>
}

// The writes of a transaction on one partition key take effect together or not at all.
func ExampleContainer_Transact() {
	ctx := context.Background()
	db, sessions, _ := sessions()
	defer db.Close()
	_, err := sessions.Create(ctx, Session{ID: "old", User: "ada", Page: "/cart"})
	check(err)
	err = sessions.Transact(ctx, "ada", func(tx *mayfly.Tx) error {
		s, err := mayfly.ReadIn[Session](tx, "old")
		if err != nil {
			return err
		}
		if err := tx.Delete("old"); err != nil {
			return err
		}
		s.ID = "new"
		_, err = tx.Create(s)
		return err
	})
	check(err)
	for s, err := range mayfly.Items[Session](ctx, sessions, mayfly.In("ada")) {
		fmt.Println(s.ID, s.Page, err)
	}
	// Output: new /cart <nil>
}

// A reader of the change feed stores its position and resumes from it.
func ExampleContainer_Changes() {
	ctx := context.Background()
	db, sessions, _ := sessions()
	defer db.Close()
	_, err := sessions.Create(ctx, Session{ID: "s1", User: "ada"})
	check(err)
	position, err := sessions.End(ctx) // only changes after this point are of interest
	check(err)
	_, err = sessions.Create(ctx, Session{ID: "s2", User: "ada"})
	check(err)
	for change, err := range sessions.Changes(ctx, position) {
		check(err)
		fmt.Println(change.Document.ID)
		position = change.Position
	}
	// Output: s2
}

// The log of expirations contains each expired document once.
func ExampleContainer_Expirations() {
	ctx := context.Background()
	db, sessions, clock := sessions(mayfly.LogExpirations(24 * time.Hour))
	defer db.Close()
	_, err := sessions.Create(ctx, Session{ID: "s1", User: "ada", Page: "/cart"})
	check(err)
	clock.Advance(time.Hour)
	_, err = db.Sweep(ctx) // without Sweep, a background task does it
	check(err)
	for e, err := range sessions.Expirations(ctx, "") {
		check(err)
		var s Session
		check(e.Document.Decode(&s))
		fmt.Println(s.User, "left", s.Page, "at", e.ExpiredAt.Format(time.TimeOnly))
	}
	// Output: ada left /cart at 00:30:00
}

// Restore replaces the content of the whole store. The Container stays valid.
func ExampleDB_Restore() {
	ctx := context.Background()
	db, sessions, _ := sessions()
	defer db.Close()
	_, err := sessions.Create(ctx, Session{ID: "s1", User: "ada"})
	check(err)
	check(db.Snapshot(ctx, "filled"))
	check(sessions.DeletePartition(ctx, "ada"))
	check(db.Restore(ctx, "filled"))
	s, err := mayfly.Read[Session](ctx, sessions, "ada", "s1")
	fmt.Println(s.ID, err)
	// Output: s1 <nil>
}

// Explain says when and why a document expires.
func ExampleContainer_Explain() {
	ctx := context.Background()
	db, sessions, _ := sessions()
	defer db.Close()
	_, err := sessions.Create(ctx, Session{ID: "s1", User: "ada"})
	check(err)
	why, err := sessions.Explain(ctx, "ada", "s1")
	check(err)
	fmt.Println(why)
	// Output:
	// It expires in 30m, at 2026-01-01T00:30:00Z: it has no ttl of its own, and the container's default is 30m from its last write at 2026-01-01T00:00:00Z.
}
