package engine

import "context"

// Engine is an ordered key-value store with transactions that are serial inside a scope.
//
// A scope is a byte prefix under which one sequence of LSNs is issued. Every key that an Update reads or
// writes belongs to one of the scopes that it names; what a scope owns is the caller's convention, the
// engine only serialises.
type Engine interface {
	// View runs fn over one snapshot, taken at fn's first read. Slices that the Reader returns live until fn returns.
	// The snapshot may hold writes that are visible but not durable yet: see Horizon.
	View(ctx context.Context, fn func(Reader) error) error

	// Update runs fn alone in each of its scopes (locked in byte order), commits all that it wrote in one
	// atomic step and returns when that is durable (see Txn.Relax for the exception). An error of fn
	// discards the transaction and is returned as it is. fn may run more than once and must not keep state between runs
	// other than what it assigns; it must not call the engine (View of a snapshot excepted).
	//
	// An Update whose fn writes nothing is a barrier: when it returns, everything committed in its scopes
	// before it is durable. ctx is honoured until fn starts; a commit is never abandoned half-way.
	Update(ctx context.Context, scopes [][]byte, fn func(Txn) error) (Stamps, error)

	Durability

	// Metrics is a snapshot of the engine's counters.
	Metrics() Metrics

	// Close waits for running transactions, makes everything durable and releases the resources.
	Close() error
}

// Durability tells what a crash cannot take back.
type Durability interface {
	// Horizon tells the highest LSN of the scope that is durable with no hole below it. A scope that has
	// issued nothing since Open answers with the last LSN that it can have issued before.
	Horizon(scope []byte) uint64

	// Settle returns when all that a View or Get has shown of the scope before is durable. It waits for the disk at most,
	// never for a transaction that runs. seen is the highest LSN that was shown, 0 for none: the horizon is not
	// behind it afterwards.
	Settle(ctx context.Context, scope []byte, seen uint64) error
}

// Getter is the optional fast path of an engine: one key read outside any snapshot.
type Getter interface {
	// Get returns a copy of the newest committed value (durable or not), or ErrNotFound.
	Get(ctx context.Context, key []byte) ([]byte, error)
}

// Reader reads one consistent state.
type Reader interface {
	// Get returns the value of key, or ErrNotFound. The slice lives until the enclosing fn returns and must
	// not be changed.
	Get(key []byte) ([]byte, error)
	// GetMany returns the values of keys in the order of the keys, which may repeat; nil stands for a key that is
	// absent, and no other value is nil. To read together what is known ahead costs an engine far away one round trip.
	// It fails with the context's error where the one of the View or Update has ended meanwhile. The slices live as
	// those of Get.
	GetMany(keys [][]byte) ([][]byte, error)
	// Scan iterates over [r.Start, r.End) in byte order, or backwards. The iterator must be closed.
	Scan(r Range, reverse bool) Iterator
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
	// NextLSN issues the next LSN of a scope that this Update named. LSNs of a scope grow by one within a
	// process and are never issued twice, across crashes too; LSNs taken by a transaction that fails are
	// handed out again, since nobody has seen them.
	NextLSN(scope []byte) uint64
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

// Range is the half-open key interval [Start, End); a nil End means no upper bound.
type Range struct{ Start, End []byte }

// Stamps tells what LSNs a committed Update issued.
type Stamps struct {
	// Last holds, for each scope in the order in which Update was given them, the highest LSN issued by
	// this transaction; zero where none was.
	Last []uint64
}

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

// CeilingKey is where an engine keeps the durable ceiling of the LSNs issued in a scope: the scope's bytes and
// 's'. The value is the first LSN that must not be issued yet, 8 bytes, big-endian. A caller that creates a
// scope with a history (the child of a split) sets it before the scope's first use; otherwise the engine
// alone writes it.
func CeilingKey(scope []byte) []byte {
	k := make([]byte, 0, len(scope)+1)
	return append(append(k, scope...), 's')
}

// PrefixEnd is the smallest key above every key that starts with prefix; nil where there is none.
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xFF {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}

// Prefix is the range of all keys that start with prefix.
func Prefix(prefix []byte) Range { return Range{Start: prefix, End: PrefixEnd(prefix)} }
