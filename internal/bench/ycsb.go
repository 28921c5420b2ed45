package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	raw "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
)

const (
	ycsbDocs    = 20_000
	ycsbWorkers = 16
	ycsbScan    = 50 // documents of a scan
	// ycsbSkew is the exponent of the distribution of keys; YCSB's 0.99 is not allowed by rand.Zipf.
	ycsbSkew = 1.01
	// ycsbSync is the time that is expected for a durable write, to choose the size of the first slice.
	ycsbSync = 200 * time.Microsecond
)

// ycsbOperationKind is a kind of operation in a workload of YCSB, the Yahoo! Cloud Serving Benchmark: a
// read, update, insert or scan, or a read followed by an update.
type ycsbOperationKind int

const (
	ycsbRead ycsbOperationKind = iota
	ycsbUpdate
	ycsbInsert
	ycsbScanning
	ycsbModify // read, then update
)

// ycsbWorkload is one of the core workloads of the Yahoo! Cloud Serving Benchmark: the percentage of each
// kind of operation, and which documents are read most.
type ycsbWorkload struct {
	name   string
	shares map[ycsbOperationKind]int // of 100
	latest bool                      // new documents are read most, otherwise some old ones
}

var ycsbWorkloads = []ycsbWorkload{
	{"A: 50 % reads, 50 % updates", map[ycsbOperationKind]int{ycsbRead: 50, ycsbUpdate: 50}, false},
	{"B: 95 % reads, 5 % updates", map[ycsbOperationKind]int{ycsbRead: 95, ycsbUpdate: 5}, false},
	{"C: reads", map[ycsbOperationKind]int{ycsbRead: 100}, false},
	{"D: 95 % reads of new ones, 5 % inserts", map[ycsbOperationKind]int{ycsbRead: 95, ycsbInsert: 5}, true},
	{"E: 95 % scans, 5 % inserts", map[ycsbOperationKind]int{ycsbScanning: 95, ycsbInsert: 5}, false},
	{"F: 50 % reads, 50 % read and update", map[ycsbOperationKind]int{ycsbRead: 50, ycsbModify: 50}, false},
}

// ycsbMeasurementRun is the state of measureYCSB. Each write is also carried out in twin, a second store in
// memory, over an engine (rec) that records the keys and values of the write. So bare Pebble can write the
// same keys and values.
type ycsbMeasurementRun struct {
	b           *BenchmarkRun
	rng         *rand.Rand
	store, twin *store.Container
	bare        *raw.DB
	rec         *recordingEngine
	keys        [][]byte // of the documents, in bare Pebble
	version     int
	ops         []ycsbOperation // of the current slice
	size        int             // of the next slice
	took        latencies
	spent       resourceUsage
}

// ycsbOperation is one operation on a document. For a write, body is the document's new text, and txn the
// recorded transaction that bare Pebble repeats.
type ycsbOperation struct {
	kind ycsbOperationKind
	document
	body []byte
	txn  []byte
}

