package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mayflydb/mayfly/internal/prefix"
)

// Engine is an ordered key-value store with transactions that are serial inside a scope.
//
// A scope is a byte prefix under which one sequence of LSNs is issued. Every key that an Update reads or
// writes belongs to one of the scopes that it names; what a scope owns is the caller's convention, the
// engine only serialises.
type Engine interface {
	// View runs fn over one snapshot, taken at fn's first read. Slices that the Reader returns live until fn
	// returns. The snapshot may hold writes that are visible but not durable yet: see Horizon.
	View(ctx context.Context, fn func(Reader) error) error

	// Update runs fn alone in each of its scopes (locked in byte order), commits all that it wrote in one
	// atomic step and returns when that is durable (see Txn.Relax for the exception). An error of fn discards
	// the transaction and is returned as it is. fn may run more than once and must not keep state between
	// runs other than what it assigns; it must not call the engine (View of a snapshot excepted).
	//
	// ahead are keys that fn is likely to read. It is a hint: an engine far away reads them in the step that
	// locks the scopes, another one may forget about them.
	//
	// It returns the positions of the scopes, in the order in which they were given, after the commit or
	// after fn's error, which may tell of what fn has read; nil where fn has not run.
	//
	// An Update whose fn writes nothing is a barrier: when it returns, everything committed in its scopes
	// before it is durable. ctx is honoured until fn starts; a commit is never abandoned half-way.
	Update(ctx context.Context, scopes [][]byte, fn func(Txn) error, ahead ...[]byte) ([]Position, error)

	Durability

	// Metrics is a snapshot of the engine's counters.
	Metrics() Metrics

	// Close waits for running transactions, makes everything durable and releases the resources.
	Close() error
}

// Durability reports what a crash cannot take back.
type Durability interface {
	// Horizon tells the highest LSN of the scope that is durable with no hole below it. A scope that has
	// issued nothing since Open answers with the last LSN that it can have issued before.
	Horizon(scope []byte) uint64

	// Settle returns when all that a View or Get has shown of the scope before is durable. It waits for the
	// disk at most, never for a transaction that runs. seen is the highest LSN that was shown, 0 for none:
	// the horizon is not behind it afterwards.
	Settle(ctx context.Context, scope []byte, seen uint64) error
}

// Getter is the optional fast path of an engine: one key read outside any snapshot.
type Getter interface {
	// Get returns a copy of the newest committed value (durable or not), or ErrNotFound, with the position of
	// the key's scope at the read or after it.
	Get(ctx context.Context, scope, key []byte) ([]byte, Position, error)
}

// Position reports how far a scope has come.
type Position struct {
	// LSN is the horizon: see Durability.
	LSN uint64
	// Settled reports whether all is durable that was shown of the scope. Where it is false, Settle waits for
	// that.
	Settled bool
	// Mark is the scope's: see Control.SetMark. It is read behind what it is told with, so that a mark which
	// has not changed reports that nothing was read of a transaction that has changed it.
	Mark uint64
}

// Reader reads one consistent state.
type Reader interface {
	// Get returns the value of key, or ErrNotFound. The slice lives until the enclosing fn returns and must
	// not be changed.
	Get(key []byte) ([]byte, error)
	// GetMany returns the values of keys in the order of the keys, which may repeat; nil stands for a key
	// that is absent, and no other value is nil. To read together what is known ahead costs an engine far
	// away one round trip. Where the values have come to ManyBytes it answers for the keys so far alone, but
	// for one key at least: see GetEach. It fails with the context's error where the one of the View or
	// Update has ended meanwhile. The slices live as those of Get.
	GetMany(keys [][]byte) ([][]byte, error)
	// Scan iterates over [r.Start, r.End) in byte order, or backwards. The iterator must be closed.
	Scan(r Range, reverse bool) Iterator
	// Positions reports how far scopes have come, for all that is read here: who finds a scope settled need
	// not settle it, and its LSN is no lower than any that is shown. It makes the snapshot of a View if
	// nothing has been read yet. An engine far away has to read positions, so that it is best asked first and
	// for all scopes at once.
	Positions(scopes [][]byte) ([]Position, error)
}

// ManyBytes is how many bytes of values a GetMany is content with.
const ManyBytes = 4 << 20

// GetEach calls fn with each key's place in keys and its value, nil for an absent one, until fn returns an
// error or no more.
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

// Txn reads its own writes.
type Txn interface {
	Reader
	// Set and Delete take effect at commit. The slices are copied.
	Set(key, value []byte)
	Delete(key []byte)
	// DeleteRange removes every key of [r.Start, r.End).
	DeleteRange(r Range)
	Control
}

