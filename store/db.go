package store

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/script"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// DB is an open store. Its methods may be called from any goroutine.
type DB struct {
	line        *lineage
	eng         engine.Engine
	get         func(ctx context.Context, scope, key []byte) ([]byte, engine.Position, error)
	opts        Options
	clock       storeClock // of the server
	marks       marks      // of the catalog
	rids        ridCache
	given       *givenRows  // to readers of DISTINCT
	reapingHeld atomic.Bool // of all containers: see PauseReaper
	reaper      *ttl.Reaper // nil with ManualReaper before the first SweepNow

	reindexer reindexer
	splitter  splitter
	programs  script.Programs // compiled scripts

	ddl turn         // one change of the catalog at a time; taken before any gate and before mu
	mu  sync.RWMutex // guards cat
	cat catalog

	meta        meta   // guarded by ddl
	incarnation uint32 // of meta; fixed once open
	purged      atomic.Uint64
	working     atomic.Int64 // foreground operations in flight: what the reaper yields to
	closed      atomic.Bool
}

// Open loads the catalog from the engine, finishes what a crash interrupted, and starts the reaper. It takes
// the engine over: Close closes it, and a failed Open has closed it.
//
// It fails with engine.ErrNewerFormat or engine.ErrOlderFormat (wrapped) for data of another format,
// engine.ErrCorrupt for a catalog that cannot be read, and CodeUnavailable where the clock runs more than five
// minutes behind the data.
func Open(ctx context.Context, e engine.Engine, o Options) (*DB, error) {
	line := newLineage(NewMemory(o.Memory))
	db := &DB{eng: e, opts: o.withDefaults(), line: line, ddl: newTurn(), given: newGivenRows(line.memory)}
	db.line.live.Store(db)
	err := db.opts.validate()
	if err == nil {
		err = db.load(ctx)
	}
	if err != nil {
		return nil, errors.Join(wrap(err), e.Close())
	}
	db.start()
	return db, nil
}

// load reads the catalog and finishes what a crash interrupted. No loop runs yet.
func (db *DB) load(ctx context.Context) error {
	db.clock.base = db.opts.Clock
	db.rids.init()
	if g, ok := db.eng.(engine.Getter); ok {
		db.get = g.Get
	} else {
		db.get = db.viewGet
	}
	if err := db.loadCatalog(ctx); err != nil {
		return err
	}
	if err := db.checkStepBack(); err != nil {
		return err
	}
	if err := db.finishDrops(ctx); err != nil {
		return err
	}
	return db.finishSplits(ctx)
}

// start starts what runs in the background.
func (db *DB) start() {
	db.openReaper()
	db.reindexer.open(db)
	db.splitter.open(db)
}

// Close stops the reaper, the reindexer, the splitter and a database that is being copied out of a snapshot,
// waits for them, and closes the engine. Calls that come later fail with CodeUnavailable.
func (db *DB) Close() error {
	db.closing("a snapshot, a restore or a fork that is under way")
	db.line.end()
	if err := db.line.work.take(context.Background()); err != nil {
		return err
	}
	defer db.line.work.release()
	return db.live().end()
}

// closing notes what Close waits for.
func (db *DB) closing(what string) { db.line.closing.Store(&what) }

// Closing tells what Close is waiting for, in words; empty where it has not begun.
func (db *DB) Closing() string {
	if what := db.line.closing.Load(); what != nil {
		return *what
	}
	return ""
}

// end stops what runs in the background and closes the engine.
func (db *DB) end() error {
	if db.closed.Swap(true) {
		return nil
	}
	db.closing("the splitting of ranges")
	db.splitter.close()
	db.closing("the building of an index")
	db.reindexer.close()
	db.closing("the reaper")
	db.reaper.Close()
	db.closing("the engine: a transaction that does not end, or the disk")
	kept := db.keepUses(context.Background())
	defer db.wakeWaiters()
	return errors.Join(kept, wrap(db.eng.Close()))
}

// viewGet is the point read of an engine without a faster one.
func (db *DB) viewGet(ctx context.Context, scope, key []byte) (value []byte, at engine.Position, err error) {
	err = db.eng.View(ctx, func(r engine.Reader) error {
		all, err := r.Positions([][]byte{scope})
		if err != nil {
			return err
		}
		at = all[0]
		v, err := r.Get(key)
		value = append([]byte(nil), v...)
		return err
	})
	return value, at, err
}

// settle waits until all that this scope has shown is durable. What a caller has seen before it calls settle,
// present or absent, cannot be taken back by a crash after it has returned. seen is the highest LSN among
// that, 0 where none is known. It waits for the disk alone, not for writers.
func (db *DB) settle(ctx context.Context, scope []byte, seen uint64) error {
	return wrap(db.eng.Settle(ctx, scope, seen))
}

func (db *DB) openReaper() {
	o := ttl.ReaperOptions{
		Clock:  db.opts.Clock,
		Batch:  purgeBatch,
		Load:   func() int { return int(db.working.Load()) },
		Paused: db.opts.ManualReaper,
		OnError: func(err error) {
			if ErrorCode(err) != CodeUnavailable {
				db.opts.Logger.Error("purging expired items failed", "error", err)
			}
		},
	}
	db.reaper = ttl.OpenReaper(o, sweeper{db})
}

func (db *DB) wakeReaper() {
	if db.reaper != nil {
		db.reaper.Wake()
	}
}

// SweepNow purges everything that has expired by now, but for what somebody holds the reaper back from (see
// Reap), and tells how many items that were. Nothing that a caller can see depends on it but space and
// Metrics.
func (db *DB) SweepNow(ctx context.Context) (purged int, err error) {
	db = db.live()
	n, err := db.reaper.SweepNow(ctx)
	return n, wrap(err)
}

// enter and leave count foreground operations.
func (db *DB) enter() { db.working.Add(1) }
func (db *DB) leave() { db.working.Add(-1) }

// Ping writes a record, durably, and reads it: it fails where the store could not take a write now. It does
// not wait for those who change the catalog, but for the disk.
func (db *DB) Ping(ctx context.Context) error {
	db = db.live()
	if _, err := db.eng.Update(ctx, [][]byte{layout.CatalogScope()}, rewriteMeta); err != nil {
		return wrap(err)
	}
	_, _, err := db.get(ctx, layout.CatalogScope(), layout.MetaKey())
	return wrap(err)
}

// elapsed is a watch that has just been started: what it tells is real time, whatever the data clock does.
func (db *DB) elapsed() func() time.Duration {
	began := db.opts.Wall.Now()
	return func() time.Duration { return db.opts.Wall.Now().Sub(began) }
}

func isAbsent(err error) bool { return errors.Is(err, engine.ErrNotFound) }

// never is the second that does not come.
const never = math.MaxInt64
