package upgrade

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

// TestCodeVectors checks that the upgrade from format 2 affects only containers whose vector indexes have
// compressed vectors, and that a second run, as after a crash, changes nothing.
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
		if err := CodeVectors(t.Context(), e); err != nil {
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
