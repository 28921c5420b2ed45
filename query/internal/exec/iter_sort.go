package exec

import (
	"slices"

	"github.com/mayflydb/mayfly/internal/heap"
	"github.com/mayflydb/mayfly/query/internal/source"
	"github.com/mayflydb/mayfly/query/spill"
)

// batch iterates over the documents of a source in order by looking at all of them and keeping the first
// ones, as many as a page can need. When those run out it looks again for the ones after them, so its memory
// is bounded by the page.
type batch struct {
	x      *Execution
	src    source.Source
	source int
	open   func() (source.Documents, error) // what to look at
	room   int
	held   int            // bytes of heap
	heap   heap.Of[entry] // while it is filled: the last one on top; then in order
	given  int
	full   bool // there may be more
	last   entry
	begun  bool
	after  *entry // none but what comes behind it; nil: all
	doc    source.Document

	whole bool            // of all documents of the source that are wanted
	it    *spill.Iterator // they are in files; nil: they are not
}

const maxRoom = 10_000

// entrySize is about how many bytes an entry takes besides its key.
const entrySize = 64

// room is how many documents a page can need, and one more, to see whether there is another page.
func (x *Execution) room() int {
	n := int64(x.Opts.MaxItems)
	if x.done.Limit >= 0 {
		n = min(n, x.done.Limit)
	}
	return int(min(n+x.done.Offset, maxRoom)) + 1
}

func (x *Execution) newBatch(src source.Source, source int, open func() (source.Documents, error)) *batch {
	last := func(a, c entry) bool { return x.compare(&a, &c) > 0 }
	return &batch{x: x, src: src, source: source, open: open, room: x.room(),
		heap: heap.Of[entry]{Before: last}}
}

func (b *batch) Next() (bool, error) {
	for {
		if b.given == len(b.heap.List) {
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
		b.last = b.heap.List[b.given]
		b.given++
		b.x.sortedRows--
		d, live, err := b.src.Fetch(b.last.rid)
		if err != nil || live {
			b.doc = d
			return live, err
		}
	}
}

func (b *batch) at() (*entry, source.Document) { return &b.last, b.doc }

// fill looks at all documents and keeps the first ones behind those that were given out.
func (b *batch) fill() (err error) {
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
	b.heap.List, b.given, b.full, b.held, b.room = b.heap.List[:0], 0, false, 0, x.room()
	var key []byte
	for x.Next(docs) {
		d := docs.Document()
		x.load(d)
		key = x.orderKey(key[:0])
		e := entry{key: key, source: b.source, rid: d.RID(), holds: true}
		if x.behind(&e) && (b.after == nil || x.compare(&e, b.after) > 0) &&
			(!b.begun || x.compare(&e, &b.last) > 0) {
			if !b.wants(&e) {
				b.full = true
			} else if x.passes(x.Plan.Rows) {
				b.push(e)
			}
		}
		if _, err := x.stop(); err != nil { // time does not end it: nothing is known before all is seen
			return err
		}
	}
	b.begun = true
	x.sortedRows += len(b.heap.List)
	slices.SortFunc(b.heap.List, func(a, c entry) int { return x.compare(&a, &c) })
	return docs.Err()
}

// wants reports whether an entry is among the first so far.
func (b *batch) wants(e *entry) bool {
	return len(b.heap.List) < b.room || b.x.compare(e, &b.heap.List[0]) < 0
}

// push adds an entry, a copy, in place of the last one where there is no room.
func (b *batch) push(e entry) {
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

// shed gives the last entries up where their keys take too much memory: they are looked for again when those
// before are given out.
func (b *batch) makeRoom() {
	for b.held > b.x.Run.LimitHeld()/2/len(b.x.sources) && len(b.heap.List) > 1 {
		b.x.Run.Hold(&b.held, -entrySize-cap(b.heap.List[0].key), "ORDER BY")
		b.heap.Pop()
		b.room, b.full = len(b.heap.List), true
	}
}
