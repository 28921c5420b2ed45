package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/mayflydb/mayfly/engine"
)

// errRow is the error for a row of the table whose contents are not valid.
var errRow = fmt.Errorf("%w: a row of the table", engine.ErrCorrupt)

const (
	// allRows is the statement that reads the rows of the keys in $1.
	allRows = `SELECT k, v FROM mayfly_kv WHERE k = ANY($1::bytea[])`
	// someRows is the statement that reads the rows of many keys, whose values may be large. In the order
	// of the keys, it returns the first rows until their values have $2 bytes together.
	someRows = `SELECT k, v FROM (
			SELECT k, v, sum(octet_length(v)) OVER (ORDER BY n) - octet_length(v) AS before
			FROM unnest($1::bytea[]) WITH ORDINALITY AS wanted(k, n) JOIN mayfly_kv USING (k)) AS found
		WHERE before < $2`
	// withTime is appended to a statement that reads rows. It adds a row with a NULL key whose value is
	// the time at which the database transaction began (not later than its snapshot), in microseconds
	// since 1970.
	withTime = ` UNION ALL
		SELECT NULL, convert_to((extract(epoch FROM now()) * 1000000)::bigint::text, 'UTF8')`
	// withLockedTime is appended to a statement that reads rows, in a transaction that has locked the scopes
	// of the keys. It adds a row with the database's current time. Since no other transaction can write in
	// these scopes, the rows are still the newest ones at that time.
	withLockedTime = ` UNION ALL
		SELECT NULL, convert_to((extract(epoch FROM clock_timestamp()) * 1000000)::bigint::text, 'UTF8')`
)

const (
	fewKeys        = 64   // number of keys up to which all values are read, of any size
	maxKeysPerRead = 4096 // how many keys one statement reads
)

// rowsOf returns the statement that reads the rows of keys, and its arguments. If there are many keys, the
// statement stops when it has read values of room bytes together; covered then returns how many keys it
// has answered.
func rowsOf(keys [][]byte, room int) (sql string, args []any) {
	stored := make([][]byte, len(keys))
	for i, key := range keys {
		stored[i] = storedKey(key)
	}
	if len(keys) > fewKeys {
		return someRows, []any{stored, room}
	}
	return allRows, []any{stored}
}

// covered returns how many of the keys a statement has answered that reads the rows of keys but stops after
// room bytes of values. rows are its result: each of keys[:n] that is not in rows does not exist. If the
// statement stopped early, keys[n-1] is the last key with a row; otherwise n is len(keys).
func covered(keys [][]byte, rows []keyValue, room int) (n int) {
	bytes := 0
	found := make(map[string]bool, len(rows))
	for _, r := range rows {
		found[string(r.key)] = true
		bytes += len(r.value)
	}
	if len(keys) <= fewKeys || bytes < room {
		return len(keys)
	}
	for left := len(found); n < len(keys) && left > 0; n++ {
		if found[string(keys[n])] {
			delete(found, string(keys[n])) // a key may be repeated
			left--
		}
	}
	return n
}

// querier is a database connection or transaction on which a SQL statement can be run.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// cachingSnapshotReader reads one consistent state: that of a View, or that of an Update without the Update's
// own writes. It caches what has been read. Its methods are safe for concurrent use.
type cachingSnapshotReader struct {
	ctx context.Context // of the caller
	e   *Engine

	mu     sync.Mutex
	begin  func() (querier, error) // acquires the connection at the first statement, which takes the snapshot
	q      querier                 // nil before the first statement
	known  map[string][]byte       // cache; the value of an absent key is nil
	now    int64                   // the latest time that the database has returned: see engine.LSNScopeStatus
	failed error                   // error of the connection: nothing can be read any more
	closed bool
	open   map[*iterator]bool
}

