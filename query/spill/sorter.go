package spill

import (
	"bytes"
	"cmp"
	"slices"
)

// fanIn is the maximum number of sorted runs (parts of files) that are merged at a time.
const fanIn = 16

// recordSize is the approximate memory of a record in bytes, without its key and its payload.
const recordSize = 24

// Sorter sorts records by their keys; see the package's documentation. Only one goroutine may use it, and
// must close it.
type Sorter struct {
	dir    *TempDir
	budget int
	spend  func(int) bool

	bytes   []byte // the records that have not been written
	records []recordPosition
	f       *tempFile // nil: nothing has been written
	runs    []sortedRunExtent
	writer  sortedRunWriter
}

// recordPosition is the position of a record in Sorter.bytes.
type recordPosition struct{ at, key, end int }

// NewSorter makes a Sorter that holds about budget bytes in memory. spend is called with the amount of work,
// in units of about a byte; if it returns false, the operation ends with ErrStopped.
func (d *TempDir) NewSorter(budget int, spend func(int) bool) *Sorter {
	return &Sorter{dir: d, budget: budget, spend: spend}
}

// Held returns the memory of the sorter in bytes.
func (s *Sorter) Held() int { return cap(s.bytes) + recordSize*cap(s.records) }

// Add adds a record, and copies its key and payload.
func (s *Sorter) Add(key, payload []byte) error {
	n := len(key) + len(payload)
	// only half the budget is used, since slices grow by doubling
	if len(s.records) > 0 && len(s.bytes)+recordSize*len(s.records)+n > s.budget/2 {
		if err := s.Flush(); err != nil {
			return err
		}
	}
	at := len(s.bytes)
	s.bytes = append(append(s.bytes, key...), payload...)
	s.records = append(s.records, recordPosition{at, at + len(key), len(s.bytes)})
	return nil
}

// Flush writes the records that are in memory to a file.
func (s *Sorter) Flush() error {
	if len(s.records) == 0 {
		return nil
	}
	if err := s.order(); err != nil {
		return err
	}
	return s.Run(func(add func(key, payload []byte) error) error {
		for _, r := range s.records {
			if err := add(s.bytes[r.at:r.key], s.bytes[r.key:r.end]); err != nil {
				return err
			}
		}
		s.bytes, s.records = s.bytes[:0], s.records[:0]
		return nil
	})
}

func (s *Sorter) order() error {
	going := true
	slices.SortFunc(s.records, func(a, b recordPosition) int {
		if going = going && s.spend(16+min(a.key-a.at, b.key-b.at)); !going {
			return 0
		}
		if c := bytes.Compare(s.bytes[a.at:a.key], s.bytes[b.at:b.key]); c != 0 {
			return c
		}
		return cmp.Compare(a.at, b.at)
	})
	if !going {
		return ErrStopped
	}
	return nil
}

// Run writes a run of records that fn adds in the order of their keys. Among records with equal keys, they
// come after those that were written before and before those that are still in memory.
func (s *Sorter) Run(fn func(add func(key, payload []byte) error) error) (err error) {
	if s.f == nil {
		if s.f, err = s.dir.create(); err != nil {
			return err
		}
		s.writer = sortedRunWriter{f: s.f, spend: s.spend}
	}
	from := s.f.size
	if err = fn(s.writer.add); err == nil {
		err = s.writer.flush()
	}
	if err != nil {
		return err
	}
	s.runs = append(s.runs, sortedRunExtent{from, s.f.size})
	return nil
}

// Sort returns the records in order. It may be called once; the Iterator then owns the file.
func (s *Sorter) Sort() (*Iterator, error) {
	for len(s.runs) > fanIn {
		if err := s.mergeRuns(); err != nil {
			return nil, err
		}
	}
	if err := s.order(); err != nil {
		return nil, err
	}
	it := &Iterator{spend: s.spend, f: s.f}
	for _, r := range s.runs {
		it.open.List = append(it.open.List, &sortedRunReader{f: s.f, at: r.from, to: r.to})
	}
	if len(s.records) > 0 {
		rest := make([]byte, 0, len(s.bytes)+8*len(s.records))
		for _, r := range s.records {
			rest = appendRecord(rest, s.bytes[r.at:r.key], s.bytes[r.key:r.end])
		}
		it.open.List = append(it.open.List, &sortedRunReader{rest: rest, raw: rest})
	}
	s.f = nil
	s.Close()
	if err := it.begin(); err != nil {
		it.Close()
		return nil, err
	}
	return it, nil
}

// mergeRuns merges every fanIn adjacent runs into one, in a new file.
func (s *Sorter) mergeRuns() (err error) {
	f, err := s.dir.create()
	if err != nil {
		return err
	}
	w := sortedRunWriter{f: f, spend: s.spend}
	var merged []sortedRunExtent
	for some := range slices.Chunk(s.runs, fanIn) {
		it := &Iterator{spend: s.spend}
		for _, r := range some {
			it.open.List = append(it.open.List, &sortedRunReader{f: s.f, at: r.from, to: r.to})
		}
		from := f.size
		err = it.begin()
		for err == nil && it.Next() {
			err = w.add(it.Key(), it.Payload())
		}
		if err == nil {
			err = it.Err()
		}
		if err == nil {
			err = w.flush()
		}
		if err != nil {
			f.close()
			return err
		}
		merged = append(merged, sortedRunExtent{from, f.size})
	}
	s.f.close()
	s.f, s.runs, s.writer = f, merged, w
	return nil
}

// Close removes the sorter's file, unless an Iterator owns it. It may be called more than once.
func (s *Sorter) Close() {
	s.f.close()
	s.f, s.runs, s.bytes, s.records = nil, nil, nil, nil
}
