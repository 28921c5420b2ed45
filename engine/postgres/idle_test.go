package postgres

import (
	"errors"
	"sync"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// TestBrokenIdleConnections ends all connections while they are idle. The next calls notice it and succeed.
func TestBrokenIdleConnections(t *testing.T) {
	d := newTestSchema(t)
	name := "mayfly-" + d.schema
	other := *d
	other.url += separator(d.url) + "application_name=" + name
	e := other.open(Options{})
	defer closing(t, e)
	scope, key := []byte("a"), []byte("a/1")
	look := func(r engine.Reader) error {
		_, err := r.GetMany([][]byte{key})
		return err
	}
	for what, call := range map[string]func() error{
		"View": func() error { return e.View(ctx, look) },
		"Get": func() error {
			_, _, err := e.Get(ctx, scope, key)
			if errors.Is(err, engine.ErrNotFound) {
				err = nil
			}
			return err
		},
		"Update": func() error {
			_, err := e.Update(ctx, [][]byte{scope}, func(tx engine.Txn) error { return look(tx) })
			return err
		},
	} {
		var all, inside sync.WaitGroup
		inside.Add(defaultPool)
		for range defaultPool {
			all.Go(func() {
				err := e.View(ctx, func(r engine.Reader) error {
					err := look(r)
					inside.Done()
					inside.Wait() // until each of them has a connection
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		e.ending.Wait()
		d.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name = '` + name + `'`)
		before := e.Trips()
		if err := call(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if n := e.Trips() - before; n > 4 {
			t.Errorf("%s took %d trips", what, n)
		}
	}
}
