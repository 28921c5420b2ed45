package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mayflydb/mayfly/internal/prefix"
)

// Engine is an ordered key-value store with transactions that are serial within a scope.
//
// A scope is a byte prefix with its own sequence of LSNs. Every key that an Update reads or writes belongs to
// one of the scopes that the Update names. The callers decide by convention which keys belong to a scope; the
// engine only serialises.
type Engine interface {
	// View runs fn over one snapshot, taken at fn's first read. Slices that the Reader returns are valid
	// until fn returns. The snapshot may hold writes that are visible but not durable yet: see Horizon.
	View(ctx context.Context, fn func(Reader) error) error

	// Update runs fn alone in each of its scopes (locked in byte order), commits all its writes in one atomic
	// step and returns when they are durable (see TxnLSNAndCommitControl.Relax for the exception). If fn
	// returns an error, the transaction is discarded and the error is returned unchanged. fn may run more
	// than once; it must assign, not accumulate, any state outside of it. fn must not call the engine (View
	// is allowed).
	//
	// ahead lists keys that fn is likely to read. It is a hint: a remote engine reads them in the round trip
	// that locks the scopes; other engines may ignore it.
	//
	// Update returns the positions of the scopes, in the order in which they were given, as of the commit or
	// of fn's error (the error may depend on what fn has read). They are nil if fn has not run.
	//
	// An Update whose fn writes nothing is a barrier: when it returns, everything committed in its scopes
	// before it is durable. ctx is honoured until fn starts; a commit is never abandoned half-way.
	Update(ctx context.Context, scopes [][]byte, fn func(Txn) error, ahead ...[]byte) ([]LSNScopeStatus,
		error)

	DurabilityReporter

	// Metrics returns the engine's counters as of now.
	Metrics() Metrics

	// Close waits for running transactions, makes everything durable and releases the resources.
	Close() error
}

// DurabilityReporter is the part of an Engine that reports which commits survive a crash, and makes them do
// so.
type DurabilityReporter interface {
	// Horizon returns the highest LSN of the scope up to which all commits are durable. For a scope that has
	// issued no LSN since Open it returns the last LSN that the scope can have issued before.
	Horizon(scope []byte) uint64

	// Settle returns when everything that a View or Get has shown of the scope so far is durable. It waits
	// for the disk at most, never for a running transaction. seen is the highest LSN that was shown, 0 for
	// none; after Settle the horizon is at least seen.
	Settle(ctx context.Context, scope []byte, seen uint64) error
}

// Getter is the optional fast path of an engine: one key read outside any snapshot.
type Getter interface {
	// Get returns a copy of the newest committed value (durable or not), or ErrNotFound, with the position of
	// the key's scope at the read or after it.
	Get(ctx context.Context, scope, key []byte) ([]byte, LSNScopeStatus, error)
}

// LSNScopeStatus describes the state of a scope (a key prefix with its own sequence of LSNs): its highest
// durable LSN, whether all data that were read are durable, its mark (a number that changes when caches of
// data of the scope become invalid), and the time of the database, if that has a clock.
type LSNScopeStatus struct {
	// LSN is the highest LSN of the scope up to which all commits are durable: see
	// DurabilityReporter.Horizon.
	LSN uint64
	// Settled reports whether everything that has been read of the scope is durable. If it is false,
	// DurabilityReporter.Settle waits until it is.
	Settled bool
	// Mark is the scope's mark, a number that changes when cached data of the scope become invalid: see
	// TxnLSNAndCommitControl.SetMark. It is read after the data that are returned with it. So if it is the
	// mark that the caller knows, those data contain no writes of a transaction that has changed the mark.
	Mark uint64
	// Now is a time by the database's clock, in microseconds since 1970, if the engine is a
	// DatabaseTimeReporter; otherwise 0. It is not before the beginning of the call, and not after the moment
	// whose state was read.
	Now int64
}

// Reader reads the snapshot of a View, or the state that the transaction of an Update sees.
type Reader interface {
	// Get returns the value of key, or ErrNotFound. The slice is valid until the enclosing fn returns and
	// must not be changed.
	Get(key []byte) ([]byte, error)
	// GetMany returns the values of keys in the order of the keys, which may repeat. The value of an absent
	// key is nil; no other value is nil. A remote engine reads all keys in one round trip. If the values
	// reach ManyBytes, GetMany returns only the values of the first keys, but at least one value: see
	// GetEach. It fails with the context's error if the context of the View or Update has ended. The slices
	// are valid as long as those of Get.
	GetMany(keys [][]byte) ([][]byte, error)
	// Scan iterates over [r.Start, r.End) in byte order, or backwards. The iterator must be closed.
	Scan(r Range, reverse bool) Iterator
	// Positions returns the position of each scope, valid for everything that this Reader shows: a scope
	// whose position is Settled needs no Settle, and no LSN that is shown is above the position's LSN. If
	// nothing has been read yet, Positions takes the snapshot of a View. A remote engine has to read
	// positions, so call it first and for all scopes at once.
	Positions(scopes [][]byte) ([]LSNScopeStatus, error)
}

