package exec

import (
	"slices"

	"github.com/mayflydb/mayfly/internal/heap"
	"github.com/mayflydb/mayfly/query/internal/source"
	"github.com/mayflydb/mayfly/query/spill"
)

// sortedDocumentIterator iterates over the documents of a source in the order of the query. It reads all
// documents and keeps only the first ones, as many as a page can need. After these have been returned it
// reads all documents again to find the next ones, so its memory is bounded by the size of a page.
type sortedDocumentIterator struct {
	x        *Execution
	src      source.DocumentSource
	source   int
	open     func() (source.DocumentIterator, error) // opens the documents to sort
	room     int
	held     int                  // bytes of heap
	heap     heap.Heap[sortEntry] // while filling: the last entry on top; then sorted
	returned int
	full     bool // there may be more documents
	last     sortEntry
	begun    bool
	after    *sortEntry // keeps only entries that come after this one; nil: all
	doc      source.Document

	whole bool            // contains all matching documents of the source
	it    *spill.Iterator // the sorted documents in files; nil: they are in memory
}

const maxRoom = 10_000

// entrySize is the approximate size of a sortEntry in bytes, without its key.
const entrySize = 64

// room returns how many documents a page can need, plus one: the additional one shows whether there is
// another page.
func (x *Execution) room() int {
	n := int64(x.Opts.MaxItems)
	if x.done.Limit >= 0 {
		n = min(n, x.done.Limit)
	}
	return int(min(n+x.done.Offset, maxRoom)) + 1
}

func (x *Execution) newBatch(src source.DocumentSource, source int, open func() (source.DocumentIterator,
	error)) *sortedDocumentIterator {
	last := func(a, c sortEntry) bool { return x.compare(&a, &c) > 0 }
	return &sortedDocumentIterator{x: x, src: src, source: source, open: open, room: x.room(),
		heap: heap.Heap[sortEntry]{Before: last}}
}

func (b *sortedDocumentIterator) Next() (bool, error) {
	for {
		if b.returned == len(b.heap.List) {
			if b.it == nil && b.begun && !b.full {
				return false, nil
			}
			if b.it != nil || b.many() {
				return b.nextSpilled()
			}
			if err := b.fill(); err != nil || len(b.heap.List) == 0 {
				return false, err
			}
		}
		prefetchList(b.src, b.returned, len(b.heap.List), func(i int) uint64 { return b.heap.List[i].rid })
		b.last = b.heap.List[b.returned]
		b.returned++
		b.x.sortedRows--
		d, live, err := b.src.Fetch(b.last.rid)
		if err != nil || live {
			b.doc = d
			return live, err
		}
	}
}

func (b *sortedDocumentIterator) at() (*sortEntry, source.Document) { return &b.last, b.doc }

// fill reads all documents of the source and keeps in memory the next ones in the order of the query, as many
// as there is room for: those that come after the documents which have been returned.
func (b *sortedDocumentIterator) fill() (err error) {
	x := b.x
	docs, err := b.open()
	if err != nil {
		return err
	}
	defer func() {
		if e := docs.Close(); err == nil {
			err = e
		}
	}()
	x.Run.Used -= b.held
	b.heap.List, b.returned, b.full, b.held, b.room = b.heap.List[:0], 0, false, 0, x.room()
	var key []byte
	for x.Next(docs) {
		d := docs.Document()
		x.load(d)
		key = x.orderKey(key[:0])
		e := sortEntry{key: key, source: b.source, rid: d.RID(), holds: true}
		if x.isAfterStart(&e) && (b.after == nil || x.compare(&e, b.after) > 0) &&
			(!b.begun || x.compare(&e, &b.last) > 0) {
			if !b.wants(&e) {
				b.full = true
			} else if x.passes(x.Plan.Rows) {
				b.push(e)
			}
		}
		if _, err := x.stop(); err != nil { // the end of the page's time does not stop this loop
			return err
		}
	}
	b.begun = true
	x.sortedRows += len(b.heap.List)
	slices.SortFunc(b.heap.List, func(a, c sortEntry) int { return x.compare(&a, &c) })
	return docs.Err()
}

// wants reports whether an entry must be kept for the batch of first entries in the sort order: the batch is
// not full, or the entry sorts before the last one in it.
func (b *sortedDocumentIterator) wants(e *sortEntry) bool {
	return len(b.heap.List) < b.room || b.x.compare(e, &b.heap.List[0]) < 0
}

// push adds a copy of an entry to the batch of documents that are sorted in memory. If the batch is full, the
// copy replaces the entry that is last in the order.
func (b *sortedDocumentIterator) push(e sortEntry) {
	if len(b.heap.List) < b.room {
		e.key = slices.Clone(e.key)
		b.x.Run.Hold(&b.held, entrySize+cap(e.key), "ORDER BY")
		b.heap.Push(e)
		b.makeRoom()
		return
	}
	b.full = true
	before := cap(b.heap.List[0].key)
	e.key = append(b.heap.List[0].key[:0], e.key...)
	b.x.Run.Hold(&b.held, cap(e.key)-before, "ORDER BY")
	b.heap.List[0] = e
	b.heap.Fix()
	b.makeRoom()
}

// makeRoom drops the last entries if the keys use too much memory. They are looked for again when those
// before them have been returned.
func (b *sortedDocumentIterator) makeRoom() {
	for b.held > b.x.Run.LimitHeld()/2/len(b.x.sources) && len(b.heap.List) > 1 {
		b.x.Run.Hold(&b.held, -entrySize-cap(b.heap.List[0].key), "ORDER BY")
		b.heap.Pop()
		b.room, b.full = len(b.heap.List), true
	}
}
