package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	raw "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
)

// Stores are compared with bare Pebble: the library under the engine, used directly and with the same
// options, on a folder with the same bytes or with the same transactions.

// openRaw opens a data folder with bare Pebble. It uses the options that the engine used last, which
// Pebble stores in the folder, but a cache of the given size in bytes; 0 keeps the stored size.
func openRaw(dir string, cache int64) (*raw.DB, error) {
	o, err := rawOptions(dir)
	if err != nil {
		return nil, err
	}
	if cache > 0 {
		o.CacheSize = cache
	}
	o.Logger = fatalOnlyLogger{}
	return raw.Open(dir, o)
}

// rawOptions reads the options that Pebble has stored in a folder.
func rawOptions(dir string) (*raw.Options, error) {
	files, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s holds no options", dir))
	}
	text, err := os.ReadFile(slices.Max(files)) // the names have numbers with leading zeros
	if err != nil {
		return nil, err
	}
	o := &raw.Options{}
	err = o.Parse(string(text), &raw.ParseHooks{NewFilterPolicy: func(name string) (raw.FilterPolicy, error) {
		if name == raw.NoFilterPolicy.Name() {
			return raw.NoFilterPolicy, nil
		}
		return bloom.FilterPolicy(10), nil // the number of bits is not stored
	}})
	return o, err
}

// newRaw creates a folder with the engine's options and opens it with bare Pebble.
func newRaw(ctx context.Context, dir string) (*raw.DB, error) {
	e, err := pebble.Open(ctx, pebble.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return openRaw(dir, 0)
}

// compactFolder compacts a closed store completely: one level, no garbage.
func compactFolder(ctx context.Context, dir string) (err error) {
	db, err := openRaw(dir, 0)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	return db.Compact(ctx, []byte{0}, []byte{0xFF, 0xFF}, true)
}

// fatalOnlyLogger is a logger that only reports fatal errors of Pebble.
type fatalOnlyLogger struct{}

func (fatalOnlyLogger) Infof(string, ...any)  {}
func (fatalOnlyLogger) Errorf(string, ...any) {}
func (fatalOnlyLogger) Fatalf(format string, args ...any) {
	panic("the engine's library cannot go on: " + fmt.Sprintf(format, args...))
}

// recordingEngine is an engine that records the writes of each transaction, so that they can be repeated in
// bare Pebble.
type recordingEngine struct {
	*pebble.Engine
	mu   sync.Mutex
	txns [][]byte // as Pebble batches, without empty ones
}

// Update runs fn as one transaction in scopes, as engine.Engine does, and records the keys that it writes
// if it commits.
func (r *recordingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	var ops *raw.Batch
	at, err := r.Engine.Update(ctx, scopes, func(t engine.Txn) error {
		ops = new(raw.Batch)
		return fn(&recordingTxn{Txn: t, to: t, ops: ops})
	}, ahead...)
	if err == nil && !ops.Empty() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.txns = append(r.txns, slices.Clone(ops.Repr()))
	}
	return at, err
}

// take returns the transactions recorded since the last call.
func (r *recordingEngine) take() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	txns := r.txns
	r.txns = nil
	return txns
}

// keysOf returns how many keys transactions write or delete.
func keysOf(txns [][]byte) (n int) {
	for _, txn := range txns {
		if h, ok := batchrepr.ReadHeader(txn); ok {
			n += int(h.Count)
		}
	}
	return n
}

// txnWriteMethods is the part of an engine's transaction to which a recordingTxn passes the writes that it
// records.
type txnWriteMethods interface {
	Set(key, value []byte)
	Delete(key []byte)
}

// recordingTxn is a transaction that records its writes in a Pebble batch and also passes them on to the
// engine's transaction.
type recordingTxn struct {
	engine.Txn
	to  txnWriteMethods
	ops *raw.Batch
}

// Set sets a key when the transaction commits.
func (t *recordingTxn) Set(key, value []byte) {
	_ = t.ops.Set(key, value, nil)
	t.to.Set(key, value)
}

// Delete deletes a key when the transaction commits.
func (t *recordingTxn) Delete(key []byte) {
	_ = t.ops.Delete(key, nil)
	t.to.Delete(key)
}

// replay commits one recorded transaction.
func replay(db *raw.DB, txn []byte, o *raw.WriteOptions) error {
	b := db.NewBatch()
	for r := batchrepr.Read(txn); ; {
		kind, key, value, ok, err := r.Next()
		if err != nil {
			return err
		}
		if !ok {
			return b.Commit(o)
		}
		if kind == raw.InternalKeyKindSet {
			err = b.Set(key, value, nil)
		} else {
			err = b.Delete(key, nil)
		}
		if err != nil {
			return err
		}
	}
}
