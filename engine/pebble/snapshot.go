package pebble

import (
	"context"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine"
)

// snapshotReader is the Reader of a View. It does not use a Pebble snapshot: closing one takes the store's
// main lock and may wait for a sync of the manifest. Instead the first read opens an iterator, which shows
// one state for as long as it is open. One scan, or all lookups of single keys, use this iterator; all other
// iterators are clones of it.
type snapshotReader struct {
	openReadResources
	ctx   context.Context
	e     *Engine
	db    *pebble.DB
	point *pebble.Iterator // used by Get; may be base
	epoch uint64           // of the row cache, noted before the snapshot was opened
}

var snapshots = sync.Pool{New: func() any { return new(snapshotReader) }}

// begin opens the snapshot, a Pebble iterator, if it is not open yet. The first scan or lookup uses this
// iterator; later ones clone it.
func (s *snapshotReader) begin() (err error) {
	if s.base == nil {
		s.epoch = s.e.rows.epoch.Load()
		s.base, err = s.db.NewIter(nil)
		s.baseFree = err == nil
	}
	return err
}

// iterate returns an iterator over the snapshot: the first one if it is free, otherwise a clone of it.
func (s *snapshotReader) iterate(o *pebble.IterOptions) (*pebble.Iterator, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	if !s.baseFree {
		return s.base.Clone(pebble.CloneOptions{IterOptions: o})
	}
	s.baseFree = false
	s.base.SetBounds(o.LowerBound, o.UpperBound)
	return s.base, nil
}

// points returns the iterator for lookups of single keys.
func (s *snapshotReader) points() (*pebble.Iterator, error) {
	if s.point == nil {
		it, err := s.iterate(&pebble.IterOptions{})
		if err != nil {
			return nil, readError(err)
		}
		s.point = it
	}
	return s.point, nil
}

// Get returns the value of a key, or engine.ErrNotFound.
func (s *snapshotReader) Get(key []byte) ([]byte, error) {
	it, err := s.points()
	if err != nil {
		return nil, err
	}
	v, err := s.find(it, key)
	if v == nil && err == nil {
		err = engine.ErrNotFound
	}
	return v, err
}

// GetMany returns the values of keys, nil for an absent key: see engine.Reader.
func (s *snapshotReader) GetMany(keys [][]byte) ([][]byte, error) {
	it, err := s.points()
	if err != nil {
		return nil, err
	}
	return s.findAll(s.ctx, it, keys)
}

// Positions returns the position of each scope: its highest durable LSN, and whether all data that were read
// are durable. It opens the snapshot first, so everything in the snapshot is older than the positions.
func (s *snapshotReader) Positions(scopes [][]byte) ([]engine.LSNScopeStatus, error) {
	if err := s.begin(); err != nil {
		return nil, readError(err)
	}
	return s.e.positions(scopes)
}

// Scan returns an iterator over the keys in a range: see engine.Reader.
func (s *snapshotReader) Scan(r engine.Range, reverse bool) engine.Iterator {
	return s.scan(s.iterate, r, reverse)
}

// close closes the snapshot, after its iterators. Errors have already been returned to the callers of the
// iterators.
func (s *snapshotReader) close() {
	if s.point != nil && s.point != s.base {
		_ = s.point.Close()
	}
	if s.base != nil {
		_ = s.base.Close()
	}
	s.ctx, s.e, s.db, s.base, s.point, s.baseFree = nil, nil, nil, nil, nil, false
}
