package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	raw "github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// In "the wave" all documents of the data set expire within one minute of virtual time, while the reaper
// runs and one reader and one durable writer continue to work.

// measureWave lets all documents expire within one minute of virtual time. It measures the latencies of a
// reader and a writer before, during and after the minute, the memory in use, and the disk space that is free
// after the purge.
func (b *BenchmarkRun) measureWave(ctx context.Context, d *expiringDataset) error {
	dir, bareDir := b.path("wave"), b.path("wave-raw")
	defer drop(dir, bareDir)
	for _, name := range []string{"wave", "wave-raw"} {
		if _, err := b.copyOf(d, name); err != nil {
			return err
		}
	}
	b.report.note("%s documents expire within a minute of virtual time, a second of it every %s",
		thousands(int64(b.docs())), seconds.text((2 * b.sliceTime()).Seconds()))
	if err := b.measureOpenWave(ctx, d, dir); err != nil {
		return err
	}
	return b.compareDisk(ctx, d, dir, bareDir)
}

// measureOpenWave opens the copy of the data set in dir and lets all its documents expire within one minute
// of virtual time. It measures the latencies of a reader and a writer before, during and after the minute,
// and the memory in use. When it returns, the store is empty and closed.
func (b *BenchmarkRun) measureOpenWave(ctx context.Context, d *expiringDataset, dir string) (err error) {
	first := d.epochs[0].at.Add(purgeTTL)
	db, c, clock, err := b.openExpiring(ctx, first.Add(-epochGap),
		storeOpenOptions{engine: pebble.Options{Dir: dir}})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	f := &foregroundClients{b: b, c: c, from: b.docs(), next: b.docs() + min(b.docs(), 10*hotDocs)}
	f.to = f.next
	b.progress.Start("storing what lives on", f.to-f.from)
	if err := b.load(ctx, c, f.from, f.to); err != nil {
		return err
	}
	if _, err := f.windows(ctx, 1); err != nil { // warm-up
		return err
	}
	debug.FreeOSMemory() // free the memory of earlier sections
	b.progress.Start("reading and writing", benchSlices)
	before, err := f.windows(ctx, benchSlices)
	if err != nil {
		return err
	}
	during, err := b.passMinute(ctx, db, clock, f, first)
	if err != nil {
		return err
	}
	b.progress.Start("reading and writing afterwards", benchSlices)
	after, err := f.windows(ctx, benchSlices)
	if err != nil {
		return err
	}
	b.progress.Stop()
	b.report.row("", "then", "before", "ratio", "budget", "")
	b.addLatencies("in it", &during, &before, ratioAtMost(1.5))
	b.addLatencies("after it", &after, &before, nil)
	b.addMemory(&during, &before)

	clock.Set(first.Add(2 * purgeTTL)) // the foreground's documents expire, too
	_, err = db.SweepNow(ctx)
	return err
}

// passMinute runs the reader and the writer while the clock moves through the minute in which all documents
// expire, and then until the reaper has purged everything.
func (b *BenchmarkRun) passMinute(ctx context.Context, db *store.DB, clock *ttl.VirtualClock,
	f *foregroundClients,
	first time.Time) (all expiryWaveResult, err error) {
	b.progress.Start("reading and writing while all expires", b.docs())
	began, known, inMinute := b.clock.Now(), 0, 0
	for second := 0; second < allEpochs || known < b.docs(); second++ {
		if second < allEpochs {
			clock.Set(first.Add(time.Duration(second) * epochGap))
		}
		if err := f.window(ctx, &all); err != nil {
			return all, err
		}
		m, err := db.Metrics(ctx)
		if err != nil {
			return all, err
		}
		n := int(m.Purged)
		b.progress.Step(n - known)
		if known = n; second < allEpochs {
			inMinute = n
		}
	}
	b.progress.Stop()
	if known != b.docs() {
		return all, fmt.Errorf("%d documents were purged, %d had expired", known, b.docs())
	}
	took := b.clock.Now().Sub(began)
	b.report.note("the reaper purged %s of them in the minute and all in %s, which is %s",
		thousands(int64(inMinute)), seconds.text(took.Seconds()),
		perSecond.text(float64(b.docs())/max(took.Seconds(), 1e-9)))
	all.sort()
	return all, nil
}

// compareDisk compares the disk space freed by the purge with that freed by deletes of the same keys in bare
// Pebble, after compaction of both.
func (b *BenchmarkRun) compareDisk(ctx context.Context, d *expiringDataset, dir, bareDir string) error {
	b.progress.Start("deleting the same keys raw, and compacting", 3)
	if err := deleteMissing(bareDir, dir); err != nil {
		return err
	}
	b.progress.Step(1)
	var freed []float64
	for _, dir := range []string{dir, bareDir} {
		if err := compactFolder(ctx, dir); err != nil {
			return err
		}
		left, err := folderBytes(dir)
		if err != nil {
			return err
		}
		freed = append(freed, float64(d.compacted-left))
		b.progress.Step(1)
	}
	b.progress.Stop()
	ratio := freed[0] / freed[1]
	b.report.row("", "mayfly", "raw deletes", "ratio", "budget", "")
	b.report.add(Measurement{Name: "disk given back, compacted", Value: freed[0], Unit: byteCount,
		Against: &freed[1], Ratio: &ratio, Budget: ratioAtLeast(0.95)})
	b.report.note("of %s that the documents took", byteCount.text(float64(d.compacted)))
	return nil
}

