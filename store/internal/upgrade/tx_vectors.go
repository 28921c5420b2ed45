package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

// CodeVectors upgrades from format 2, whose vector indexes hold no codes (the compressed vectors by which a
// search finds candidates). It marks the documents of the affected containers as possibly indexed without
// vectors, as after a change of the indexing policy. The reindexer then creates all entries. Until it has
// finished, no query uses the vector index.
func CodeVectors(ctx context.Context, e engine.Engine) error {
	_, err := e.Update(ctx, [][]byte{host.CatalogScope()}, func(t engine.Txn) error {
		dropProgress(t)
		changed := map[string]record.Container{}
		err := host.ScanRecords(t, layout.KindContainer, func(key []byte, rec record.Container) error {
			without, err := withoutVectors(rec.Spec)
			if err != nil || without == nil {
				return err
			}
			same := func(old json.RawMessage) bool { return bytes.Equal(old, without) }
			if !slices.ContainsFunc(rec.IndexedBy, same) { // otherwise an earlier run has done it
				rec.IndexedBy = append(rec.IndexedBy, without)
				rec.IndexRound++
				changed[string(key)] = rec
			}
			return nil
		})
		if err != nil {
			return err
		}
		for key, rec := range changed {
			if err := host.SetRecord(t, []byte(key), rec); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// withoutVectors returns a stored container spec without its vector indexes. It returns nil if all of them
// have the type flat, which needs no codes (compressed vectors), so that the spec need not change.
func withoutVectors(raw json.RawMessage) (json.RawMessage, error) {
	spec, _, err := definition.ParseContainerSpec(raw, false)
	if err != nil {
		return nil, fmt.Errorf("%w: container record: %v", engine.ErrCorrupt, err)
	}
	coded := func(v index.VectorPath) bool { return v.Type != "flat" }
	if !slices.ContainsFunc(spec.Indexing.Vector, coded) {
		return nil, nil
	}
	spec.Indexing.Vector = nil
	return spec.AppendJSON(nil), nil
}
