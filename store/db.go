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
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/query/spill"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/store/internal/work"
	"github.com/mayflydb/mayfly/ttl"
)

// DB is an open store. It always gives access to the current data of its host. A restore replaces the data
// but not the DB; a Database or Container looked up before belongs to the replaced data. The methods of a
// DB are safe for concurrent use.
type DB struct {
	opts    Options
	host    *host.Host
	owned   bool // Close closes the host
	dataset atomic.Pointer[openDataset]

	// heavy limits how many long queries and other long computations run at a time. Like the fields after
	// it, it is kept when a restore replaces the data.
	heavy        *work.HeavyWorkQueue
	turns        *priority.TurnLimiter // of pieces of large responses: see TakeTurn
	memory       *MemoryBudget
	temp         *spill.TempDir      // nil if there is no such folder
	catalogWatch host.WaiterNotifier // see CatalogChanged
	// backup is Options.ContinuousBackup, until SetContinuousBackup changes it. It applies to containers
	// that are created from then on; each stores the value in its record.
	backup atomic.Bool
}

// Open opens an engine's data: the documents, and the data of neighbours, the other tenants of the same host
// (queues, for example). It loads the catalog, finishes what a crash interrupted, and starts the reaper. Open
// takes ownership of the engine: Close closes it, and so does an Open that fails.
//
// It fails with engine.ErrNewerFormat or engine.ErrOlderFormat (wrapped) for data of another format, with
// engine.ErrCorrupt for a catalog that cannot be read, and with CodeUnavailable if the clock is more than
// five minutes behind the data.
func Open(ctx context.Context, e engine.Engine, o Options, neighbours ...host.Tenant) (*DB, error) {
	db, err := New(o)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	o = db.opts
	_, err = host.Open(ctx, e, host.Options{
		Clock: o.Clock, Wall: o.Wall, Logger: o.Logger, ManualReaper: o.ManualReaper,
		Batch: sweepLimitsOf(e).step, FirstNumber: o.FirstNumber, Server: o.Server,
	}, append([]host.Tenant{db.Tenant()}, neighbours...)...)
	if err != nil {
		return nil, classify.ToFault(err)
	}
	db.owned = true
	return db, nil
}

// New creates a store that shares a host with other tenants. The caller passes its Tenant to host.Open;
// when that has returned, the store can be used. The clocks, the logger and ManualReaper in o must be those
// of the host.
func New(o Options) (*DB, error) {
	o = o.withDefaults()
	// Turns limit the use of processors and sockets, so their clock is the system's also in tests.
	db := &DB{opts: o, memory: NewMemoryBudget(o.Memory), heavy: work.NewHeavy(runtime.GOMAXPROCS(0)),
		turns: priority.NewProcessTurnLimiter(ttl.SystemClock{})}
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

// Close closes the host that Open has opened. It stops the reaper, the reindexer, the splitter and a
// database that is being copied from a snapshot, waits for them, and closes the engine. Later calls fail
// with CodeUnavailable. Close does nothing for a store created by New: closing its host closes it.
func (db *DB) Close() error {
	if !db.owned {
		return nil
	}
	return classify.ToFault(db.host.Close())
}

// Closing describes what Close is waiting for. It is empty if Close has not begun.
func (db *DB) Closing() string { return db.host.Closing() }

// Incarnation returns a number that identifies the current data: it differs between stores and changes with
// each Restore. It waits while a restore is running, and fails with CodeCanceled if ctx ends first. If a
// call failed with CodeUnavailable and Incarnation has changed since before it, a restore has interrupted
// the call. Nothing of the call's effect is left, and it may be repeated.
func (db *DB) Incarnation(ctx context.Context) (uint32, error) {
	if db.host == nil { // the DB was never opened
		return 0, nil
	}
	n, err := db.host.Incarnation(ctx)
	return n, classify.ToFault(err)
}

// Ping durably writes a record and reads it back. It fails if the store cannot accept a write at the
// moment. It waits for the disk, but not for changes of the catalog.
func (db *DB) Ping(ctx context.Context) error { return classify.ToFault(db.live().in.Ping(ctx)) }

// live returns the current dataset.
func (db *DB) live() *openDataset { return db.dataset.Load() }

// Memory returns the budget that all requests to the store share, also after a restore.
func (db *DB) Memory() *MemoryBudget {
	if db.memory == nil { // the DB was never opened
		return NewMemoryBudget(0)
	}
	return db.memory
}

// LongWork returns the maximum number of long-running tasks that run at a low thread priority, so that
// short requests get the processors first. Each of them occupies a thread that counts against GOMAXPROCS,
// so a server raises GOMAXPROCS by this number. It is zero on systems without thread priorities.
func (db *DB) LongWork() int {
	if !priority.Supported {
		return 0
	}
	return db.heavy.Most
}

// TextWeight is the number of bytes as which one byte of the text of a query counts in a call of DB.Large.
const TextWeight = work.TextWeight

// Large runs fn, a computation on n bytes of JSON, or on a text that takes as long: a byte of the text of a
// query weighs TextWeight. If n is large, Large waits until few other such computations run, and fn runs at
// a lower priority in another goroutine. The caller must not hold locks. CodeCanceled: ctx ended or
// Options.QueryTime passed before fn began.
func (db *DB) Large(ctx context.Context, n int, fn func()) error {
	return db.heavy.Large(ctx, db.opts.QueryTime, n, fn)
}

// LargeResponsePermit is the permission to process one piece of a large response: see TakeTurn.
type LargeResponsePermit = priority.TurnPermit

// TakeTurn waits until the caller may make or send the next piece, of about 256 KB, of a large response. Few
// such pieces are processed at the same time, so that processors remain for short requests. The caller calls
// Leave on the turn when the piece is done; a turn that lasts longer than 5 ms ends by itself. TakeTurn
// returns nil if ctx ends first.
func (db *DB) TakeTurn(ctx context.Context) *LargeResponsePermit { return db.turns.Take(ctx) }

// RunQuery runs fn, a query over rows that are not documents, under the same limits as a query over
// documents: of long queries only a few run at a time. It sets env.Turn, and env.Limit if it is 0; fn runs
// the query with env. If it is the first long query in a while, fn is ended once and run again from its
// beginning.
func (db *DB) RunQuery(env *query.Env, fn func() error) error {
	if env.Limit <= 0 {
		env.Limit = db.opts.QueryTime
	}
	heavy := db.heavy.Query(env.Elapsed, env.Limit)
	defer heavy.Leave()
	env.Turn = heavy.Turn
	return heavy.Run(fn)
}

func isAbsent(err error) bool { return errors.Is(err, engine.ErrNotFound) }

// never is a second that no clock reaches. It stands for "no time".
const never = view.Never