// ManyBytes is the number of bytes of values at which GetMany stops.
const ManyBytes = 4 << 20

// GetEach calls fn for each key with its index in keys and its value (nil for an absent key). It stops if fn
// returns an error or more is false.
func GetEach(r Reader, keys [][]byte, fn func(i int, value []byte) (more bool, err error)) error {
	for done := 0; done < len(keys); {
		values, err := r.GetMany(keys[done:])
		if err != nil {
			return err
		}
		for _, v := range values {
			if more, err := fn(done, v); err != nil || !more {
				return err
			}
			done++
		}
	}
	return nil
}

// Txn is the transaction of an Update. Its Reader also shows the transaction's own writes.
type Txn interface {
	Reader
	// Set and Delete take effect at commit. The slices are copied.
	Set(key, value []byte)
	Delete(key []byte)
	// DeleteRange removes every key of [r.Start, r.End).
	DeleteRange(r Range)
	TxnLSNAndCommitControl
}

// LikelyAbsentKeySetter is an optional interface of the Txns of a remote engine, for writes of keys that
// probably do not exist yet. Such writes make the commit cheaper.
type LikelyAbsentKeySetter interface {
	// SetFresh sets a key, like Set, that the caller expects not to be stored yet. If that is right, the
	// commit is cheaper. If the key is stored after all, the result is the same, but the transaction runs
	// once more.
	SetFresh(key, value []byte)
}

// TxnLSNAndCommitControl is the part of a transaction that does not read or write keys: it issues LSNs, sets
// the marks of scopes, and changes the size limit and the durability of the commit.
type TxnLSNAndCommitControl interface {
	// NextLSN issues the next LSN of a scope that this Update named. A transaction takes one LSN for
	// everything that it writes in the scope, and another only if it has more writes than it can number
	// below one. The LSNs of a scope grow by one within a process and are never issued twice, even across
	// crashes. LSNs of a transaction that fails are issued again, since nobody has received them. All LSNs
	// of a transaction become visible together: no position lies between the first and the last of them.
	NextLSN(scope []byte) uint64
	// RaiseLSN makes a scope issue no LSN below first. It is for a scope that continues the history of
	// another one: the child of a split, or a scope that is restored from a snapshot. The scope must not have
	// been used since Open, other than by RaiseLSN. The Update that calls RaiseLSN need not list the scope.
	// RaiseLSN has no effect if the scope's next LSN is first or higher.
	RaiseLSN(scope []byte, first uint64)
	// SetMark stores a number with a scope, which is returned in each of the scope's positions. 0 removes the
	// mark; a scope without a mark has mark 0. A caller changes the mark whenever it changes data that
	// callers cache about the scope: a caller that receives a mark other than the one it cached must read
	// again, since another caller has changed the data. The Update need not name the scope if the scope has
	// not been used yet.
	SetMark(scope []byte, mark uint64)
	// Mark returns the mark of a scope that this Update named: a number that callers change with SetMark
	// whenever data cached about the scope become invalid. It includes what this transaction has set.
	Mark(scope []byte) uint64
	// Enlarge lets the transaction write up to MaxLargeTxnBytes, for data with large values. The engine holds
	// one or two copies of the transaction's writes in memory until they are stored.
	Enlarge()
	// Relax lets Update return before the commit is durable. The commit stays atomic and ordered: if a later
	// commit is durable, this one is durable too.
	Relax()
}

// Iterator walks the keys of a Scan. Use: for it.Next() { it.Key() … }; then Close, which returns the error
// that ended the scan early, if any.
type Iterator interface {
	Next() bool
	// SeekGE moves to the first key >= key in the iterator's range (forward iterators only) and reports
	// whether there is one; Next then continues behind it.
	SeekGE(key []byte) bool
	// Key and Value are valid until the next call of Next, SeekGE or Close of this iterator.
	Key() []byte
	Value() []byte
	// Close releases the iterator and returns its first error.
	Close() error
}

// Prefetcher is an optional interface of the Readers and Iterators of a remote engine. It fetches keys in
// one round trip before they are read. An engine with local data need not implement it.
type Prefetcher interface {
	// Prefetch fetches keys: a later Get of one of them, or a seek to one of them that exists, needs no round
	// trip.
	Prefetch(keys [][]byte)
}