// measureYCSB runs the core workloads A to F on documents with a time to live.
func (b *BenchmarkRun) measureYCSB(ctx context.Context) (err error) {
	n := min(ycsbDocs, b.docs())
	dir, bareDir := b.path("ycsb"), b.path("ycsb-raw")
	defer drop(dir, bareDir)
	y := &ycsbMeasurementRun{b: b, rng: rand.New(rand.NewPCG(1, 3))}
	db, c, err := b.open(ctx, storeOpenOptions{engine: pebble.Options{Dir: dir}})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	twin, copied, err := b.open(ctx, storeOpenOptions{engine: pebble.Options{Memory: true},
		wrap: func(e *pebble.Engine) engine.Engine {
			y.rec = &recordingEngine{Engine: e}
			return y.rec
		}})
	if err != nil {
		return err
	}
	defer closing(twin, &err)
	if y.bare, err = newRaw(ctx, bareDir); err != nil {
		return err
	}
	defer closing(y.bare, &err)
	y.rec.take() // the container
	y.store, y.twin = c, copied
	if err := y.fill(ctx, n); err != nil {
		return err
	}
	b.report.begin("ycsb", fmt.Sprintf(
		"YCSB's workloads on %s documents with a ttl, %d goroutines, durable writes; "+
			"against the same Gets, batches and scans",
		thousands(int64(n)), ycsbWorkers), "raw")
	for _, w := range ycsbWorkloads {
		if err := y.measure(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// fill stores n documents in Mayfly and in bare Pebble.
func (y *ycsbMeasurementRun) fill(ctx context.Context, n int) error {
	y.b.progress.Start("filling the store", n)
	for i := range n {
		op, err := y.write(ctx, ycsbInsert, i)
		if err != nil {
			return err
		}
		y.ops = append(y.ops, op)
	}
	err := workers(ctx, benchLoaders, 0, n, func(i int) error {
		y.b.progress.Step(1)
		return errors.Join(y.runMayfly(ctx, &y.ops[i]), replay(y.bare, y.ops[i].txn, raw.NoSync))
	})
	y.b.progress.Stop()
	return err
}

// body returns the JSON text of a new version of document d. The text contains the number of the version,
// which increases with each call.
func (y *ycsbMeasurementRun) body(d document) []byte {
	y.version++
	text := d.json()
	return fmt.Appendf(text[:len(text)-1], `,"field0":"%d","ttl":%d}`, y.version, 86_400+y.version%100)
}

// write prepares a write of the i-th document. It runs the write in the second store, in memory, which
// records the keys and values that it writes.
func (y *ycsbMeasurementRun) write(ctx context.Context, kind ycsbOperationKind, i int) (op ycsbOperation,
	err error) {
	op = ycsbOperation{kind: kind, document: newDocument(i)}
	op.body = y.body(op.document)
	if _, _, err := y.twin.Upsert(ctx, op.key(), op.body, store.WriteOptions{}); err != nil {
		return op, err
	}
	txns := y.rec.take()
	if len(txns) != 1 {
		return op, fmt.Errorf("a write was %d transactions", len(txns))
	}
	op.txn = txns[0]
	if i == len(y.keys) {
		key, err := documentKey(op.txn)
		if err != nil {
			return op, err
		}
		y.keys = append(y.keys, key)
	}
	return op, nil
}

// documentKey returns the key under which a recorded transaction stores a document.
func documentKey(txn []byte) ([]byte, error) {
	for r := batchrepr.Read(txn); ; {
		_, key, value, ok, err := r.Next()
		if err != nil || !ok {
			return nil, errors.Join(err, errors.New("a transaction stores no document"))
		}
		if bytes.Contains(value, []byte(idStart)) {
			return slices.Clone(key), nil
		}
	}
}

// prepare prepares the operations of the next slice of the measurement. They read only documents that
// exist before the slice.
func (y *ycsbMeasurementRun) prepare(ctx context.Context, w ycsbWorkload) error {
	n := len(y.keys)
	skewed := rand.NewZipf(y.rng, ycsbSkew, 1, uint64(n-1))
	y.ops = y.ops[:0]
	for range y.size {
		i := int(skewed.Uint64())
		if w.latest {
			i = n - 1 - i
		} else {
			i = int(uint64(i) * 0x9E3779B97F4A7C15 >> 20 % uint64(n))
		}
		op := ycsbOperation{kind: w.choose(y.rng.IntN(100)), document: newDocument(i)}
		if op.kind == ycsbInsert {
			i = len(y.keys)
		}
		if op.kind != ycsbRead && op.kind != ycsbScanning {
			var err error
			if op, err = y.write(ctx, op.kind, i); err != nil {
				return err
			}
		}
		y.ops = append(y.ops, op)
	}
	return nil
}

// choose returns the kind of the next operation for a random number from 0 to 99, so that each kind gets its
// share of the workload.
func (w ycsbWorkload) choose(x int) ycsbOperationKind {
	for kind := ycsbRead; kind < ycsbModify; kind++ {
		if x -= w.shares[kind]; x < 0 {
			return kind
		}
	}
	return ycsbModify
}

// measure runs one YCSB workload in the store and the same operations in bare Pebble, and adds the comparison
// of the two to the report.
func (y *ycsbMeasurementRun) measure(ctx context.Context, w ycsbWorkload) error {
	y.took, y.spent = nil, resourceUsage{}
	y.size = min(max(int(y.b.sliceTime()/ycsbSync), 4*ycsbWorkers), 20_000)
	d, err := y.b.compare(ctx, w.name, func() (int, time.Duration, error) { return y.slice(ctx, w) },
		func() (int, time.Duration, error) {
			began := y.b.clock.Now()
			err := workers(ctx, ycsbWorkers, 0, len(y.ops),
				func(i int) error { return y.runBaseline(&y.ops[i]) })
			return len(y.ops), y.b.clock.Now().Sub(began), err
		})
	if err != nil {
		return err
	}
	d.spent = y.spent // without the costs of the twin
	y.b.report.add(d.rate(w.name, nil).with(d.costs().with(y.took)))
	return nil
}

// slice prepares and runs the operations of one slice of the measurement, and sets the number of those of
// the next slice by the time that this took.
func (y *ycsbMeasurementRun) slice(ctx context.Context, w ycsbWorkload) (int, time.Duration, error) {
	if err := y.prepare(ctx, w); err != nil {
		return 0, 0, err
	}
	times := make(latencies, len(y.ops))
	before := used()
	began := y.b.clock.Now()
	err := workers(ctx, ycsbWorkers, 0, len(y.ops), func(i int) error {
		from := y.b.clock.Now()
		err := y.runMayfly(ctx, &y.ops[i])
		times[i] = y.b.clock.Now().Sub(from)
		return err
	})
	took := y.b.clock.Now().Sub(began)
	y.spent.add(before, used())
	y.took = append(y.took, times...)
	fitting := float64(y.size) * y.b.sliceTime().Seconds() / max(took.Seconds(), 1e-6)
	y.size = min(max(int(fitting), 4*ycsbWorkers), 20_000)
	return len(times), took, err
}

func (y *ycsbMeasurementRun) runMayfly(ctx context.Context, op *ycsbOperation) (err error) {
	switch op.kind {
	case ycsbRead, ycsbModify:
		_, _, err = y.store.Read(ctx, op.key(), op.id, store.ReadOptions{})
		if err != nil || op.kind == ycsbRead {
			return err
		}
	case ycsbScanning:
		_, _, err = y.store.Query(ctx, store.QueryRequest{
			Text:        fmt.Sprintf("SELECT TOP %d * FROM c WHERE c.id >= @from ORDER BY c.id", ycsbScan),
			Parameters:  []store.QueryParameter{{Name: "@from", Value: jsondoc.StringValue(op.id)}},
			ListOptions: store.ListOptions{MaxItems: -1},
		})
		return err
	}
	_, _, err = y.store.Upsert(ctx, op.key(), op.body, store.WriteOptions{})
	return err
}

func (y *ycsbMeasurementRun) runBaseline(op *ycsbOperation) (err error) {
	switch op.kind {
	case ycsbRead, ycsbModify:
		_, closer, err := y.bare.Get(y.keys[op.i])
		if err != nil {
			return err
		}
		if err := closer.Close(); err != nil || op.kind == ycsbRead {
			return err
		}
	case ycsbScanning:
		it, err := y.bare.NewIter(&raw.IterOptions{LowerBound: y.keys[op.i]})
		if err != nil {
			return err
		}
		defer closing(it, &err)
		bytesRead := 0
		for more := it.First(); more && bytesRead < ycsbScan*benchDocBytes; more = it.Next() {
			value, err := it.ValueAndErr()
			if err != nil {
				return err
			}
			bytesRead += len(value)
		}
		return nil
	}
	return replay(y.bare, op.txn, raw.Sync)
}
