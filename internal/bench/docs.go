package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// benchDocBytes is the size of each document's JSON.
const benchDocBytes = 1024

// benchKeys is the number of partition keys of the documents.
const benchKeys = 100_000

// benchLoaders is the number of concurrent writers that fill a store. They share the syncs of the disk.
const benchLoaders = 64

// document is the i-th document of a set: its number, id and partition key. The method json returns its text.
type document struct {
	i  int
	id string
	pk string
}

func newDocument(i int) document {
	spread := uint64(i) * 0x9E3779B97F4A7C15 >> 32
	return document{i, fmt.Sprintf("%010d", i), fmt.Sprintf("user-%06d", spread%benchKeys)}
}

func (d document) key() definition.PartitionKey {
	return definition.NewPartitionKey(jsondoc.StringValue(d.pk))
}

// idStart is the beginning of every document.
const idStart = `{"id":"`

// numberIn returns the number of the document in a stored value; ok is false if the value is not a document.
func numberIn(value []byte) (i int, ok bool) {
	_, rest, ok := bytes.Cut(value, []byte(idStart))
	if !ok || len(rest) < 10 {
		return 0, false
	}
	i, err := strconv.Atoi(string(rest[:10]))
	return i, err == nil
}

// json returns the document's text: 12 values, the last one a text of random letters, which hardly
// compresses.
func (d document) json() []byte {
	r := rand.New(rand.NewPCG(uint64(d.i), 1))
	b := make([]byte, 0, benchDocBytes)
	b = fmt.Appendf(b, idStart+
		`%s","pk":"%s","type":"order","status":"%s","name":"%s","email":"%s@example.com",`,
		d.id, d.pk, []string{"open", "paid", "sent", "done"}[r.IntN(4)], letters(r, 12), letters(r, 10))
	b = fmt.Appendf(b, `"age":%d,"score":%v,"active":%t,"created":"2027-%02d-%02dT12:00:00Z","address":{"city":"%s"},"note":"`,
		18+r.IntN(80), float64(r.IntN(10_000))/100, r.IntN(2) == 0, 1+r.IntN(12), 1+r.IntN(28), letters(r, 8))
	b = append(b, letters(r, benchDocBytes-len(b)-len(`"}`))...)
	return append(b, `"}`...)
}

func letters(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(r.IntN(26))
		if i%8 == 7 {
			b[i] = ' '
		}
	}
	return b
}

// create stores the document.
func (d document) create(ctx context.Context, c *store.Container) error {
	_, _, err := c.Create(ctx, d.key(), d.json(), store.WriteOptions{})
	return err
}

// The names of the database and of the container in every store of the bench.
const (
	benchDatabase  = "bench"
	benchContainer = "docs"
)

// storeOpenOptions has the options with which a store is opened.
type storeOpenOptions struct {
	engine pebble.Options
	store  store.Options
	wrap   func(*pebble.Engine) engine.Engine // nil: the engine is used unchanged
	queues *queue.Queues                      // nil: without queues
}

// open opens a store and its container, and creates both if they do not exist.
func (b *BenchmarkRun) open(ctx context.Context, o storeOpenOptions) (db *store.DB, c *store.Container,
	err error) {
	if o.store.Clock == nil {
		o.store.Clock = b.clock
	}
	e, err := pebble.Open(ctx, o.engine)
	if err != nil {
		return nil, nil, err
	}
	var used engine.Engine = e
	if o.wrap != nil {
		used = o.wrap(e)
	}
	if o.queues != nil {
		db, err = store.Open(ctx, used, o.store, o.queues.Tenant())
	} else {
		db, err = store.Open(ctx, used, o.store)
	}
	if err != nil {
		return nil, nil, err
	}
	if c, err = benchDocs(ctx, db); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, c, nil
}

func benchDocs(ctx context.Context, db *store.DB) (*store.Container, error) {
	if d, err := db.Database(benchDatabase); err == nil {
		return d.Container(benchContainer)
	}
	d, err := db.CreateDatabase(ctx, benchDatabase, definition.Throughput{})
	if err != nil {
		return nil, err
	}
	return d.CreateContainer(ctx, benchSpec(), definition.Throughput{})
}

func benchSpec() definition.ContainerSpec {
	return definition.ContainerSpec{
		ID: benchContainer,
		PartitionKey: definition.PartitionKeyDefinition{Paths: []string{"/pk"}, Kind: definition.KindHash,
			Version: 2},
	}
}

// load stores the documents [from, to).
func (b *BenchmarkRun) load(ctx context.Context, c *store.Container, from, to int) error {
	return workers(ctx, benchLoaders, from, to, func(i int) error {
		b.progress.Step(1)
		return newDocument(i).create(ctx, c)
	})
}

// copyFolder copies the data of a closed store.
func copyFolder(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("cannot copy the data: %w", err)
	}
	return nil
}

// folderBytes returns the size of all files in a folder.
func folderBytes(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}
