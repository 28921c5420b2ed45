package pebble

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine"
)

// Engine implements engine.Engine and engine.Getter over one Pebble store. Its methods are safe for
// concurrent use.
type Engine struct {
	db         *pebble.DB
	dir        string       // folder of the data files
	lock       *pebble.Lock // of dir; nil if Pebble locks the folder itself
	folder     *dataFolder  // nil for a copy of a snapshot, and for an engine that Restore has replaced
	afterClose func() error // run at the end of Close
	fence      *memoryAfterWriteErrorFS
	space      *diskSpaceMonitor
	log        *slog.Logger
	first      uint64 // the first LSN of a scope without a stored ceiling
	block      uint64 // number of LSNs by which a ceiling is raised
	strict     bool
	memory     bool
	noLog      bool // no log is written, since nothing outlives the engine

	compactions *compactionScheduler
	rows        *rowCache

	watcher  atomic.Pointer[func(engine.Range, bool)] // see Watch
	scopes   lsnScopeStates
	commits  atomic.Uint64
	barriers atomic.Uint64

	// shut makes new calls fail. Close and Restore set it, and then wait until activeCalls, the number of
	// running calls, is 0. An RWMutex cannot be used here: a View inside an Update would wait for a Close
	// that waits for the Update.
	shut        atomic.Bool
	closed      atomic.Bool // Close has been called
	activeCalls atomic.Int64
	drained     chan struct{}
}

var (
	_ engine.Engine = (*Engine)(nil)
	_ engine.Getter = (*Engine)(nil)

	_ engine.RowCacheEngine = (*Engine)(nil)
	_ engine.RowCacher      = (*snapshotReader)(nil)
)

func (e *Engine) enter() error {
	e.activeCalls.Add(1)
	if e.shut.Load() {
		e.leave()
		return engine.ErrClosed
	}
	return nil
}

func (e *Engine) leave() {
	if e.activeCalls.Add(-1) == 0 && e.shut.Load() {
		select {
		case e.drained <- struct{}{}:
		default:
		}
	}
}

// View runs fn over one snapshot: see engine.Engine. The snapshot is taken at fn's first read.
func (e *Engine) View(ctx context.Context, fn func(engine.Reader) error) (err error) {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	e.compactions.beforeRead()
	s := snapshots.Get().(*snapshotReader)
	s.ctx, s.e, s.db = ctx, e, e.db
	defer func() {
		if leak := s.finish(e); err == nil {
			err = leak
		}
		s.close()
		s.recycle()
		snapshots.Put(s)
	}()
	return fn(s)
}

// Get returns the newest committed value of a key, outside any snapshot: see engine.Getter.
func (e *Engine) Get(ctx context.Context, scope, key []byte) ([]byte, engine.LSNScopeStatus, error) {
	if err := e.enter(); err != nil {
		return nil, engine.LSNScopeStatus{}, err
	}
	defer e.leave()
	if err := ctx.Err(); err != nil {
		return nil, engine.LSNScopeStatus{}, err
	}
	e.compactions.beforeRead()
	v, err := e.getCached(key)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return nil, engine.LSNScopeStatus{}, err
	}
	at, failed := e.position(e.scopes.get(scope))
	if failed != nil {
		err = failed
	}
	return v, at, err
}

// getCached reads the committed value of one key, if possible from the row cache.
func (e *Engine) getCached(key []byte) ([]byte, error) {
	hash, ok := e.rows.hash(key)
	if !ok {
		return e.get(key)
	}
	epoch := e.rows.epoch.Load() // before Pebble's get takes its snapshot
	if v, ok := e.rows.get(hash, key, epoch); ok {
		return bytes.Clone(v), nil
	}
	v, err := e.get(key)
	if err == nil {
		e.rows.put(hash, key, v, epoch)
	}
	return v, err
}

