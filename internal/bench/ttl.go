package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"

	raw "github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// benchLoad is the number of writers, and also the number of readers, that run while changes are measured
// under load.
const benchLoad = 4

// measureChanges measures how long it takes to change the default TTL of a container with the shared data
// set, without other work and under load.
func (b *BenchmarkRun) measureChanges(ctx context.Context) (err error) {
	d, err := b.data(ctx)
	if err != nil {
		return err
	}
	dir, err := b.copyOf(d, "ttl")
	if err != nil {
		return err
	}
	bareDir := b.path("ttl-raw")
	defer drop(dir, bareDir)
	db, c, err := b.open(ctx, storeOpenOptions{engine: pebble.Options{Dir: dir}})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	bare, err := newRaw(ctx, bareDir)
	if err != nil {
		return err
	}
	defer closing(bare, &err)

	b.report.begin("ttl", fmt.Sprintf(
		"changes of the default TTL over %s documents, one after the other, with the reaper running; against one durable raw Set each", thousands(int64(b.docs()))), "raw Set")
	idle, sets, err := b.changeDefaults(ctx, "changing the default TTL: idle", db, bare)
	if err != nil {
		return err
	}
	b.addChanges("idle", idle, sets, 0.005)

	stop := background(ctx, 2*benchLoad, func(worker int) error {
		i := newDocument(rand.IntN(b.docs()))
		if worker < benchLoad {
			_, _, err := c.Upsert(ctx, i.key(), i.json(), store.WriteOptions{})
			return err
		}
		_, _, err := c.Read(ctx, i.key(), i.id, store.ReadOptions{})
		return err
	})
	loaded, sets, err := b.changeDefaults(ctx, "changing the default TTL: under load", db, bare)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	b.addChanges(fmt.Sprintf("%d writers, %d readers", benchLoad, benchLoad), loaded, sets, 0.015)
	return nil
}

// leastChanges is the minimum number of changes of the default TTL that the benchmark measures, even if they
// take long, since the 99th percentile needs many samples. It does not apply to runs of less than a second.
const leastChanges = 200

// changeDefaults alternates changes of the default TTL with Sets of a few hundred bytes in bare Pebble. No
// change makes a document expire.
func (b *BenchmarkRun) changeDefaults(ctx context.Context, what string, db *store.DB,
	bare *raw.DB) (changes, sets latencies, err error) {
	d, err := db.Database(benchDatabase)
	if err != nil {
		return nil, nil, err
	}
	least := max(4, int(leastChanges*min(b.Seconds, 1)))
	b.progress.Start(what, least)
	value := make([]byte, 500)
	began := b.clock.Now()
	for i := 0; i < least || b.clock.Now().Sub(began).Seconds() < b.Seconds; i++ {
		spec := benchSpec()
		spec.DefaultTTL = []ttl.Seconds{ttl.Never, 1_000_000, 2_000_000, ttl.Absent}[i%4]
		err := b.timed(&changes, func() error {
			_, err := d.ReplaceContainer(ctx, benchContainer, spec, store.WriteOptions{})
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		key := binary.BigEndian.AppendUint64(nil, uint64(i))
		if err := b.timed(&sets, func() error { return bare.Set(key, value, raw.Sync) }); err != nil {
			return nil, nil, err
		}
		b.progress.Step(1)
	}
	b.progress.Stop()
	return changes.sorted(), sets.sorted(), nil
}

func (b *BenchmarkRun) addChanges(when string, changes, sets latencies, limit float64) {
	for _, q := range []struct {
		name  string
		at    float64
		limit *measurementThreshold
	}{{"p50", 0.5, nil}, {"p99", 0.99, valueAtMost(limit)}, {"max", 1, nil}} {
		against := sets.quantile(q.at).Seconds()
		name := fmt.Sprintf("%s, %s of %s", when, q.name, thousands(int64(len(changes))))
		b.report.add(Measurement{Name: name, Value: changes.quantile(q.at).Seconds(), Unit: seconds,
			Against: &against, Budget: q.limit})
	}
}