// deleteMissing deletes from dir, with bare Pebble, each key that the folder from does not have.
func deleteMissing(dir, from string) (err error) {
	bare, err := openRaw(dir, 0)
	if err != nil {
		return err
	}
	defer closing(bare, &err)
	other, err := openRaw(from, 0)
	if err != nil {
		return err
	}
	defer closing(other, &err)
	here, err := bare.NewIter(nil)
	if err != nil {
		return err
	}
	defer closing(here, &err)
	there, err := other.NewIter(nil)
	if err != nil {
		return err
	}
	defer closing(there, &err)
	const perBatch = 1000
	batch := bare.NewBatch()
	there.First()
	for here.First(); here.Valid(); here.Next() {
		for there.Valid() && bytes.Compare(there.Key(), here.Key()) < 0 {
			there.Next()
		}
		if there.Valid() && bytes.Equal(there.Key(), here.Key()) {
			continue
		}
		if err := batch.Delete(here.Key(), nil); err != nil {
			return err
		}
		if batch.Count() >= perBatch {
			if err := batch.Commit(raw.NoSync); err != nil {
				return err
			}
			batch = bare.NewBatch()
		}
	}
	return errors.Join(here.Error(), there.Error(), batch.Commit(raw.NoSync))
}

// foregroundClients is the load on the store while the benchmark lets all documents of a data set expire at
// once: one reader of documents that do not expire, and one writer of new documents.
type foregroundClients struct {
	b        *BenchmarkRun
	c        *store.Container
	from, to int // the documents that are read
	next     int // number of the first document that has not been created
	at       int // the reader's position
}

// expiryWaveResult holds the latencies of reads and writes in a number of windows (slices of time), and
// the maximum memory in use at the end of a window.
type expiryWaveResult struct {
	reads, writes  latencies
	heap, resident int64 // bytes; resident is 0 if the system does not report it
}

func (all *expiryWaveResult) sort() {
	all.reads.sorted()
	all.writes.sorted()
}

// windows lets the reader and the writer work for n slices of time, and returns their latencies, sorted.
func (f *foregroundClients) windows(ctx context.Context, n int) (all expiryWaveResult, err error) {
	for range n {
		if err := f.window(ctx, &all); err != nil {
			return all, err
		}
		f.b.progress.Step(1)
	}
	all.sort()
	return all, nil
}

// window runs the reader and the writer, each at least once, for twice the duration of a slice of the
// benchmark. It adds to the result to the time of each operation, and the memory in use at the end.
func (f *foregroundClients) window(ctx context.Context, to *expiryWaveResult) error {
	ends := f.b.clock.Now().Add(2 * f.b.sliceTime())
	work := []func() error{
		func() error {
			i := newDocument(f.from + f.at*7%(f.to-f.from))
			f.at++
			return f.b.timed(&to.reads, func() error {
				_, _, err := f.c.Read(ctx, i.key(), i.id, store.ReadOptions{})
				return err
			})
		},
		func() error {
			i := newDocument(f.next)
			body := i.json()
			f.next++
			return f.b.timed(&to.writes, func() error {
				_, _, err := f.c.Create(ctx, i.key(), body, store.WriteOptions{})
				return err
			})
		},
	}
	err := workers(ctx, len(work), 0, len(work), func(i int) error {
		for {
			if err := work[i](); err != nil || !f.b.clock.Now().Before(ends) {
				return err
			}
		}
	})
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	to.heap = max(to.heap, int64(m.HeapInuse))
	to.resident = max(to.resident, memoryOf(os.Getpid(), "VmRSS:"))
	return err
}

func (b *BenchmarkRun) addLatencies(when string, then, before *expiryWaveResult,
	limit *measurementThreshold) {
	for _, op := range []struct {
		name         string
		then, before latencies
	}{{"read", then.reads, before.reads}, {"durable create", then.writes, before.writes}} {
		for _, q := range []struct {
			name  string
			at    float64
			limit *measurementThreshold
		}{{"p50", 0.5, nil}, {"p99", 0.99, limit}} {
			name := fmt.Sprintf("%s, %s %s", op.name, q.name, when)
			b.addRatio(name, seconds, op.then.quantile(q.at).Seconds(), op.before.quantile(q.at).Seconds(),
				q.limit)
		}
	}
}

func (b *BenchmarkRun) addMemory(then, before *expiryWaveResult) {
	b.addRatio("heap in it, the most", byteCount, float64(then.heap), float64(before.heap), nil)
	if then.resident > 0 {
		b.addRatio("resident memory in it, the most", byteCount, float64(then.resident),
			float64(before.resident), nil)
	}
}

// addRatio adds a Measurement whose baseline is not bare Pebble but an earlier value of Mayfly, against: for
// example the latency under load and that before it.
func (b *BenchmarkRun) addRatio(name string, u measurementUnit, value, against float64,
	limit *measurementThreshold) {
	ratio := value / max(against, 1e-9)
	b.report.add(Measurement{Name: name, Value: value, Unit: u, Against: &against, Ratio: &ratio, Budget: limit})
}
