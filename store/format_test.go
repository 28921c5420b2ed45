package store

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

// Data of a format that no step leads from is neither opened nor adopted, and the error says what to do with
// it.
func TestOtherFormats(t *testing.T) {
	for _, c := range []struct {
		format int
		is     error
		advice string
	}{
		{4, engine.ErrNewerFormat, "the program that wrote it"},
		{0, engine.ErrOlderFormat, "import into a new folder"},
	} {
		disk := vfs.NewMem()
		open := func() engine.Engine {
			e, err := pebble.Open(t.Context(), pebble.Options{Dir: "data", FS: disk, Strict: true})
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

// TestCodeVectors: the step from format 2 concerns containers whose vector indexes have codes. A second run,
// after one that a crash has interrupted, changes nothing.
func TestCodeVectors(t *testing.T) {
	const vectors = `"vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v","dataType":"float32",` +
		`"dimensions":3,"distanceFunction":"cosine"}]},` +
		`"indexingPolicy":{"vectorIndexes":[{"path":"/v","type":%q}]}`
	records := map[string]record.Container{}
	for name, more := range map[string]string{
		"plain": `"indexingPolicy":{}`, "flat": fmt.Sprintf(vectors, "flat"),
		"quantizedFlat": fmt.Sprintf(vectors, "quantizedFlat"), "diskANN": fmt.Sprintf(vectors, "diskANN"),
	} {
		spec, _, err := definition.ParseContainerSpec(
			[]byte(`{"id":"`+name+`","partitionKey":{"paths":["/pk"],"kind":"Hash"},`+more+`}`), false)
		if err != nil {
			t.Fatal(err)
		}
		records[name] = record.Container{Spec: spec.AppendJSON(nil)}
	}
	e, err := pebble.Open(t.Context(), pebble.Options{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	update := func(fn func(engine.Txn) error) {
		t.Helper()
		if _, err := e.Update(t.Context(), [][]byte{host.CatalogScope()}, fn); err != nil {
			t.Fatal(err)
		}
	}
	update(func(txn engine.Txn) (err error) {
		for name, rec := range records {
			err = errors.Join(err, host.SetRecord(txn, layout.ContainerKey(1, name), rec))
		}
		return err
	})
	for range 2 {
		if err := codeVectors(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		update(func(txn engine.Txn) error {
			for name := range records {
				raw, err := txn.Get(layout.ContainerKey(1, name))
				var rec record.Container
				if err = errors.Join(err, host.DecodeRecord(raw, &rec)); err != nil {
					return err
				}
				want := 0
				if name == "quantizedFlat" || name == "diskANN" {
					want = 1
				}
				if len(rec.IndexedBy) != want || rec.IndexRound != uint32(want) ||
					want == 1 && bytes.Contains(rec.IndexedBy[0], []byte("vectorIndexes")) {
					t.Errorf("%s: round %d, indexed by %s", name, rec.IndexRound, rec.IndexedBy)
				}
			}
			return nil
		})
	}
}

// TestPlacePositions: the positions that a webhook has confirmed keep their LSNs and get a position behind
// each.
func TestPlacePositions(t *testing.T) {
	for from, want := range map[string]string{"0": "0", "12": "3072", "0:1,7:258": "0:256,7:66048"} {
		if got, err := placePositions(from); err != nil || got != want {
			t.Errorf("%s: %s, %v", from, got, err)
		}
	}
	for _, bad := range []string{"", "x", "1:", "1:2,", "1099511627776"} {
		if got, err := placePositions(bad); !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
}
