package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// measureIndexing compares durable creates with the default indexing policy with creates without an index.
func (b *BenchmarkRun) measureIndexing(ctx context.Context, _ []queryBenchmarkDataSet) (err error) {
	const writers = benchLoaders
	indexed, bare := benchSpec(), benchSpec()
	indexed.ID, bare.ID = "indexed", "bare"
	bare.Indexing = index.Policy{Mode: index.None}

	var sides [2]comparisonWorkSliceFunc
	var keys [2]float64
	for i, spec := range []definition.ContainerSpec{indexed, bare} {
		dir := b.path("query-" + spec.ID)
		defer drop(dir)
		db, c, openErr := b.queryContainer(ctx, storeOpenOptions{engine: pebble.Options{Dir: dir}}, spec)
		if openErr != nil {
			return openErr
		}
		defer closing(db, &err)
		w := &indexingPolicyRun{b: b, c: c, writers: writers, size: 8 * writers}
		sides[i] = func() (int, time.Duration, error) { return w.slice(ctx) }
		if keys[i], err = b.keysOfCreate(ctx, spec); err != nil {
			return err
		}
	}
	b.report.begin("query", "durable creates under the default indexing policy; against indexingMode none",
		"none")
	d, err := b.compare(ctx, "creating with and without an index", sides[0], sides[1])
	if err != nil {
		return err
	}
	b.report.add(d.rate(fmt.Sprintf("%d writers", writers), nil))
	b.report.note("a create writes %.1f keys, %.1f without an index: %.1f index keys a document", keys[0],
		keys[1], keys[0]-keys[1])
	return nil
}

// keysOfCreate returns how many keys a create writes, on average.
func (b *BenchmarkRun) keysOfCreate(ctx context.Context, spec definition.ContainerSpec) (keys float64,
	err error) {
	const docs = 100
	var rec *recordingEngine
	db, c, err := b.queryContainer(ctx, storeOpenOptions{
		engine: pebble.Options{Memory: true}, store: store.Options{ManualReaper: true},
		wrap: func(e *pebble.Engine) engine.Engine {
			rec = &recordingEngine{Engine: e}
			return rec
		},
	}, spec)
	if err != nil {
		return 0, err
	}
	defer closing(db, &err)
	rec.take()
	for i := range docs {
		if err := newDocument(i).create(ctx, c); err != nil {
			return 0, err
		}
	}
	return float64(keysOf(rec.take())) / docs, nil
}

// indexingPolicyRun is the state of measureIndexing for one of the two indexing policies that it compares:
// the store in which it creates documents, and the number of documents of the next slice of the measurement.
type indexingPolicyRun struct {
	b       *BenchmarkRun
	c       *store.Container
	writers int
	next    int // number of the first document that has not been created
	size    int // number of documents in the next slice
}

// slice creates the documents of one slice of the measurement, whose text has been prepared. It computes
// the number of documents of the next slice from the time that this took.
func (w *indexingPolicyRun) slice(ctx context.Context) (int, time.Duration, error) {
	n := w.size
	docs, bodies := make([]document, n), make([][]byte, n)
	for i := range docs {
		docs[i] = newDocument(w.next + i)
		bodies[i] = docs[i].json()
	}
	began := w.b.clock.Now()
	err := workers(ctx, w.writers, 0, n, func(i int) error {
		_, _, err := w.c.Create(ctx, docs[i].key(), bodies[i], store.WriteOptions{})
		return err
	})
	took := w.b.clock.Now().Sub(began)
	w.next += n
	w.size = min(max(int(float64(n)*w.b.sliceTime().Seconds()/max(took.Seconds(), 1e-6)), 4*w.writers),
		20_000)
	return n, took, err
}