// Control is the part of a transaction that is not about keys.
type Control interface {
	// NextLSN issues the next LSN of a scope that this Update named. A transaction takes one for all that it
	// writes in the scope, and another only where it cannot number its writes below one. LSNs of a scope grow
	// by one within a process and are never issued twice, across crashes too; LSNs taken by a transaction
	// that fails are handed out again, since nobody has seen them. All that a transaction has taken are
	// reached together: a position lies before the first of them or not before the last.
	NextLSN(scope []byte) uint64
	// RaiseLSN makes a scope issue no LSN below first. It is for a scope with a history that was made
	// elsewhere (the child of a split, what a snapshot brings back) and that has not been used since Open,
	// other than by a RaiseLSN; this Update need not name it. A scope that has come further stays where it
	// is.
	RaiseLSN(scope []byte, first uint64)
	// SetMark keeps a number with a scope, which is told with each of its positions; 0 takes it away, and is
	// that of a scope without one. A caller counts by it the changes of what it keeps in memory about a
	// scope: who finds another mark than the one that it knows has to read anew, since somebody else has
	// changed it. The Update need not name the scope where nobody has used it yet.
	SetMark(scope []byte, mark uint64)
	// Mark is the mark of a scope that this Update named, as it is after what the transaction has set.
	Mark(scope []byte) uint64
	// Enlarge lets the transaction write up to MaxLargeTxnBytes, for data that have large values by their
	// nature. The engine holds all that a transaction writes in memory, once or twice, until it is stored.
	Enlarge()
	// Relax lets Update return before the commit is durable. The commit stays atomic and ordered: whatever
	// is durable later implies it.
	Relax()
}

// Iterator walks the keys of a Scan. Use: for it.Next() { it.Key() … }; then Close, whose error tells
// whether the walk was whole.
type Iterator interface {
	Next() bool
	// SeekGE moves to the first key >= key in the iterator's range (forward iterators only) and reports
	// whether there is one; Next then continues behind it.
	SeekGE(key []byte) bool
	// Key and Value live until the next call of Next, SeekGE or Close of this iterator.
	Key() []byte
	Value() []byte
	// Close releases the iterator and returns the first error that it met.
	Close() error
}

// Ahead is the optional ability of the Readers and Iterators of an engine that is far away: to bring in one
// round trip what is going to be read. Who has it at hand need not offer it, and spares the caller the
// trouble.
type Ahead interface {
	// Bring reads keys: to Get them, or to seek one of them that is there, costs nothing then.
	Bring(keys [][]byte)
}

// Expecter is the optional ability of an Iterator of such an engine.
type Expecter interface {
	// Expect says how many keys from here on are likely to be looked at: so many come at a time, and a SeekGE
	// among those that have come costs nothing.
	Expect(keys int)
}

// Expect tells an iterator how many keys are likely to be looked at, if that is of use to it.
func Expect(it Iterator, keys int) Iterator {
	if e, ok := it.(Expecter); ok {
		e.Expect(keys)
	}
	return it
}

// Range is the half-open key interval [Start, End); a nil End means no upper bound.
type Range struct{ Start, End []byte }

// Metrics is a snapshot of an engine's counters since Open.
type Metrics struct {
	Commits      uint64 // transactions committed
	Barriers     uint64 // waits for durability shared by those commits
	DiskBytes    uint64 // bytes on disk, all files
	CacheBytes   int64  // bytes in the block cache
	CacheHits    int64
	CacheMisses  int64
	WALBytes     uint64 // bytes in the write-ahead log
	Compactions  int64
	MemtableSize uint64
}

// CeilingKey is where an engine keeps the durable ceiling of the LSNs issued in a scope: the scope's bytes
// and 's'. The value is the first LSN that must not be issued yet, 8 bytes, big-endian. The engine alone
// writes it.
func CeilingKey(scope []byte) []byte {
	k := make([]byte, 0, len(scope)+1)
	return append(append(k, scope...), 's')
}

// MarkKey is where an engine keeps the mark of a scope: the scope's bytes and 'M'. The value is the mark, 8
// bytes, big-endian. The engine alone writes it.
func MarkKey(scope []byte) []byte {
	k := make([]byte, 0, len(scope)+1)
	return append(append(k, scope...), 'M')
}

// Mark is the mark of a scope in the state that a reader shows; 0 where it has none. ErrCorrupt: what is
// stored is no mark.
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

// ParseMark reads the value of a MarkKey: ErrCorrupt where it is none.
func ParseMark(value []byte) (uint64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: the mark of a scope has %d bytes", ErrCorrupt, len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}

// Ceiling is the first LSN that a scope must not have issued yet; 0 where it has none. ErrCorrupt: what is
// stored is no LSN.
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

// MaxLSN is the highest that an LSN can be: 40 bits, which last for 35 years of 1,000 transactions a second,
// so that a store can make a number of 48 of it that names one of 256 writes of a transaction.
const MaxLSN = 1<<40 - 1

// ParseCeiling reads the value of a CeilingKey: ErrCorrupt where it is none.
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

// Prefix is the range of all keys that start with p. Its End is nil where no key lies above them.
func Prefix(p []byte) Range { return Range{Start: p, End: prefix.End(p)} }