// find reads those of the keys that are not in the cache yet into the cache. It stops when it has read
// values of engine.ManyBytes bytes together.
func (s *cachingSnapshotReader) find(keys [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.findLocked(keys)
}

func (s *cachingSnapshotReader) findLocked(keys [][]byte) error {
	var missing [][]byte
	asked := map[string]bool{}
	for _, key := range keys {
		if _, ok := s.known[string(key)]; ok || len(key) == 0 || asked[string(key)] {
			continue
		}
		asked[string(key)] = true
		missing = append(missing, key)
	}
	for bytes := 0; len(missing) > 0 && bytes < engine.ManyBytes; {
		read, n, err := s.readLocked(missing[:min(maxKeysPerRead, len(missing))], engine.ManyBytes-bytes)
		if err != nil {
			return err
		}
		bytes += n
		missing = missing[read:]
	}
	return nil
}

// readLocked reads keys by one statement: the first ones, until their values have room bytes together, but
// at least one. It returns how many keys are now in the cache, and the size of their values.
func (s *cachingSnapshotReader) readLocked(keys [][]byte, room int) (read, bytes int, err error) {
	sql, args := rowsOf(keys, room)
	rows, err := s.rowsLocked(sql+withTime, args...)
	if err != nil {
		return 0, 0, err
	}
	read = covered(keys, rows, room)
	s.rememberLocked(keys[:read], rows)
	for _, r := range rows {
		bytes += len(r.value)
	}
	return read, bytes, nil
}

// rows runs a statement that returns rows of a key and a value, and returns them.
func (s *cachingSnapshotReader) rows(sql string, args ...any) ([]keyValue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rowsLocked(sql, args...)
}

func (s *cachingSnapshotReader) rowsLocked(sql string, args ...any) (rows []keyValue, err error) {
	err = s.readyLocked()
	if err != nil {
		return nil, err
	}
	own, cancel := context.WithTimeout(context.Background(), readLimit)
	defer cancel()
	rows, now, err := s.e.collect(s.q.Query(own, sql, args...))
	if err != nil {
		return nil, s.failLocked(err)
	}
	s.now = max(s.now, now)
	return rows, nil
}

// one runs a statement with one row of one column, and stores the column in to.
func (s *cachingSnapshotReader) one(to any, sql string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readyLocked(); err != nil {
		return err
	}
	own, cancel := context.WithTimeout(context.Background(), readLimit)
	defer cancel()
	rows, err := s.q.Query(own, sql, args...)
	if err == nil {
		for rows.Next() && err == nil {
			err = rows.Scan(to)
		}
		if rows.Close(); err == nil {
			err = rows.Err()
		}
	}
	if err != nil {
		return s.failLocked(err)
	}
	return nil
}

// readyLocked must be called before each statement. It acquires the connection before the first one.
func (s *cachingSnapshotReader) readyLocked() error {
	if s.failed != nil {
		return s.failed
	}
	if s.closed {
		return engine.ErrClosed
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if s.q == nil {
		q, err := s.begin()
		if err != nil {
			s.failed = err
			return err
		}
		s.q = q
	}
	s.e.trip()
	return nil
}

// failLocked records the error of a statement, after which all reads fail.
func (s *cachingSnapshotReader) failLocked(err error) error {
	if !errors.Is(err, errRow) {
		err = toEngine(err)
	}
	s.failed = err
	return err
}

// get returns the value of a key, or nil if the key is absent.
func (s *cachingSnapshotReader) get(key []byte) ([]byte, error) {
	if len(key) == 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.findLocked([][]byte{key}); err != nil {
		return nil, err
	}
	return clip(s.known[string(key)]), nil
}

// cached returns the cached value of a key, nil if the key is absent. known is false if the key is not in the
// cache.
func (s *cachingSnapshotReader) cached(key []byte) (value []byte, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, known = s.known[string(key)]
	return clip(value), known
}

// clip cuts the capacity of v, so that a caller's append does not overwrite the bytes behind it.
func clip(v []byte) []byte { return v[:len(v):len(v)] }

// remember stores rows in the cache. Keys without a row are recorded as absent.
func (s *cachingSnapshotReader) remember(keys [][]byte, rows []keyValue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rememberLocked(keys, rows)
}

func (s *cachingSnapshotReader) rememberLocked(keys [][]byte, rows []keyValue) {
	for _, key := range keys {
		s.known[string(key)] = nil
	}
	for _, r := range rows {
		s.known[string(r.key)] = r.value
	}
}

// share returns a cachingSnapshotReader of the same database state, for one function of a group of Updates
// that run in one database transaction. It shares the cache with s but has its own context and iterators.
func (s *cachingSnapshotReader) share(ctx context.Context) *cachingSnapshotReader {
	return &cachingSnapshotReader{ctx: ctx, e: s.e, q: s.q, known: s.known, now: s.now, failed: s.failed}
}

// adopt takes over the error, if any, of the reader shared, which s.share has returned: all later reads of s
// fail with it.
func (s *cachingSnapshotReader) adopt(shared *cachingSnapshotReader) { s.failed = shared.failed }

// finish ends the reads. It reports whether iterators were left open.
func (s *cachingSnapshotReader) finish() (leak bool) {
	s.mu.Lock()
	s.closed = true
	open := s.open
	s.open = nil
	s.mu.Unlock()
	for it := range open {
		it.end()
	}
	return len(open) > 0
}

// position returns the position of a scope (a set of keys with a common prefix) from two stored values:
// its ceiling, which is the next LSN to be issued, and its mark, a number by which servers tell each other
// to discard cached data.
func position(ceiling, mark []byte) (at engine.LSNScopeStatus, err error) {
	at.Settled = true
	if ceiling != nil {
		next, err := engine.ParseCeiling(ceiling)
		if err != nil {
			return engine.LSNScopeStatus{}, err
		}
		at.LSN = next - 1
	}
	if mark != nil {
		at.Mark, err = engine.ParseMark(mark)
	}
	return at, err
}

// positions returns the position of each scope (a key prefix with its own sequence of LSNs) in the snapshot.
// It reads them from two stored values of the scope: the ceiling, which is its next LSN, and the mark.
func (s *cachingSnapshotReader) positions(scopes [][]byte) ([]engine.LSNScopeStatus, error) {
	var keys [][]byte
	for _, scope := range scopes {
		keys = append(keys, engine.CeilingKey(scope), engine.MarkKey(scope))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.findLocked(keys); err != nil {
		return nil, err
	}
	list := make([]engine.LSNScopeStatus, len(scopes))
	for i, scope := range scopes {
		var err error
		if list[i], err = position(s.known[string(keys[2*i])], s.known[string(keys[2*i+1])]); err != nil {
			return nil, fmt.Errorf("scope %x: %w", scope, err)
		}
		list[i].Now = s.now
	}
	return list, nil
}

// overlayReader is the engine.Reader over the state in the database and, in an Update, over the transaction's
// own writes.
type overlayReader struct {
	s       *cachingSnapshotReader
	overlay *txnOverlay // nil in a View
}

// written looks up a key in the transaction's writes. decided is false if the transaction has not written the
// key. value is nil if it has deleted the key.
func (r *overlayReader) written(key []byte) (value []byte, decided bool) {
	if r.overlay == nil {
		return nil, false
	}
	value, _, decided = r.overlay.get(key)
	return clip(value), decided
}

// Get returns the value of a key, or engine.ErrNotFound.
func (r *overlayReader) Get(key []byte) ([]byte, error) {
	v, decided := r.written(key)
	if !decided {
		var err error
		if v, err = r.s.get(key); err != nil {
			return nil, err
		}
	}
	if v == nil {
		return nil, engine.ErrNotFound
	}
	return v, nil
}

// GetMany returns the values of keys, nil for an absent key: see engine.Reader.
func (r *overlayReader) GetMany(keys [][]byte) ([][]byte, error) {
	if err := r.s.ctx.Err(); err != nil {
		return nil, err
	}
	values, bytes := make([][]byte, len(keys)), 0
	for i, key := range keys {
		if bytes >= engine.ManyBytes {
			return values[:i], nil
		}
		v, decided := r.written(key)
		if !decided && len(key) > 0 {
			known := false
			if v, known = r.s.cached(key); !known {
				if err := r.s.find(keys[i:]); err != nil {
					return nil, err
				}
				v, _ = r.s.cached(key)
			}
		}
		values[i] = v
		bytes += len(v)
	}
	return values, nil
}

// Prefetch reads keys in one round trip, ahead of their use: see engine.Prefetcher. An error is returned
// later, by the read of the key.
func (r *overlayReader) Prefetch(keys [][]byte) { _ = r.s.find(keys) }

// Scan returns an iterator over the keys in a range: see engine.Reader.
func (r *overlayReader) Scan(rg engine.Range, reverse bool) engine.Iterator {
	return newIterator(r, rg, reverse)
}

// Positions returns the highest durable LSN and the mark of each scope: see engine.Reader.
func (r *overlayReader) Positions(scopes [][]byte) ([]engine.LSNScopeStatus, error) {
	return r.s.positions(scopes)
}
