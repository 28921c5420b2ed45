package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/mayflydb/mayfly/engine"
)

// errRow is what stands for a row that cannot be.
var errRow = fmt.Errorf("%w: a row of the table", engine.ErrCorrupt)

// getRows reads keys.
const getRows = `SELECT k, v FROM mayfly_kv WHERE k = ANY($1::bytea[])`

// someKeys is how many keys are read by a statement: their values may be large.
const someKeys = 64

// querier is a connection on which a statement can be run.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// source is one consistent state: that of a View, or that of an Update without what it has written. What has
// been read is remembered. Its methods are safe for concurrent use.
type source struct {
	ctx context.Context // of the caller
	e   *Engine

	mu     sync.Mutex
	begin  func() (querier, error) // makes the snapshot, at the first statement
	q      querier                 // nil before
	known  map[string][]byte       // nil for a key that is absent
	failed error                   // of the connection: nothing can be read any more
	closed bool
	open   map[*iterator]bool
}

// find reads keys that are not known yet. Where the values have come to ManyBytes it stops.
func (s *source) find(keys [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.findLocked(keys)
}

func (s *source) findLocked(keys [][]byte) error {
	var missing [][]byte
	asked := map[string]bool{}
	for _, key := range keys {
		if _, ok := s.known[string(key)]; ok || len(key) == 0 || asked[string(key)] {
			continue
		}
		asked[string(key)] = true
		missing = append(missing, key)
	}
	bytes := 0
	for len(missing) > 0 && bytes < engine.ManyBytes {
		n := min(someKeys, len(missing))
		stored := make([][]byte, n)
		for i, key := range missing[:n] {
			stored[i] = storedKey(key)
		}
		rows, err := s.rowsLocked(getRows, stored)
		if err != nil {
			return err
		}
		for _, key := range missing[:n] {
			s.known[string(key)] = nil
		}
		for _, r := range rows {
			s.known[string(r.key)] = r.value
			bytes += len(r.value)
		}
		missing = missing[n:]
	}
	return nil
}

// rows runs a statement whose rows are keys and values.
func (s *source) rows(sql string, args ...any) ([]row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rowsLocked(sql, args...)
}

func (s *source) rowsLocked(sql string, args ...any) ([]row, error) {
	if s.failed != nil {
		return nil, s.failed
	}
	if s.closed {
		return nil, engine.ErrClosed
	}
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	if s.q == nil {
		q, err := s.begin()
		if err != nil {
			s.failed = err
			return nil, err
		}
		s.q = q
	}
	s.e.trip()
	own, cancel := context.WithTimeout(context.Background(), readLimit)
	defer cancel()
	rows, err := collect(s.q.Query(own, sql, args...))
	if err != nil {
		if !errors.Is(err, errRow) {
			err = toEngine(err)
		}
		s.failed = err
		return nil, err
	}
	return rows, nil
}

// get is the value of a key; nil where it is absent.
func (s *source) get(key []byte) ([]byte, error) {
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

// look is the value of a key that is known; nil where it is absent.
func (s *source) look(key []byte) (value []byte, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, known = s.known[string(key)]
	return clip(value), known
}

// clip keeps an append of the caller's from what follows.
func clip(v []byte) []byte { return v[:len(v):len(v)] }

// remember notes rows that have come.
func (s *source) remember(keys [][]byte, rows []row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		s.known[string(key)] = nil
	}
	for _, r := range rows {
		s.known[string(r.key)] = r.value
	}
}

// share is a source over the same state for one function of a group: it has a context and iterators of its
// own, and knows what was read before.
func (s *source) share(ctx context.Context) *source {
	return &source{ctx: ctx, e: s.e, q: s.q, known: s.known, failed: s.failed}
}

// adopt notes what has become of a source that was shared.
func (s *source) adopt(shared *source) { s.failed = shared.failed }

// finish ends the reads. It reports whether iterators were left open.
func (s *source) finish() (leak bool) {
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

// position is how far a scope has come, by its ceiling and its mark as they are stored.
func position(ceiling, mark []byte) (at engine.Position, err error) {
	at.Settled = true
	if ceiling != nil {
		next, err := engine.ParseCeiling(ceiling)
		if err != nil {
			return engine.Position{}, err
		}
		at.LSN = next - 1
	}
	if mark != nil {
		at.Mark, err = engine.ParseMark(mark)
	}
	return at, err
}

// positions are those of scopes in the state that is stored.
func (s *source) positions(scopes [][]byte) ([]engine.Position, error) {
	var keys [][]byte
	for _, scope := range scopes {
		keys = append(keys, engine.CeilingKey(scope), engine.MarkKey(scope))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.findLocked(keys); err != nil {
		return nil, err
	}
	list := make([]engine.Position, len(scopes))
	for i, scope := range scopes {
		var err error
		if list[i], err = position(s.known[string(keys[2*i])], s.known[string(keys[2*i+1])]); err != nil {
			return nil, fmt.Errorf("scope %x: %w", scope, err)
		}
	}
	return list, nil
}

// reader is a Reader over a source, with what the transaction has written over it, if it is one.
type reader struct {
	s    *source
	over *overlay // nil in a View
}

// written looks a key up in what the transaction has written.
func (r *reader) written(key []byte) (value []byte, decided bool) {
	if r.over == nil {
		return nil, false
	}
	value, _, decided = r.over.get(key)
	return clip(value), decided
}

// Get implements engine.Reader.
func (r *reader) Get(key []byte) ([]byte, error) {
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

// GetMany implements engine.Reader.
func (r *reader) GetMany(keys [][]byte) ([][]byte, error) {
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
			if v, known = r.s.look(key); !known {
				if err := r.s.find(keys[i:]); err != nil {
					return nil, err
				}
				v, _ = r.s.look(key)
			}
		}
		values[i] = v
		bytes += len(v)
	}
	return values, nil
}

// Bring implements engine.Ahead. What cannot be brought fails when it is read.
func (r *reader) Bring(keys [][]byte) { _ = r.s.find(keys) }

// Scan implements engine.Reader.
func (r *reader) Scan(rg engine.Range, reverse bool) engine.Iterator {
	return newIterator(r, rg, reverse)
}

// Positions implements engine.Reader.
func (r *reader) Positions(scopes [][]byte) ([]engine.Position, error) { return r.s.positions(scopes) }
