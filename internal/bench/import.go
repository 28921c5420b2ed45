package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	raw "github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// importBatch is the number of documents that an import stores in one transaction.
const importBatch = store.MaxBatchOperations

// measureImports compares `mayfly import` into a running server, both in separate processes, with durable
// batches of the same keys and bytes in bare Pebble. Each slice of the measurement imports one file.
func (b *BenchmarkRun) measureImports(ctx context.Context) (err error) {
	dir, bareDir, file := b.path("import"), b.path("import-raw"), b.path("import.ndjson")
	defer drop(dir, bareDir, file)
	db, _, err := b.open(ctx, storeOpenOptions{engine: pebble.Options{Dir: dir}})
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	bare, err := newRaw(ctx, bareDir)
	if err != nil {
		return err
	}
	defer closing(bare, &err)
	server, err := startBenchServer(ctx, "mayfly", dir)
	if err != nil {
		return err
	}
	p := &importComparison{b: b, server: server, bare: bare, file: file,
		size: max(1, b.docs()/(benchSlices+1))}
	d, err := b.compare(ctx, "importing",
		func() (int, time.Duration, error) { return p.runMayfly(ctx) },
		func() (int, time.Duration, error) { return p.runBaseline(ctx) })
	most := memoryOf(server.cmd.Process.Pid, "VmHWM:")
	if err = errors.Join(err, server.Close()); err != nil {
		return err
	}
	b.report.begin("import", fmt.Sprintf(
		"%s documents of a file over HTTP, one client; against durable batches of the same keys and bytes, %d documents each",
		thousands(int64(p.next)),
		importBatch,
	), "raw batches")
	b.report.add(d.rate("documents", ratioAtLeast(0.3)))
	if most > 0 {
		b.report.add(Measurement{Name: "resident memory of the server, at most", Value: float64(most),
			Unit: byteCount, Budget: valueAtMost(300e6)})
	}
	return nil
}

// importComparison compares the command `mayfly import` with writes of the same documents to bare Pebble.
type importComparison struct {
	b      *BenchmarkRun
	server *benchServer
	bare   *raw.DB
	file   string
	next   int // number of the first document that has not been imported
	size   int // number of documents in a slice
}

// runMayfly imports the next slice of documents into the server by a process of `mayfly import`. It returns
// the number of documents and the time that the import took.
func (p *importComparison) runMayfly(ctx context.Context) (int, time.Duration, error) {
	if err := p.write(p.next, p.next+p.size); err != nil {
		return 0, 0, err
	}
	began := p.b.clock.Now()
	client, err := startChild(
		ctx,
		"import",
		p.file,
		"--url",
		"http://"+p.server.address,
		"--db",
		benchDatabase,
		"--container",
		benchContainer,
	)
	if err != nil {
		return 0, 0, err
	}
	said, err := client.line()
	if err = errors.Join(err, client.end()); err != nil {
		return 0, 0, err
	}
	took := p.b.clock.Now().Sub(began)
	said, _, _ = strings.Cut(said, " (") // a slow import adds its time
	if want := fmt.Sprintf("%d documents imported", p.size); said != want {
		return 0, 0, errors.New("an import said " + said)
	}
	p.next += p.size
	return p.size, took, nil
}

// write creates a file with the documents [from, to).
func (p *importComparison) write(from, to int) error {
	f, err := os.Create(p.file)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for i := from; i < to && err == nil; i++ {
		_, err = w.Write(append(newDocument(i).json(), '\n'))
	}
	return errors.Join(err, w.Flush(), f.Close())
}

// runBaseline writes to bare Pebble the keys and values that a store writes for the documents that
// runMayfly has imported. It gets them from a second store, in memory, some documents at a time.
func (p *importComparison) runBaseline(ctx context.Context) (n int, took time.Duration, err error) {
	var rec *recordingEngine
	twin, c, err := p.b.open(ctx, storeOpenOptions{
		engine: pebble.Options{Memory: true},
		wrap: func(e *pebble.Engine) engine.Engine {
			rec = &recordingEngine{Engine: e}
			return rec
		},
	})
	if err != nil {
		return 0, 0, err
	}
	defer closing(twin, &err)
	rec.take()
	for from := p.next - p.size; from < p.next; from += importBatch {
		ops := make([]store.ItemOperation, min(importBatch, p.next-from))
		for i := range ops {
			ops[i] = store.ItemOperation{Kind: store.OperationUpsert, Body: newDocument(from + i).json(),
				NoContent: true, WriteOptions: store.WriteOptions{Import: &store.ImportTimestampOptions{}}}
		}
		_, _, err := c.Batch(ctx, definition.PartitionKey{}, ops, store.BatchOptions{ContinueOnError: true})
		if err != nil {
			return 0, 0, err
		}
		began := p.b.clock.Now()
		for _, txn := range rec.take() {
			if err := replay(p.bare, txn, raw.Sync); err != nil {
				return 0, 0, err
			}
		}
		took += p.b.clock.Now().Sub(began)
	}
	return p.size, took, nil
}
