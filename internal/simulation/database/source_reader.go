package database

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/tidwall/btree"

	"github.com/mayflydb/mayfly/engine"
)

// snapshotOrTransaction is what a snapshotOrTransactionReader reads from: the snapshot of a View, or the
// transaction of an Update.
type snapshotOrTransaction interface {
	// fetch makes keys available for reading that were not fetched before. If there are any, that takes one
	// exchange, which is a request to the simulated database and its response.
	fetch(keys ...[]byte) error
	// fetchPage makes the exchange (a simulated round trip to the database) that reads the next page of an
	// iterator, if the source needs one. The page begins at the first key that is not less than at.
	fetchPage(at []byte) error
	// rows returns the current state of the source.
	rows() *rowSet
	// now returns the time of the database that belongs to the state, in microseconds since 1970.
	now() int64
	context() context.Context
	// hides reports whether an injected defect of the database makes a key invisible to reads.
	hides(key []byte) bool
}

// snapshotOrTransactionReader implements engine.Reader for a snapshotOrTransaction.
type snapshotOrTransactionReader struct {
	from      snapshotOrTransaction
	iterators []*iterator
}

var (
	_ engine.Reader     = (*snapshotOrTransactionReader)(nil)
	_ engine.Prefetcher = (*snapshotOrTransactionReader)(nil)
)

// finish closes the iterators that the function of a View or Update has left open.
func (r *snapshotOrTransactionReader) finish() {
	for _, it := range r.iterators {
		it.end()
	}
}

func (r *snapshotOrTransactionReader) value(key []byte) []byte {
	if r.from.hides(key) {
		return nil
	}
	return get(r.from.rows(), key)
}

// Get returns the value of a key, or engine.ErrNotFound.
func (r *snapshotOrTransactionReader) Get(key []byte) ([]byte, error) {
	if err := r.from.fetch(key); err != nil {
		return nil, err
	}
	if v := r.value(key); v != nil {
		return slices.Clip(v), nil
	}
	return nil, engine.ErrNotFound
}

// Prefetch fetches keys in one exchange: see engine.Prefetcher. An error is returned when a key is read.
func (r *snapshotOrTransactionReader) Prefetch(keys [][]byte) { _ = r.from.fetch(keys...) }

// GetMany returns the values of keys, nil for an absent key: see engine.Reader.
func (r *snapshotOrTransactionReader) GetMany(keys [][]byte) ([][]byte, error) {
	if err := r.from.context().Err(); err != nil {
		return nil, err
	}
	if err := r.from.fetch(keys...); err != nil {
		return nil, err
	}
	values, size := make([][]byte, 0, len(keys)), 0
	for _, key := range keys {
		v := r.value(key)
		values = append(values, slices.Clip(v))
		if size += len(v); size >= engine.ManyBytes {
			break
		}
	}
	return values, nil
}

// Positions returns the position of each scope: see engine.Reader.
func (r *snapshotOrTransactionReader) Positions(scopes [][]byte) ([]engine.LSNScopeStatus, error) {
	var keys [][]byte
	for _, s := range scopes {
		keys = append(keys, engine.CeilingKey(s), engine.MarkKey(s))
	}
	if err := r.from.fetch(keys...); err != nil {
		return nil, err
	}
	list := make([]engine.LSNScopeStatus, len(scopes))
	for i, s := range scopes {
		at, err := position(r.from.rows(), s)
		if err != nil {
			return nil, err
		}
		at.Now = r.from.now()
		list[i] = at
	}
	return list, nil
}

// position returns the LSN and the mark that are stored for a scope.
func position(from *rowSet, scope []byte) (at engine.LSNScopeStatus, err error) {
	at.Settled = true
	if v := get(from, engine.CeilingKey(scope)); v != nil {
		next, err := engine.ParseCeiling(v)
		if err != nil {
			return at, err
		}
		at.LSN = next - 1
	}
	if v := get(from, engine.MarkKey(scope)); v != nil {
		at.Mark, err = engine.ParseMark(v)
	}
	return at, err
}

// Scan returns an iterator over the keys in a range: see engine.Reader.
func (r *snapshotOrTransactionReader) Scan(rg engine.Range, reverse bool) engine.Iterator {
	it := &iterator{from: r.from, in: engine.Range{Start: bytes.Clone(rg.Start), End: bytes.Clone(rg.End)},
		reverse: reverse, page: pageSize}
	it.rows = r.from.rows().Copy()
	r.iterators = append(r.iterators, it)
	return it
}

var errReverse = errors.New("a backward iterator cannot seek")

// iterator iterates over the state in which it was created. It takes one simulated round trip to the database
// for its first page of keys and for each further page.
type iterator struct {
	from    snapshotOrTransaction
	in      engine.Range
	reverse bool
	rows    *rowSet
	walk    btree.IterG[keyValue]
	began   bool
	ended   bool
	past    bool // the iteration is after the last key
	at      *keyValue
	page    int // keys in a page
	left    int // of the current page
	err     error
}

