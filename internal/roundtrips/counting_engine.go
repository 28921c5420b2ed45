package roundtrips

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mayflydb/mayfly/engine"
)

// EngineCallKind is a kind of call of an engine that takes a round trip if the data are on another machine.
type EngineCallKind int

// The kinds of calls that take a round trip.
const (
	Get EngineCallKind = iota
	Scan
	Seek
	Begin
	Commit
	Position
	Horizon
	Settle
	kinds
)

var names = [kinds]string{"get", "scan", "seek", "begin", "commit", "position", "horizon", "settle"}

// RoundTripCounts are numbers of round trips by kind.
type RoundTripCounts [kinds]int

// Total returns the number of all round trips.
func (c RoundTripCounts) Total() (n int) {
	for _, k := range c {
		n += k
	}
	return n
}

// String lists the counts that are not zero: "2 get, 1 commit".
func (c RoundTripCounts) String() string {
	var parts []string
	for kind, n := range c {
		if n > 0 {
			parts = append(parts, fmt.Sprint(n, " ", names[kind]))
		}
	}
	return strings.Join(parts, ", ")
}

// CountingEngine passes calls on to another engine, and counts those that would take a round trip if the data
// were in a database on another machine. Its methods are safe for concurrent use.
type CountingEngine struct {
	engine.Engine
	mu     sync.Mutex
	counts RoundTripCounts
}

var (
	_ engine.Engine       = (*CountingEngine)(nil)
	_ engine.Getter       = (*CountingEngine)(nil)
	_ engine.SharedEngine = (*CountingEngine)(nil)
)

// Shared reports whether other processes may have the data open at the same time.
func (e *CountingEngine) Shared() bool { return true }

// Advice returns how many expired items a transaction should delete: see engine.TxnSizeAdvice. A trip costs
// more than the deletion of some items.
func (e *CountingEngine) Advice() engine.TxnSizeAdvice { return engine.TxnSizeAdvice{PurgeBatch: 256} }

// Over returns an Engine that counts the calls of e. Its Close closes e.
func Over(e engine.Engine) *CountingEngine { return &CountingEngine{Engine: e} }

// Take returns the numbers of round trips, by kind, since its last call.
func (e *CountingEngine) Take() RoundTripCounts {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.counts
	e.counts = RoundTripCounts{}
	return c
}

func (e *CountingEngine) count(k EngineCallKind) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts[k]++
}

