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
	"github.com/mayflydb/mayfly/ttl"
)

// purgeTTL is longer than the time between the first and the last epoch (the documents with one write time).
// So the epochs expire one after the other, each this long after it was written.
const purgeTTL = 10_000 * time.Second

// measurePurge compares purging with deletes of the same keys in bare Pebble, on copies of the same
// folder. A slice of the measurement purges the documents that were written in one second. Then
// measurePurge lets all documents expire within a minute.
func (b *BenchmarkRun) measurePurge(ctx context.Context) error {
	d, err := b.data(ctx)
	if err != nil {
		return err
	}
	dir, bareDir := b.path("purge"), b.path("purge-raw")
	purges, err := b.recordPurges(ctx, d)
	if err != nil {
		return err
	}
	for _, name := range []string{"purge", "purge-raw"} {
		if _, err := b.copyOf(d, name); err != nil {
			return err
		}
	}
	b.report.begin("purge", fmt.Sprintf("purging expired documents, %s at a time, by SweepNow; against raw "+
		"deletes of the same keys, batches of as many documents, no sync", thousands(int64(d.epochs[0].to))),
		"raw deletes")
	err = b.comparePurges(ctx, d, dir, bareDir, purges)
	drop(dir, bareDir)
	if err != nil {
		return err
	}
	return b.measureWave(ctx, d)
}

// openExpiring opens a copy of the data set with a clock that is stopped at the given time, and sets a
// default time to live. When the clock is moved, the documents expire in groups, each written in one
// second: see sweepEpoch.
func (b *BenchmarkRun) openExpiring(ctx context.Context, at time.Time,
	o storeOpenOptions) (*store.DB, *store.Container, *ttl.VirtualClock, error) {
	clock := ttl.NewManual(at)
	o.store.Clock = clock
	db, c, err := b.open(ctx, o)
	if err != nil {
		return nil, nil, nil, err
	}
	spec := benchSpec()
	spec.DefaultTTL = ttl.Seconds(purgeTTL / time.Second)
	bench, err := db.Database(benchDatabase)
	if err == nil {
		_, err = bench.ReplaceContainer(ctx, benchContainer, spec, store.WriteOptions{})
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, db.Close())
	}
	return db, c, clock, nil
}

// sweepEpoch moves the clock so that the documents e, which were all written in the same second, expire,
// and purges them.
func (b *BenchmarkRun) sweepEpoch(ctx context.Context, db *store.DB, clock *ttl.VirtualClock,
	e sameSecondDocumentRange) (n int,
	took time.Duration, err error) {
	clock.Set(e.at.Add(purgeTTL))
	began := b.clock.Now()
	n, err = db.SweepNow(ctx)
	took = b.clock.Now().Sub(began)
	if err == nil && n != e.to-e.from {
		err = fmt.Errorf("%d documents were purged, %d had expired", n, e.to-e.from)
	}
	return n, took, err
}

// recordPurges purges documents that expire one group (epoch) after the other, in a copy of the data set.
// It returns for each purge the batches that Mayfly writes, which are then replayed in bare Pebble.
func (b *BenchmarkRun) recordPurges(ctx context.Context, d *expiringDataset) (purges [][][]byte, err error) {
	dir, err := b.copyOf(d, "purge-twin")
	if err != nil {
		return nil, err
	}
	defer drop(dir)
	var rec *recordingEngine
	db, _, clock, err := b.openExpiring(ctx, d.end, storeOpenOptions{
		engine: pebble.Options{Dir: dir}, store: store.Options{ManualReaper: true},
		wrap: func(e *pebble.Engine) engine.Engine {
			rec = &recordingEngine{Engine: e}
			return rec
		},
	})
	if err != nil {
		return nil, err
	}
	defer closing(db, &err)
	b.progress.Start("purging, to record", purgeSlices)
	for _, e := range d.epochs[:purgeSlices] {
		rec.take()
		if _, _, err := b.sweepEpoch(ctx, db, clock, e); err != nil {
			return nil, err
		}
		purges = append(purges, rec.take())
		b.progress.Step(1)
	}
	return purges, nil
}

func (b *BenchmarkRun) comparePurges(ctx context.Context, d *expiringDataset, dir, bareDir string,
	purges [][][]byte) (err error) {
	db, _, clock, err := b.openExpiring(ctx, d.end,
		storeOpenOptions{engine: pebble.Options{Dir: dir}, store: store.Options{ManualReaper: true}})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	bare, err := openRaw(bareDir, 0)
	if err != nil {
		return err
	}
	defer closing(bare, &err)
	next := 0
	ours := func() (int, time.Duration, error) {
		n, took, err := b.sweepEpoch(ctx, db, clock, d.epochs[next])
		next++
		return n, took, err
	}
	theirs := func() (int, time.Duration, error) {
		e := d.epochs[next-1]
		began := b.clock.Now()
		for _, txn := range purges[next-1] {
			if err := replay(bare, txn, raw.NoSync); err != nil {
				return 0, 0, err
			}
		}
		return e.to - e.from, b.clock.Now().Sub(began), nil
	}
	f, err := b.compare(ctx, "purging", ours, theirs)
	if err != nil {
		return err
	}
	b.report.add(f.rate("documents purged", ratioAtLeast(0.7)).with(f.costs()))
	b.report.note("a purge deletes %.1f keys a document", float64(keysOf(purges[0]))/float64(d.epochs[0].to))
	return nil
}