// Expect sets the number of keys that will probably be read. The next page that the iterator fetches has that
// many keys.
func (it *iterator) Expect(keys int) { it.page = max(keys, 1) }

// position returns the key after which Next continues.
func (it *iterator) position() []byte {
	switch {
	case it.at != nil:
		return it.at.key
	case it.reverse:
		return it.in.End
	}
	return it.in.Start
}

// fetch fetches the next page, which begins at a key, if the current one is used up. It returns false after
// an error.
func (it *iterator) fetch(at []byte) bool {
	if it.left > 0 {
		it.left--
		return true
	}
	it.left = it.page - 1
	if it.err = it.from.fetchPage(at); it.err != nil {
		return false
	}
	if !it.began {
		if v, ok := it.from.(*readTxnSnapshot); ok { // the exchange may have taken the snapshot
			it.rows = v.rows().Copy()
		}
		it.walk = it.rows.Iter()
	}
	return true
}

// Next moves to the next key and reports whether there is one.
func (it *iterator) Next() bool {
	if it.ended || it.past || it.err != nil || !it.fetch(it.position()) {
		return false
	}
	for it.step() {
		found := it.walk.Item()
		if bytes.Compare(found.key, it.in.Start) < 0 || !it.reverse && !contains(it.in, found.key) {
			break
		}
		if !it.from.hides(found.key) {
			it.at = &found
			return true
		}
	}
	it.at, it.past = nil, true
	return false
}

// step moves the iteration by one key. It returns false if there are no more keys.
func (it *iterator) step() bool {
	if it.began {
		if it.reverse {
			return it.walk.Prev()
		}
		return it.walk.Next()
	}
	it.began = true
	switch {
	case !it.reverse:
		return it.walk.Seek(keyValue{key: it.in.Start})
	case it.in.End == nil:
		return it.walk.Last()
	case it.walk.Seek(keyValue{key: it.in.End}):
		return it.walk.Prev()
	}
	return it.walk.Last()
}

// SeekGE moves to the first key at or after key and reports whether there is one.
func (it *iterator) SeekGE(key []byte) bool {
	if it.ended || it.err != nil {
		return false
	}
	if it.reverse {
		it.err = errReverse
		return false
	}
	it.left = 0
	if !it.fetch(key) {
		return false
	}
	if bytes.Compare(key, it.in.Start) < 0 {
		key = it.in.Start
	}
	it.began, it.past = true, false
	found := it.walk.Seek(keyValue{key: key})
	for ; found && contains(it.in, it.walk.Item().key); found = it.walk.Next() {
		if here := it.walk.Item(); !it.from.hides(here.key) {
			it.at = &here
			return true
		}
	}
	it.at, it.past = nil, true
	return false
}

// Key returns the current key.
func (it *iterator) Key() []byte {
	if it.at == nil {
		return nil
	}
	return it.at.key
}

// Value returns the value of the current key.
func (it *iterator) Value() []byte {
	if it.at == nil {
		return nil
	}
	return it.at.value
}

// Close releases the iterator and returns its first error.
func (it *iterator) Close() error {
	it.end()
	return it.err
}

func (it *iterator) end() { it.ended, it.at = true, nil }

// readTxnSnapshot is the snapshot that a View reads.
type readTxnSnapshot struct {
	e       *Engine
	ctx     context.Context
	one     bool // all reads take one exchange together
	taken   *rowSet
	at      int64
	fetched map[string]bool
}

func (s *readTxnSnapshot) exchange(x NetworkExchange) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.e.ask(s.ctx, x, func() error {
		if s.taken == nil {
			s.taken, _, s.at = s.e.d.snapshot()
		}
		return nil
	})
}

func (s *readTxnSnapshot) fetch(keys ...[]byte) error {
	missing := s.taken == nil
	for _, key := range keys {
		missing = missing || !s.fetched[string(key)]
	}
	if !missing || s.one && s.taken != nil {
		return nil
	}
	if err := s.exchange(NetworkExchange{Operation: ExchangeRead, Keys: keys}); err != nil {
		return err
	}
	s.at = s.e.tell(s.at)
	if s.fetched == nil {
		s.fetched = make(map[string]bool)
	}
	for _, key := range keys {
		s.fetched[string(key)] = true
	}
	return nil
}

func (s *readTxnSnapshot) fetchPage(at []byte) error {
	if err := s.exchange(NetworkExchange{Operation: ExchangePage, Keys: [][]byte{at}}); err != nil {
		return err
	}
	s.at = s.e.tell(s.at)
	return nil
}

func (s *readTxnSnapshot) rows() *rowSet {
	if s.taken == nil {
		return newRows()
	}
	return s.taken
}

func (s *readTxnSnapshot) now() int64               { return s.at }
func (s *readTxnSnapshot) context() context.Context { return s.ctx }
func (s *readTxnSnapshot) hides([]byte) bool        { return false }
