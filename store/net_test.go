package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/ttl"
)

// TestReaperPurgesSkippedItem checks that the reaper purges an item that it has skipped by mistake at most a
// minute later.
func TestReaperPurgesSkippedItem(t *testing.T) {
	t.Parallel()
	g := newIndexRig(t, 1, 1, false, `{}`)
	defer g.db.Close()
	sweep := func() int {
		n, err := g.db.SweepNow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	sweep()
	p := definition.NewPartitionKey(jsondoc.StringValue("a"))
	if _, _, err := g.c.Create(t.Context(), p, []byte(`{"id":"1","pk":"a","ttl":5}`),
		WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	sweep()
	g.c.state.Load().Ranges[0].ExpiryPassPositions.Restart(g.c.moment() + 1000)
	g.clock.Advance(10 * time.Second)
	if n := sweep(); n != 0 {
		t.Fatalf("%d purged, where the reaper was to have passed the item by", n)
	}
	g.clock.Advance(rescanEvery * time.Second)
	if n := sweep(); n != 1 {
		t.Errorf("%d purged a minute later", n)
	}
}

// TestTTLCeilingOfRetriedTransaction checks that each attempt of a transaction starts from the ttl of the
// request: with ttlCeiling, an attempt lowers it to the container's default, and if the default has been
// raised meanwhile, the next attempt does not write the ttl that the first has lowered.
func TestTTLCeilingOfRetriedTransaction(t *testing.T) {
	t.Parallel()
	g := newIndexRig(t, 1, 1, false, `{}`)
	defer g.db.Close()
	limit := func(n int) {
		spec := g.c.Info().Spec
		spec.DefaultTTL = ttl.Seconds(n)
		if _, err := g.d.ReplaceContainer(t.Context(), "c", spec, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	limit(100)
	_, err := g.c.ChangeSettings(t.Context(),
		func(s *definition.ContainerSettings) error { s.TTLCeiling = true; return nil })
	if err != nil {
		t.Fatal(err)
	}
	pk := definition.NewPartitionKey(jsondoc.StringValue("a"))
	p, err := g.c.prepare(pk, ItemOperation{Kind: OperationUpsert,
		Body: []byte(`{"id":"1","pk":"a","ttl":500}`)})
	if err != nil {
		t.Fatal(err)
	}
	givenUp := errors.New("given up")
	for _, try := range []error{givenUp, nil} {
		_, err := g.c.update(t.Context(), p.EncodedItemKey, func(t *transaction.Tx) error {
			if out := t.Apply(p); out.Err != nil {
				return out.Err
			}
			return try
		})
		if (err == nil) != (try == nil) {
			t.Fatal(err)
		}
		limit(1000)
	}
	it, _, err := g.c.Read(t.Context(), pk, "1", ReadOptions{})
	if err != nil || !strings.Contains(string(it.Body()), `"ttl":500`) {
		t.Errorf("%s %v", it.Body(), err)
	}
}
