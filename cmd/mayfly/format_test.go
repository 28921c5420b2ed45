package main

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
)

// TestUnsupportedFormat checks that each command that opens a data folder refuses one whose format is too old
// to be upgraded, says what can be done, and does not change it.
func TestUnsupportedFormat(t *testing.T) {
	t.Parallel()
	dir := used(t)
	e, err := pebble.Open(t.Context(), pebble.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Update(t.Context(), [][]byte{{0}}, func(tx engine.Txn) error {
		key := []byte("\x00m\x00\x00\x00\x00store\x00\x01")
		v, err := tx.Get(key)
		if err == nil {
			tx.Set(key, bytes.Replace(v, []byte(`"format":3`), []byte(`"format":0`), 1))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	before := folder(t, dir)
	code, out, errs := mayfly(t, "check", dir)
	if code != exitData || out != "" || !strings.Contains(errs, "older format") || !strings.Contains(errs, "mayfly export") {
		t.Errorf("check: %d %s%s", code, out, errs)
	}
	if !maps.Equal(before, folder(t, dir)) {
		t.Error("the folder has changed")
	}
	code, _, errs = mayfly(t, "serve", "--port", "0", "--data", dir)
	if code != exitData || !strings.Contains(errs, "older format") || !strings.Contains(errs, "mayfly export") {
		t.Errorf("serve: %d %s", code, errs)
	}
}
