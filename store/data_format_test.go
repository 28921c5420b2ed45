package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/testdisk"
)

// TestUnsupportedFormats checks that Open refuses data of a format that it can neither read nor upgrade,
// leaves it unchanged, and says in the error what to do.
func TestUnsupportedFormats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format int
		is     error
		advice string
	}{
		{4, engine.ErrNewerFormat, "the program that wrote it"},
		{0, engine.ErrOlderFormat, "import into a new folder"},
	} {
		disk := testdisk.NewCrashable(t)
		open := func() engine.Engine {
			e, err := disk.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		e := open()
		_, err := e.Update(t.Context(), [][]byte{host.CatalogScope()}, func(txn engine.Txn) error {
			key := append(host.AppendCatalogHead(nil, 'm', 0), "store\x00\x01"...)
			return host.SetRecord(txn, key, map[string]int{"format": c.format, "incarnation": 7, "next": 1})
		})
		if err != nil {
			t.Fatal(err)
		}
		refused := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.advice) {
				t.Errorf("%s data of format %d: %v", what, c.format, err)
			}
		}
		refused("adopting", Adopt(t.Context(), e))
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the first try has changed nothing
			_, err := Open(t.Context(), open(), Options{})
			refused("opening", err)
		}
	}
}
