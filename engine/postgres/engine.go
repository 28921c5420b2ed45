package postgres

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mayflydb/mayfly/engine"
)

// Engine implements engine.Engine and engine.Getter over one schema of a database. Its methods are safe for
// concurrent use. Several Engines may use one schema, in one process or in several.
type Engine struct {
	writers, readers *pgxpool.Pool
	log              *slog.Logger
	rerun            func() bool

	channel  string          // of the notifications
	listener *pgx.ConnConfig // of the connection that waits for notifications
	silent   atomic.Bool     // the database sends no notifications

	queues  waitingUpdateQueuesByScope
	commits atomic.Uint64 // number of committed functions
	groups  atomic.Uint64 // number of committed database transactions
	trips   atomic.Uint64
	epoch   atomic.Uint64 // number of times that all idle connections were closed: see lost
	told    atomic.Int64  // the latest time of the database's clock, in microseconds since 1970; 0: none yet

	calls  engine.RunningCallTracker
	ending sync.WaitGroup // connections that are being released
}

var (
	_ engine.Engine               = (*Engine)(nil)
	_ engine.Getter               = (*Engine)(nil)
	_ engine.Prefetcher           = (*overlayReader)(nil)
	_ engine.Prefetcher           = (*iterator)(nil)
	_ engine.ReadAheadIterator    = (*iterator)(nil)
	_ engine.SharedEngine         = (*Engine)(nil)
	_ engine.DatabaseTimeReporter = (*Engine)(nil)
	_ engine.CommitNotifier       = (*Engine)(nil)
	_ engine.TxnSizeAdviser       = (*Engine)(nil)
)

// trip counts a round trip to the database.
func (e *Engine) trip() { e.trips.Add(1) }

// Trips returns the number of round trips to the database so far.
func (e *Engine) Trips() uint64 { return e.trips.Load() }

// Shared reports whether other processes may have the data open at the same time.
func (e *Engine) Shared() bool { return true }

// advisedPurge is the recommended number of items that one transaction purges. Measured against batches of
// 32, batches of this size purge 1.7 times as many documents per second. Each locks its scope for less than
// a tenth of a second.
const advisedPurge = 256

// Advice returns how many expired items a transaction should delete: see engine.TxnSizeAdvice.
func (e *Engine) Advice() engine.TxnSizeAdvice { return engine.TxnSizeAdvice{PurgeBatch: advisedPurge} }

// Told returns the latest time that the database has reported, by its own clock; the zero time before the
// first.
func (e *Engine) Told() time.Time {
	if told := e.told.Load(); told != 0 {
		return time.UnixMicro(told).UTC()
	}
	return time.Time{}
}

// tell records a time of the database's clock, in microseconds since 1970. Told returns the latest time that
// was recorded.
func (e *Engine) tell(now int64) {
	for told := e.told.Load(); now > told && !e.told.CompareAndSwap(told, now); told = e.told.Load() {
	}
}

// Close waits for running calls, makes everything durable and releases the resources.
func (e *Engine) Close() error {
	if err := e.calls.Close(); err != nil {
		return err
	}
	e.ending.Wait()
	e.writers.Close()
	e.readers.Close()
	return nil
}

// View runs fn over one snapshot: see engine.Engine.
func (e *Engine) View(ctx context.Context, fn func(engine.Reader) error) error {
	if err := e.calls.Begin(); err != nil {
		return err
	}
	defer e.calls.End()
	if err := ctx.Err(); err != nil {
		return err
	}
	v := &viewTxn{e: e}
	s := &cachingSnapshotReader{ctx: ctx, e: e, known: map[string][]byte{}}
	s.begin = func() (querier, error) { return v.begin(ctx) }
	defer func() {
		if s.finish() {
			e.log.Error(errLeak.Error())
		}
		v.end()
	}()
	return fn(&overlayReader{s: s})
}

var errLeak = errors.New("engine/postgres: an iterator was not closed")

// viewTxn is the database transaction of an engine.Engine.View: it reads from one connection.
type viewTxn struct {
	e     *Engine
	c     *pgxpool.Conn
	began bool
}

// begin acquires a connection. The transaction begins with the first statement.
func (v *viewTxn) begin(ctx context.Context) (querier, error) {
	err := withLimit(ctx, beginLimit, func(own context.Context) (err error) {
		v.c, err = v.e.readers.Acquire(own)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, toEngine(err)
	}
	return v, nil
}

const beginView = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// Query runs a statement. The first call begins the transaction in the same round trip. If the connection
// turns out to be broken before anything has been read, it is replaced.
func (v *viewTxn) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if v.began {
		return v.c.Query(ctx, sql, args...)
	}
	for try := 0; ; try++ {
		epoch := v.e.epoch.Load()
		batch := &pgx.Batch{}
		batch.Queue(beginView)
		batch.Queue(sql, args...)
		results := v.c.SendBatch(ctx, batch)
		_, err := results.Exec()
		if err == nil {
			var rows pgx.Rows
			if rows, err = results.Query(); err == nil {
				v.began = true
				return batchClosingRows{rows, results}, nil
			}
		}
		_ = results.Close() // the error has been reported already
		if classify(err) == lost && ctx.Err() == nil {
			v.e.lost(epoch)
		}
		if try == 3 || classify(err) == fails || ctx.Err() != nil {
			return nil, err
		}
		discard(v.c)
		v.c = nil
		pause(ctx, time.Millisecond<<try)
		if v.c, err = v.e.readers.Acquire(ctx); err != nil {
			return nil, err
		}
	}
}

