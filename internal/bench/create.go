package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	raw "github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
)

// measureCreates compares durable creates with durable batches of the same keys and bytes in bare Pebble.
func (b *BenchmarkRun) measureCreates(ctx context.Context) (err error) {
	b.report.begin("create",
		"durable creates; against durable batches of the same keys and bytes by as many goroutines", "raw batches")
	var keys float64
	for _, kind := range []struct {
		writers, ranges int
		limit           *measurementThreshold
	}{
		{1, 1, ratioAtLeast(0.75)},
		{16, 1, ratioAtLeast(0.65)},
		{64, 1, ratioAtLeast(0.6)},
		{64, 4, ratioAtLeast(0.7)},
	} {
		if keys, err = b.measureCreate(ctx, kind.writers, kind.ranges, kind.limit); err != nil {
			return err
		}
	}
	b.report.note("a create writes %.1f keys", keys)
	return nil
}

// measureCreate measures one row of measureCreates: creates by this number of concurrent writers, in a
// container with this number of partition ranges. It returns the number of keys that a create writes.
func (b *BenchmarkRun) measureCreate(ctx context.Context, writers, ranges int,
	limit *measurementThreshold) (keys float64,
	err error) {
	dir, bareDir := b.path("create"), b.path("create-raw")
	defer drop(dir, bareDir)
	so := store.Options{Ranges: ranges}
	db, c, err := b.open(ctx, storeOpenOptions{engine: pebble.Options{Dir: dir}, store: so})
	if err != nil {
		return 0, err
	}
	defer closing(db, &err)
	bare, err := newRaw(ctx, bareDir)
	if err != nil {
		return 0, err
	}
	defer closing(bare, &err)

	// A second store, in memory, records what a store writes for a document, so that the measured store has
	// no other work.
	var rec *recordingEngine
	twin, copied, err := b.open(ctx, storeOpenOptions{
		engine: pebble.Options{Memory: true}, store: so,
		wrap: func(e *pebble.Engine) engine.Engine {
			rec = &recordingEngine{Engine: e}
			return rec
		},
	})
	if err != nil {
		return 0, err
	}
	defer closing(twin, &err)
	rec.take()

	p := &documentCreateComparison{b: b, writers: writers, size: 8 * writers, store: c, bare: bare,
		twin: copied,
		rec:  rec}
	d, err := b.compare(ctx, fmt.Sprintf("creating: %d writers", writers),
		func() (int, time.Duration, error) { return p.runMayfly(ctx) },
		func() (int, time.Duration, error) { return p.runBaseline(ctx) })
	if err != nil {
		return 0, err
	}
	name := fmt.Sprintf("%d writers", writers)
	if writers == 1 {
		name = "1 writer"
	}
	if ranges > 1 {
		name += fmt.Sprintf(", %d ranges", ranges)
	}
	b.report.add(d.rate(name, limit).with(d.costs()))
	return float64(keysOf(p.txns)) / float64(len(p.txns)), nil
}

// documentCreateComparison is the state of one comparison of creates in Mayfly with writes of the same keys
// in bare Pebble.
type documentCreateComparison struct {
	b           *BenchmarkRun
	writers     int
	store, twin *store.Container
	bare        *raw.DB
	rec         *recordingEngine

	next int      // number of the first document that has not been created
	size int      // number of documents in the next slice
	txns [][]byte // the transactions of the last slice
}

// runMayfly creates the documents of one slice, a short part of the measurement, and returns their number and
// the time that the creates took. From that time it computes the number of documents of the next slice.
func (p *documentCreateComparison) runMayfly(ctx context.Context) (int, time.Duration, error) {
	from, n := p.next, p.size
	docs := make([]document, n)
	bodies := make([][]byte, n)
	for i := range docs {
		docs[i] = newDocument(from + i)
		bodies[i] = docs[i].json()
		if err := docs[i].create(ctx, p.twin); err != nil {
			return 0, 0, err
		}
	}
	if p.txns = p.rec.take(); len(p.txns) != n {
		return 0, 0, errors.New("a create was not one transaction")
	}
	began := p.b.clock.Now()
	err := workers(ctx, p.writers, 0, n, func(i int) error {
		_, _, err := p.store.Create(ctx, docs[i].key(), bodies[i], store.WriteOptions{})
		return err
	})
	took := p.b.clock.Now().Sub(began)
	p.next += n
	fitting := int(float64(n) * p.b.sliceTime().Seconds() / max(took.Seconds(), 1e-6))
	p.size = min(max(fitting, 4*p.writers), 20_000)
	return n, took, err
}

// runBaseline writes the same keys and values to bare Pebble as runMayfly has written.
func (p *documentCreateComparison) runBaseline(ctx context.Context) (int, time.Duration, error) {
	began := p.b.clock.Now()
	err := workers(ctx, p.writers, 0, len(p.txns),
		func(i int) error { return replay(p.bare, p.txns[i], raw.Sync) })
	return len(p.txns), p.b.clock.Now().Sub(began), err
}