// get reads the committed value of one key.
func (e *Engine) get(key []byte) ([]byte, error) {
	v, closer, err := e.db.Get(key)
	if err != nil {
		return nil, readError(err)
	}
	v = bytes.Clone(v)
	return v, readError(closer.Close())
}

// position returns the position of a scope, a key prefix with its own sequence of LSNs: whether everything
// read before the call is durable (Settled), the highest durable LSN, and the mark, a number by which
// callers notice that their caches are outdated. It reads Settled before the LSN, because a sync raises
// the LSN first.
func (e *Engine) position(s *lsnScopeState) (engine.LSNScopeStatus, error) {
	settled := !s.mayShowUnsynced()
	h, err := e.horizon(s)
	if err != nil {
		return engine.LSNScopeStatus{}, err
	}
	at := engine.LSNScopeStatus{LSN: h, Settled: settled}
	if n := s.marked.Load(); n != 0 { // the usual case, which allocates nothing
		at.Mark = n - 1
		return at, nil
	}
	at.Mark, err = s.readMark(e.get)
	return at, err
}

func (e *Engine) positions(scopes [][]byte) (list []engine.LSNScopeStatus, err error) {
	list = make([]engine.LSNScopeStatus, len(scopes))
	for i, key := range scopes {
		if list[i], err = e.position(e.scopes.get(key)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// horizon returns the highest durable LSN of a scope, a key prefix with its own sequence of LSNs.
func (e *Engine) horizon(s *lsnScopeState) (uint64, error) {
	if s.known.Load() {
		return s.horizon.Load(), nil
	}
	ceiling, err := readCeiling(e.get, s.key, e.first)
	// The scope's first transaction may have raised the ceiling since. It sets the horizon before it raises
	// the ceiling.
	if s.known.Load() {
		return s.horizon.Load(), nil
	}
	if err != nil {
		return 0, err
	}
	raise(&s.horizon, ceiling-1)
	s.known.Store(true)
	return s.horizon.Load(), nil
}

// Horizon returns the highest durable LSN of a scope, a key prefix with its own sequence of LSNs. It returns
// 0 if the engine is closed or the scope's stored LSN cannot be read. It implements
// engine.DurabilityReporter.
func (e *Engine) Horizon(key []byte) uint64 {
	s := e.scopes.get(key)
	if s.known.Load() {
		return s.horizon.Load()
	}
	if e.enter() != nil {
		return 0
	}
	defer e.leave()
	h, err := e.horizon(s)
	if err != nil {
		return 0
	}
	return h
}

// Settle waits until everything that was read in a scope, the keys with a prefix, is durable: see
// engine.DurabilityReporter. A write is in the log before it becomes visible, so one sync of the log makes
// everything durable that has been visible so far. A commit that is still being applied is not visible. In
// a scope that has not been used since Open, all data are durable.
func (e *Engine) Settle(ctx context.Context, key []byte, seen uint64) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	s := e.scopes.find(key)
	if s == nil {
		return nil
	}
	if s.mayShowUnsynced() {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := s.reached()
		if err := e.sync(); err != nil {
			return err
		}
		m.settle()
	}
	if s.known.Load() {
		raise(&s.horizon, seen)
	}
	return nil
}

// Metrics returns the counters since Open. It returns zeros after Close.
func (e *Engine) Metrics() engine.Metrics {
	if e.enter() != nil {
		return engine.Metrics{}
	}
	defer e.leave()
	m := e.db.Metrics()
	return engine.Metrics{
		Commits:      e.commits.Load(),
		Barriers:     e.barriers.Load(),
		DiskBytes:    m.DiskSpaceUsage(),
		CacheBytes:   m.BlockCache.Size,
		CacheHits:    m.BlockCache.Hits,
		CacheMisses:  m.BlockCache.Misses,
		WALBytes:     m.WAL.Size,
		Compactions:  m.Compact.Count,
		MemtableSize: m.MemTable.Size,
	}
}
