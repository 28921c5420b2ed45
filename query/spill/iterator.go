package spill

import (
	"bytes"

	"github.com/mayflydb/mayfly/internal/heap"
)

// Iterator returns records in the order of their keys. Only one goroutine may use it, and must close it.
type Iterator struct {
	spend  func(int) bool
	f      *tempFile
	open   heap.Heap[*sortedRunReader] // the reader with the first record on top
	order  map[*sortedRunReader]int
	begun  bool
	repeat bool // the next call of Next stays at the current record
	err    error
}

// begin reads the first record of each run.
func (it *Iterator) begin() error {
	it.order = make(map[*sortedRunReader]int, len(it.open.List))
	it.open.Before = it.less
	live := it.open.List[:0]
	for i, r := range it.open.List {
		it.order[r] = i
		ok, err := r.next(it.spend)
		if err != nil {
			return err
		}
		if ok {
			live = append(live, r)
		}
	}
	it.open.List = live
	it.open.Init()
	return nil
}

// Use replaces the function spend to which the iterator reports its work, when a later request continues the
// iteration. spend is called with the amount of work, in units of about a byte; if it returns false, the
// iteration ends with ErrStopped.
func (it *Iterator) Use(spend func(int) bool) { it.spend = spend }

// Next advances to the next record. It returns false behind the last one, and if Err is not nil.
func (it *Iterator) Next() bool {
	if it.err != nil {
		return false
	}
	if it.repeat {
		it.repeat = false
		return true
	}
	if it.begun && len(it.open.List) > 0 {
		ok, err := it.open.List[0].next(it.spend)
		if err != nil {
			it.err = err
			return false
		}
		if ok {
			it.open.Fix()
		} else {
			it.open.Pop()
		}
	}
	it.begun = true
	return len(it.open.List) > 0
}

// Unread makes the next call of Next stay at the current record, if there is one.
func (it *Iterator) Unread() { it.repeat = it.begun && len(it.open.List) > 0 }

// Key returns the key of the record, valid until Next.
func (it *Iterator) Key() []byte { return it.open.List[0].key }

// Payload returns the payload of the record, valid until Next.
func (it *Iterator) Payload() []byte { return it.open.List[0].payload }

// Err returns the error that has ended the iteration: an *Error or ErrStopped; nil: there are no more
// records.
func (it *Iterator) Err() error { return it.err }

// Held returns the memory of the iterator in bytes.
func (it *Iterator) Held() (n int) {
	for _, r := range it.open.List {
		n += r.held()
	}
	return n
}

// Close removes the file. It may be called more than once.
func (it *Iterator) Close() {
	it.f.close()
	it.f, it.open.List = nil, nil
}

func (it *Iterator) less(a, b *sortedRunReader) bool {
	c := bytes.Compare(a.key, b.key)
	return c < 0 || c == 0 && it.order[a] < it.order[b]
}