// Get reads one key outside of a transaction: see engine.Getter. It works over an engine that is not a
// Getter as well.
func (e *CountingEngine) Get(ctx context.Context,
	scope, key []byte) (value []byte, at engine.LSNScopeStatus, err error) {
	e.count(Get)
	if g, ok := e.Engine.(engine.Getter); ok {
		return g.Get(ctx, scope, key)
	}
	err = e.Engine.View(ctx, func(r engine.Reader) error {
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

// View runs fn over one snapshot of the other engine, and counts the round trips of its reads.
func (e *CountingEngine) View(ctx context.Context, fn func(engine.Reader) error) error {
	return e.Engine.View(ctx, func(r engine.Reader) error { return fn(newReader(e, r)) })
}

// Update runs fn as one transaction of the other engine in scopes, and counts the round trips of its
// beginning, its reads and its commit.
func (e *CountingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	at, err := e.Engine.Update(ctx, scopes, func(t engine.Txn) error {
		e.count(Begin)
		if err := e.countNew(t, scopes); err != nil {
			return err
		}
		r := newReader(e, t)
		for _, key := range ahead {
			r.known[string(key)] = true
		}
		for _, scope := range scopes {
			r.placed[string(scope)] = true
		}
		return fn(&countingTxn{countingReader: r, TxnLSNAndCommitControl: t, to: t})
	}, ahead...)
	if err == nil {
		e.count(Commit)
	}
	return at, err
}

// countNew counts one trip if scopes have not been used before, since a remote engine must first create
// them.
func (e *CountingEngine) countNew(t engine.Txn, scopes [][]byte) error {
	for _, scope := range scopes {
		ceiling, err := engine.Ceiling(t, scope)
		if err != nil {
			return err
		}
		if ceiling == 0 {
			e.count(Begin)
			break
		}
	}
	return nil
}

// Horizon returns the highest durable LSN of a scope: see engine.DurabilityReporter.
func (e *CountingEngine) Horizon(scope []byte) uint64 {
	e.count(Horizon)
	return e.Engine.Horizon(scope)
}

// Settle waits until all commits of a scope (the keys with one prefix) up to the LSN seen are durable: see
// engine.DurabilityReporter. It counts as one round trip.
func (e *CountingEngine) Settle(ctx context.Context, scope []byte, seen uint64) error {
	e.count(Settle)
	return e.Engine.Settle(ctx, scope, seen)
}

// countingReader is the Reader of a View or Update. It records which keys have been read.
type countingReader struct {
	e      *CountingEngine
	r      engine.Reader
	known  map[string]bool // keys
	placed map[string]bool // scopes whose positions it has
}

func newReader(e *CountingEngine, r engine.Reader) *countingReader {
	return &countingReader{e: e, r: r, known: map[string]bool{}, placed: map[string]bool{}}
}

// Get returns the value of a key, or engine.ErrNotFound.
func (r *countingReader) Get(key []byte) ([]byte, error) {
	if !r.known[string(key)] {
		r.e.count(Get)
	}
	v, err := r.r.Get(key)
	if err == nil || errors.Is(err, engine.ErrNotFound) {
		r.known[string(key)] = true
	}
	return v, err
}

// GetMany returns the values of keys, nil for an absent key: see engine.Reader.
func (r *countingReader) GetMany(keys [][]byte) ([][]byte, error) {
	if slices.ContainsFunc(keys, func(k []byte) bool { return !r.known[string(k)] }) {
		r.e.count(Get)
	}
	values, err := r.r.GetMany(keys)
	for _, k := range keys[:len(values)] {
		r.known[string(k)] = true
	}
	return values, err
}

// Prefetch reads keys in one round trip, ahead of their use: see engine.Prefetcher.
func (r *countingReader) Prefetch(keys [][]byte) {
	if slices.ContainsFunc(keys, func(k []byte) bool { return !r.known[string(k)] }) {
		r.e.count(Get)
	}
	for _, k := range keys {
		r.known[string(k)] = true
	}
}

// Positions returns the position of each scope: see engine.Reader.
func (r *countingReader) Positions(scopes [][]byte) ([]engine.LSNScopeStatus, error) {
	if slices.ContainsFunc(scopes, func(s []byte) bool { return !r.placed[string(s)] }) {
		r.e.count(Position)
	}
	at, err := r.r.Positions(scopes)
	for _, s := range scopes {
		r.placed[string(s)] = err == nil || r.placed[string(s)]
	}
	return at, err
}

// Scan returns an iterator over the keys in a range: see engine.Reader.
func (r *countingReader) Scan(rg engine.Range, reverse bool) engine.Iterator {
	return &countingIterator{e: r.e, r: r, it: r.r.Scan(rg, reverse)}
}

// txnWriteMethods has the methods of engine.Txn that set and delete keys, which the counting transaction
// overrides.
type txnWriteMethods interface {
	Set(key, value []byte)
	Delete(key []byte)
	DeleteRange(r engine.Range)
}

// countingTxn is the transaction of an Update. It also records which keys it has written.
type countingTxn struct {
	*countingReader
	engine.TxnLSNAndCommitControl
	to txnWriteMethods
}

// Set sets a key when the transaction commits.
func (t *countingTxn) Set(key, value []byte) {
	t.known[string(key)] = true
	t.to.Set(key, value)
}

// Delete deletes a key when the transaction commits.
func (t *countingTxn) Delete(key []byte) {
	t.known[string(key)] = true
	t.to.Delete(key)
}

// DeleteRange deletes the keys in a range when the transaction commits.
func (t *countingTxn) DeleteRange(r engine.Range) { t.to.DeleteRange(r) }
