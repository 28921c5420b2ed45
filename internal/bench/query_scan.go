package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	raw "github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
)

// fullScanQuery is a query that reads every document and matches none.
type fullScanQuery struct {
	name, text string
	limit      *measurementThreshold
}

// scans returns queries that must read all documents, because they filter by a path that is not indexed:
// one whose property is in the middle of each document, and one whose property no document has.
func scans() []fullScanQuery {
	return []fullScanQuery{
		{"filter, field found", `SELECT * FROM c WHERE c.weight = -1`, ratioAtLeast(0.45)},
		{"filter, field absent", `SELECT * FROM c WHERE c.nothing = -1`, ratioAtLeast(0.3)},
	}
}

// stretch returns the function for one slice of the measurement: it repeats the scan until the time of a
// slice is over. It counts each of the docs documents of a scan as an operation.
func (q fullScanQuery) stretch(ctx context.Context, b *BenchmarkRun, c *store.Container,
	docs int) comparisonWorkSliceFunc {
	return func() (ops int, took time.Duration, err error) {
		began := b.clock.Now()
		for took < b.sliceTime() {
			if err := readPages(ctx, c, q.text, -1); err != nil {
				return ops, took, err
			}
			ops += docs
			took = b.clock.Now().Sub(began)
		}
		return ops, took, nil
	}
}

// measureScans compares filtered scans with an iteration over the same bytes in bare Pebble. It uses the
// smallest set, which fits in the cache.
func (b *BenchmarkRun) measureScans(ctx context.Context, sets []queryBenchmarkDataSet) (err error) {
	set := sets[0]
	copied := b.path("query-raw")
	defer drop(copied)
	if err := copyFolder(copied, set.dir); err != nil {
		return err
	}
	bare, err := openRaw(copied, queryCache)
	if err != nil {
		return err
	}
	defer closing(bare, &err)
	s, err := newPebbleScan(bare, set.docs)
	if err != nil {
		return err
	}
	db, c, err := b.queryContainer(ctx,
		storeOpenOptions{engine: pebble.Options{Dir: set.dir, CacheBytes: queryCache}},
		querySpec())
	if err != nil {
		return err
	}
	defer closing(db, &err)
	b.report.begin("query", fmt.Sprintf(
		"scans of %s that match none; against an iteration over the same bytes; a document", set), "raw scan")
	for _, q := range scans() {
		for _, kind := range []struct {
			name  string
			touch bool
			limit *measurementThreshold
		}{{q.name, false, q.limit}, {q.name + ", raw reads all bytes", true, nil}} {
			d, err := b.compare(ctx, "scanning: "+kind.name, q.stretch(ctx, b, c, set.docs),
				s.stretch(b, kind.touch))
			if err != nil {
				return err
			}
			b.report.add(d.speed(kind.name, kind.limit))
		}
	}
	return nil
}

// pebbleScan iterates over the stored documents, which are contiguous.
type pebbleScan struct {
	bare   *raw.DB
	docs   int
	bounds raw.IterOptions
	quotes int // number of quotes in all documents that were read
}

// newPebbleScan returns a scan over the keys of the stored documents, whose first and last key it finds by
// reading all values. It fails if the documents are not contiguous.
func newPebbleScan(bare *raw.DB, docs int) (s *pebbleScan, err error) {
	s = &pebbleScan{bare: bare, docs: docs}
	err = eachRawDocument(bare, func(_ int, key []byte) {
		if s.bounds.LowerBound == nil {
			s.bounds.LowerBound = append([]byte(nil), key...)
		}
		s.bounds.UpperBound = append(append(s.bounds.UpperBound[:0], key...), 0)
	})
	if err != nil {
		return nil, err
	}
	n, err := s.once(false)
	if err == nil && n != docs {
		err = fmt.Errorf("%d documents were found side by side in the bare folder, not %d", n, docs)
	}
	return s, err
}

// once iterates over all documents. With touch it reads all bytes of each document as fast as possible;
// without touch it reads none, and most of them are not even loaded into the processor's cache.
func (s *pebbleScan) once(touch bool) (n int, err error) {
	it, err := s.bare.NewIter(&s.bounds)
	if err != nil {
		return 0, err
	}
	defer closing(it, &err)
	for it.First(); it.Valid(); it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return n, err
		}
		if len(value) < queryDocBytes {
			return n, errors.New("there is something else between the documents")
		}
		if touch {
			s.quotes += bytes.Count(value, []byte(`"`))
		}
		n++
	}
	return n, nil
}

func (s *pebbleScan) stretch(b *BenchmarkRun, touch bool) comparisonWorkSliceFunc {
	return func() (ops int, took time.Duration, err error) {
		began := b.clock.Now()
		for took < b.sliceTime() {
			n, err := s.once(touch)
			if err != nil {
				return ops, took, err
			}
			ops += n
			took = b.clock.Now().Sub(began)
		}
		return ops, took, nil
	}
}
