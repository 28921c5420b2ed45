package postgres

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/roundtrips"
)

// TestRollback delays each ROLLBACK on its way to the server, and checks that neither Update nor View
// waits for it.
func TestRollback(t *testing.T) {
	d := newTestSchema(t)
	at, err := url.Parse(d.url)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := roundtrips.NewRecordingProxy(at.Host)
	if err != nil {
		t.Fatal(err)
	}
	direct := d.url
	at.Host = wire.Addr()
	d.url = at.String()
	e := d.open(Options{})
	d.url = direct
	defer func() {
		closing(t, e)
		if err := wire.Close(); err != nil {
			t.Error(err)
		}
	}()
	release := wire.HoldRollbacks()
	defer release()
	failure := errors.New("no")
	for name, run := range map[string]func() error{
		"a failing update": func() error {
			_, err := e.Update(ctx, [][]byte{[]byte("a")}, func(engine.Txn) error { return failure })
			if errors.Is(err, failure) {
				return nil
			}
			return err
		},
		"an update that writes nothing": func() error {
			_, err := e.Update(ctx, [][]byte{[]byte("b")}, func(engine.Txn) error { return nil })
			return err
		},
		"a view": func() error {
			return e.View(ctx, func(r engine.Reader) error {
				_, err := r.GetMany([][]byte{[]byte("c/1")})
				return err
			})
		},
	} {
		done := make(chan error, 1)
		go func() { done <- run() }()
		own, cancel := context.WithTimeout(ctx, readLimit/2)
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-own.Done():
			t.Errorf("%s waits", name)
			<-done
		}
		cancel()
	}
}
