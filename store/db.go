package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/priority"
	"github.com/mayflydb/mayfly/query/spill"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// DB is an open store. It gives access to whatever data its host has: a restore replaces those, and a
// Database or a Container that was looked up before belongs to what is gone, while the DB stays. Its methods
// may be called from any goroutine.
type DB struct {
	opts    Options
	host    *host.Host
	owned   bool // the host is closed with the DB
	dataset atomic.Pointer[dataset]

	// What lives through restores.
	heavy       *work.Heavy
	memory      *Memory
	temp        *spill.Dir    // nil: there is none
	subscribers host.Notifier // who ask for webhooks: see Subscriptions
	// backup is Options.ContinuousBackup, until SetContinuousBackup changes it. It decides of containers that
	// are made from then on; what it was for a container is in its record.
	backup atomic.Bool
}

// Open opens the data of an engine that holds documents, and what neighbours have beside them: it loads the
// catalog, finishes what a crash interrupted, and starts the reaper. It takes the engine over: Close closes
// it, and a failed Open has closed it.
//
// It fails with engine.ErrNewerFormat or engine.ErrOlderFormat (wrapped) for data of another format,
// engine.ErrCorrupt for a catalog that cannot be read, and CodeUnavailable where the clock runs more than
// five minutes behind the data.
func Open(ctx context.Context, e engine.Engine, o Options, neighbours ...host.Tenant) (*DB, error) {
	db, err := New(o)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	o = db.opts
	_, err = host.Open(ctx, e, host.Options{
		Clock: o.Clock, Wall: o.Wall, Logger: o.Logger, ManualReaper: o.ManualReaper, Batch: purgeBatch,
		FirstNumber: o.FirstNumber,
	}, append([]host.Tenant{db.Tenant()}, neighbours...)...)
	if err != nil {
		return nil, classify.ToFault(err)
	}
	db.owned = true
	return db, nil
}

// New makes a store that lives with other tenants in one host: its Tenant is given to host.Open, and when
// that has opened the host the store can be used. Of the options the clocks, the logger and ManualReaper are
// to be those of the host.
func New(o Options) (*DB, error) {
	o = o.withDefaults()
	db := &DB{opts: o, memory: NewMemory(o.Memory), heavy: work.NewHeavy(runtime.GOMAXPROCS(0))}
	db.backup.Store(o.ContinuousBackup)
	if err := o.validate(); err != nil || o.Temp == "" {
		return db, err
	}
	var err error
	if db.temp, err = spill.Open(o.Temp, o.TempSize); err != nil {
		err = fmt.Errorf("the folder for temporary files: %w", err)
	}
	return db, err
}

// Close closes the host that Open has opened: it stops the reaper, the reindexer, the splitter and a database
// that is being copied out of a snapshot, waits for them, and closes the engine. Calls that come later fail
// with CodeUnavailable. A store that lives in a host with others is closed with that, and Close does nothing.
func (db *DB) Close() error {
	if !db.owned {
		return nil
	}
	return classify.ToFault(db.host.Close())
}

// Closing reports what Close is waiting for, in words; empty where it has not begun.
func (db *DB) Closing() string { return db.host.Closing() }

// Incarnation tells the stores that Restore puts in each other's place apart, and stores from each other. It
// waits while a restore is under way: CodeCanceled where ctx ends before. A call that failed with
// CodeUnavailable, where this has changed since before the call, has met a restore: nothing that it did is
// left, and it may be made again.
func (db *DB) Incarnation(ctx context.Context) (uint32, error) {
	if db.host == nil { // it was never opened
		return 0, nil
	}
	n, err := db.host.Incarnation(ctx)
	return n, classify.ToFault(err)
}

// Ping writes a record, durably, and reads it: it fails where the store could not take a write now. It does
// not wait for those who change the catalog, but for the disk.
func (db *DB) Ping(ctx context.Context) error { return classify.ToFault(db.live().in.Ping(ctx)) }

// live is what the DB's methods act on.
func (db *DB) live() *dataset { return db.dataset.Load() }

func isAbsent(err error) bool { return errors.Is(err, engine.ErrNotFound) }

// never is the second that does not come.
const never = view.Never

// Memory is the budget that all requests to the store share, those to what a restore puts in its place, too.
func (db *DB) Memory() *Memory {
	if db.memory == nil { // it was never opened
		return NewMemory(0)
	}
	return db.memory
}

// LongWork is how many pieces of work there can be at a time that stand back for short ones, each in a thread
// that keeps its place among those that run Go code: a server raises GOMAXPROCS by it; zero where the system
// has no such threads.
func (db *DB) LongWork() int {
	if !priority.Supported {
		return 0
	}
	return db.heavy.Most
}