// ReadAheadIterator is an optional interface of an Iterator of a remote engine. A caller that knows how many
// keys it will read says so, and the iterator fetches that many in its next round trip.
type ReadAheadIterator interface {
	// Expect sets the number of keys, from the current position on, that will probably be read. The
	// iterator fetches that many in its next round trip. See ScanPageSizer.
	Expect(keys int)
}

// Expect tells an iterator how many keys the caller will probably read, if the iterator implements
// ReadAheadIterator, and returns the iterator. For other iterators it does nothing else.
func Expect(it Iterator, keys int) Iterator {
	if e, ok := it.(ReadAheadIterator); ok {
		e.Expect(keys)
	}
	return it
}

// KeySkipper is an optional interface of an Iterator that moves over many keys faster than by calls of Next.
type KeySkipper interface {
	// Skip moves past up to most keys, like that many calls of Next, and returns their number. The number
	// is less than most only if there are no more keys or an error has occurred. Key and Value are not
	// valid after Skip.
	Skip(most int) int
}

// Skip moves an iterator past up to most keys and returns their number: see KeySkipper.
func Skip(it Iterator, most int) (n int) {
	if s, ok := it.(KeySkipper); ok {
		return s.Skip(most)
	}
	for n < most && it.Next() {
		n++
	}
	return n
}

// Range is the half-open key interval [Start, End); a nil End means no upper bound.
type Range struct{ Start, End []byte }

// Metrics is a snapshot of an engine's counters since Open.
type Metrics struct {
	Commits      uint64 // transactions committed
	Barriers     uint64 // waits for the disk; several commits share one
	DiskBytes    uint64 // bytes on disk, all files
	CacheBytes   int64  // bytes in the block cache
	CacheHits    int64
	CacheMisses  int64
	WALBytes     uint64 // bytes in the write-ahead log
	Compactions  int64
	MemtableSize uint64
}

// CeilingKey returns the key of the durable ceiling of a scope's LSNs: the scope's bytes and 's'. The value
// is the first LSN that must not be issued yet, 8 bytes, big-endian. Only the engine writes it.
func CeilingKey(scope []byte) []byte {
	k := make([]byte, 0, len(scope)+1)
	return append(append(k, scope...), 's')
}

// MarkKey returns the key under which a scope's mark is stored: a number by which callers notice that cached
// data about the scope are outdated (see TxnLSNAndCommitControl.SetMark). The key is the scope's bytes and
// 'M'. The value is the mark, 8 bytes, big-endian. Only the engine writes it.
func MarkKey(scope []byte) []byte {
	k := make([]byte, 0, len(scope)+1)
	return append(append(k, scope...), 'M')
}

// Mark returns the mark of a scope in the state that a reader shows, 0 if it has no mark. The mark is a
// number that changes whenever cached data about the scope become invalid: see
// TxnLSNAndCommitControl.SetMark. Mark returns ErrCorrupt if the stored value does not have 8 bytes.
func Mark(r Reader, scope []byte) (uint64, error) {
	v, err := r.Get(MarkKey(scope))
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return ParseMark(v)
}

// ParseMark decodes the stored value of a MarkKey: a scope's mark, 8 bytes, big-endian. It returns ErrCorrupt
// if the value has another length.
func ParseMark(value []byte) (uint64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: the mark of a scope has %d bytes", ErrCorrupt, len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}

// Ceiling returns the durable ceiling of a scope, 0 if none is stored. All LSNs that the scope has issued
// are below the ceiling. It returns ErrCorrupt if the stored value is not an LSN.
func Ceiling(r Reader, scope []byte) (uint64, error) {
	v, err := r.Get(CeilingKey(scope))
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return ParseCeiling(v)
}

// MaxLSN is the highest LSN: 40 bits, which last for 35 years of 1,000 transactions a second. A store can
// append 8 bits that identify one of 256 writes of a transaction, for a number of 48 bits.
const MaxLSN = 1<<40 - 1

// ParseCeiling decodes the stored value of a CeilingKey. It returns ErrCorrupt if the value is not an LSN.
func ParseCeiling(value []byte) (uint64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: the ceiling of a scope's LSNs has %d bytes", ErrCorrupt, len(value))
	}
	c := binary.BigEndian.Uint64(value)
	if c == 0 || c > MaxLSN+1 {
		return 0, fmt.Errorf("%w: the ceiling of a scope's LSNs is %d", ErrCorrupt, c)
	}
	return c, nil
}

// Prefix returns the range of all keys that start with p. Its End is nil if no key sorts above them.
func Prefix(p []byte) Range { return Range{Start: p, End: prefix.End(p)} }
