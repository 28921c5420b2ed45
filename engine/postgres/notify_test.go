package postgres

import (
	"context"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// TestNotifications checks that a commit in a scope for which Await was called is reported to all Engines
// that listen, and that no other commit is reported.
func TestNotifications(t *testing.T) {
	d := newTestSchema(t)
	a, b := d.open(Options{}), d.open(Options{})
	defer closing(t, a)
	defer closing(t, b)
	set := func(scope string) {
		t.Helper()
		_, err := a.Update(ctx, [][]byte{[]byte(scope)}, func(tx engine.Txn) error {
			tx.NextLSN([]byte(scope))
			tx.Set([]byte(scope+"/1"), nil)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	listening, end := context.WithCancel(ctx)
	got, ended := make(chan string, 10), make(chan struct{})
	go func() {
		defer close(ended)
		b.Listen(listening, func(scope []byte) { got <- string(scope) })
	}()
	if scope := <-got; scope != "" {
		t.Errorf("the first report is of %q", scope)
	}
	set("a")
	if err := b.Await(ctx, [][]byte{[]byte("b"), []byte("c")}); err != nil {
		t.Fatal(err)
	}
	for _, scope := range []string{"a", "b", "a", "c"} {
		set(scope)
	}
	for _, want := range []string{"b", "c"} {
		if scope := <-got; scope != want {
			t.Errorf("a report of %q, want %q", scope, want)
		}
	}
	// The connection is replaced, and the loss of reports is told.
	d.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
		"WHERE pid <> pg_backend_pid() AND query LIKE 'LISTEN%" + b.channel + "%'")
	if scope := <-got; scope != "" {
		t.Errorf("behind a lost connection a report of %q", scope)
	}
	set("b")
	if scope := <-got; scope != "b" {
		t.Errorf("a report of %q, want b", scope)
	}
	end()
	<-ended
}
