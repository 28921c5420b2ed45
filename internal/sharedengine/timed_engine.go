package sharedengine

import (
	"context"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// EngineWithGetter is an engine that has the single-key read (engine.Getter), as engines with data on another
// machine do.
type EngineWithGetter interface {
	engine.Engine
	engine.Getter
}

// ClockReportingEngine is an engine that behaves like a shared database whose clock is set by a test. It
// implements engine.DatabaseTimeReporter: it returns the time of that clock with the result of each call. The
// Readers and Txns that it passes to callers keep the optional interfaces of the wrapped engine's.
type ClockReportingEngine struct {
	EngineWithGetter
	clock ttl.Clock

	mu   sync.Mutex
	told time.Time // guarded by mu
}

// WithClock returns an engine that uses e, and reports the time of clock as that of its database.
func WithClock(e EngineWithGetter, clock ttl.Clock) *ClockReportingEngine {
	return &ClockReportingEngine{EngineWithGetter: e, clock: clock}
}

// Told implements engine.DatabaseTimeReporter: it returns the latest time of the clock that the result of a
// call has contained, or the zero time before the first call.
func (e *ClockReportingEngine) Told() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.told
}

// tell reads the clock and returns its time in microseconds since 1970, which a call of the engine returns
// with its result. It also stores the time, so that Told can return it.
func (e *ClockReportingEngine) tell() int64 {
	now := e.clock.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.After(e.told) {
		e.told = now
	}
	return now.UnixMicro()
}

// View runs fn over one snapshot, as engine.Engine does. The positions that the Reader returns contain the
// time of the clock at the beginning of the call.
func (e *ClockReportingEngine) View(ctx context.Context, fn func(engine.Reader) error) error {
	now := e.tell()
	return e.EngineWithGetter.View(ctx,
		func(r engine.Reader) error { return fn(clockReportingReader{r, now}) })
}

// Update runs fn as one transaction in scopes, as engine.Engine does. The positions that it returns
// contain the time of the clock when fn began.
func (e *ClockReportingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	var now int64
	at, err := e.EngineWithGetter.Update(ctx, scopes, func(t engine.Txn) error {
		now = e.tell()
		return fn(clockReportingTxn{t, now})
	}, ahead...)
	for i := range at {
		at[i].Now = now
	}
	return at, err
}

// Get returns the newest committed value of a key, as engine.Getter does. The position that it returns
// contains the time of the clock before the read.
func (e *ClockReportingEngine) Get(ctx context.Context, scope, key []byte) ([]byte, engine.LSNScopeStatus,
	error) {
	now := e.tell()
	v, at, err := e.EngineWithGetter.Get(ctx, scope, key)
	at.Now = now
	return v, at, err
}

type clockReportingReader struct {
	engine.Reader
	now int64
}

func (r clockReportingReader) Positions(scopes [][]byte) ([]engine.LSNScopeStatus, error) {
	return timed(r.Reader, scopes, r.now)
}

// Prefetch passes the keys on to the wrapped Reader if that implements engine.Prefetcher.
func (r clockReportingReader) Prefetch(keys [][]byte) { prefetch(r.Reader, keys) }

type clockReportingTxn struct {
	engine.Txn
	now int64
}

func (t clockReportingTxn) Positions(scopes [][]byte) ([]engine.LSNScopeStatus, error) {
	return timed(t.Txn, scopes, t.now)
}

// Prefetch passes the keys on to the wrapped Txn if that implements engine.Prefetcher.
func (t clockReportingTxn) Prefetch(keys [][]byte) { prefetch(t.Txn, keys) }

// SetFresh sets a key that is probably not stored yet: by the wrapped Txn's SetFresh if it has one
// (engine.LikelyAbsentKeySetter), otherwise by Set.
func (t clockReportingTxn) SetFresh(key, value []byte) {
	if f, ok := t.Txn.(engine.LikelyAbsentKeySetter); ok {
		f.SetFresh(key, value)
		return
	}
	t.Set(key, value)
}

func timed(r engine.Reader, scopes [][]byte, now int64) ([]engine.LSNScopeStatus, error) {
	at, err := r.Positions(scopes)
	for i := range at {
		at[i].Now = now
	}
	return at, err
}

func prefetch(r engine.Reader, keys [][]byte) {
	if p, ok := r.(engine.Prefetcher); ok {
		p.Prefetch(keys)
	}
}