// batchClosingRows are the rows of the last statement of a batch. Close closes the batch as well.
type batchClosingRows struct {
	pgx.Rows
	results pgx.BatchResults
}

func (r batchClosingRows) Close() {
	r.Rows.Close()
	_ = r.results.Close() // the rows have reported any error
}

// end gives up the transaction of a View, if it has begun, and releases its connection in the background.
func (v *viewTxn) end() {
	if v.c == nil {
		return
	}
	c := v.c
	v.e.ending.Go(func() { abandon(c) })
}

// Get returns the newest committed value of a key, outside any snapshot, and the position of its scope:
// the last LSN and the mark. It implements engine.Getter.
func (e *Engine) Get(ctx context.Context, scope, key []byte) ([]byte, engine.LSNScopeStatus, error) {
	if err := e.calls.Begin(); err != nil {
		return nil, engine.LSNScopeStatus{}, err
	}
	defer e.calls.End()
	if err := ctx.Err(); err != nil {
		return nil, engine.LSNScopeStatus{}, err
	}
	found, now, err := e.read(ctx, key, engine.CeilingKey(scope), engine.MarkKey(scope))
	if err != nil {
		return nil, engine.LSNScopeStatus{}, err
	}
	at, err := position(found[1], found[2])
	if err != nil {
		return nil, engine.LSNScopeStatus{}, err
	}
	at.Now = now
	if found[0] == nil {
		return nil, at, engine.ErrNotFound
	}
	return found[0], at, nil
}

// read reads a few keys by one statement. The value of an absent key is nil. now is the database's time
// before the statement, in microseconds since 1970.
func (e *Engine) read(ctx context.Context, keys ...[]byte) (out [][]byte, now int64, err error) {
	sql, args := rowsOf(keys, engine.ManyBytes)
	var rows []keyValue
	err = e.try(ctx, func() error {
		e.trip()
		return withLimit(ctx, readLimit, func(own context.Context) (err error) {
			rows, now, err = e.collect(e.readers.Query(own, sql+withTime, args...))
			return err
		})
	})
	if err != nil {
		return nil, 0, err
	}
	out = make([][]byte, len(keys))
	for i, key := range keys {
		for _, r := range rows {
			if string(r.key) == string(key) {
				out[i] = r.value
			}
		}
	}
	return out, now, nil
}

// try runs a function that only reads. It runs it again if the connection is lost.
func (e *Engine) try(ctx context.Context, fn func() error) error {
	for n := 0; ; n++ {
		epoch := e.epoch.Load()
		err := fn()
		if err != nil && ctx.Err() == nil && !errors.Is(err, errRow) && classify(err) == lost {
			e.lost(epoch)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errRow):
			return err
		case n == 3 || classify(err) == fails:
			return toEngine(err)
		}
		pause(ctx, 10*time.Millisecond<<n)
	}
}

// Horizon returns the highest durable LSN of a scope: see engine.DurabilityReporter. It returns 0 if the
// database does not respond.
func (e *Engine) Horizon(scope []byte) uint64 {
	if e.calls.Begin() != nil {
		return 0
	}
	defer e.calls.End()
	found, _, err := e.read(context.Background(), engine.CeilingKey(scope))
	if err != nil {
		return 0
	}
	at, err := position(found[0], nil)
	if err != nil {
		return 0
	}
	return at.LSN
}

// Settle waits until everything that was read of a scope is durable. It returns at once, because
// PostgreSQL shows only durable commits.
func (e *Engine) Settle(ctx context.Context, _ []byte, _ uint64) error {
	if err := e.calls.Begin(); err != nil {
		return err
	}
	defer e.calls.End()
	return ctx.Err()
}

// Metrics returns the counters since Open. DiskBytes is 0 if the database does not respond. The sizes of
// caches and of the write-ahead log are not reported.
func (e *Engine) Metrics() engine.Metrics {
	if e.calls.Begin() != nil {
		return engine.Metrics{}
	}
	defer e.calls.End()
	m := engine.Metrics{Commits: e.commits.Load(), Barriers: e.groups.Load()}
	own, cancel := context.WithTimeout(context.Background(), connectLimit)
	defer cancel()
	var size int64
	if err := e.readers.QueryRow(own, `SELECT pg_total_relation_size('mayfly_kv')`).Scan(&size); err == nil {
		m.DiskBytes = uint64(size)
	}
	return m
}
