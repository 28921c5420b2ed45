package pebble

import (
	"context"
	"errors"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

var (
	ctx     = context.Background()
	errTest = errors.New("refused by the closure")
)

func mustOpen(t testing.TB, o Options) *Engine {
	t.Helper()
	e, err := Open(ctx, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return e
}

func mustClose(t testing.TB, e *Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// put writes one key in a transaction of the scope "a".
func put(e *Engine, key string, value []byte) error {
	_, err := e.Update(ctx, [][]byte{[]byte("a")}, func(tx engine.Txn) error {
		tx.Set([]byte(key), value)
		return nil
	})
	return err
}

func mustPut(t testing.TB, e *Engine, key string, value []byte) {
	t.Helper()
	if err := put(e, key, value); err != nil {
		t.Fatalf("Update: %v", err)
	}
}
