package posting

import (
	"encoding/binary"
	"math"
	"sort"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/heap"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// PostingUnion merges postings (a posting is the list of the rids at the ends of the index keys with one
// prefix) in the order of their rids. It reads some rids of each posting ahead, so that hundreds of postings
// need neither an iterator each nor a seek per rid. The heap holds the postings that have rids left.
type PostingUnion struct {
	r       engine.Reader
	heap    heap.Heap[*postingCursor]
	reverse bool
	rid     uint64
	valid   bool // rid is valid
	err     error
}

// postingCursor reads the rids of one posting of a PostingUnion in order, some of them ahead.
type postingCursor struct {
	prefix []byte // with free capacity for a rid behind it
	from   uint64 // the rid at which to continue reading
	chunk  int    // how many rids to read next
	ahead  []uint64
	done   bool // all rids of the posting have been read into ahead
}

// The number of rids that a postingCursor reads ahead at first, and the maximum.
const (
	minChunk = 16
	maxChunk = 1024
)

// Merge returns the union of the postings with the given prefixes, starting at rid from, in descending order
// if reverse is set. Each prefix slice must have free capacity for a rid, because the union appends one to
// it.
func Merge(r engine.Reader, prefixes [][]byte, from uint64, reverse bool) *PostingUnion {
	u := &PostingUnion{r: r, reverse: reverse}
	u.heap.Before = func(a, b *postingCursor) bool {
		if reverse {
			a, b = b, a
		}
		return a.ahead[0] < b.ahead[0]
	}
	for _, prefix := range prefixes {
		u.add(&postingCursor{prefix: prefix, from: from, chunk: minChunk})
	}
	u.heap.Init()
	return u
}

// fill makes the reader l of one posting read rids ahead if it has none left. It returns false at the end of
// the posting.
func (u *PostingUnion) fill(l *postingCursor) bool {
	if len(l.ahead) > 0 || l.done || u.err != nil {
		return len(l.ahead) > 0
	}
	rg := engine.Prefix(l.prefix)
	bound := binary.BigEndian.AppendUint64(l.prefix, l.from)
	if u.reverse {
		rg.End = append(bound, 0) // so that the rid itself is included
	} else {
		rg.Start = bound
	}
	it := u.r.Scan(rg, u.reverse)
	l.ahead = l.ahead[:0]
	for len(l.ahead) < l.chunk && it.Next() {
		l.ahead = append(l.ahead, layout.KeyRID(it.Key()))
	}
	u.err = it.Close()
	l.done = len(l.ahead) < l.chunk
	l.chunk = min(2*l.chunk, maxChunk)
	if n := len(l.ahead); n > 0 {
		l.continueAfter(l.ahead[n-1], u.reverse)
	}
	return len(l.ahead) > 0
}

// continueAfter makes the reader of one posting continue after a rid: with the next smaller one if reverse is
// set, otherwise with the next larger one.
func (l *postingCursor) continueAfter(rid uint64, reverse bool) {
	switch {
	case reverse && rid == 0, !reverse && rid == math.MaxUint64:
		l.done = true
	case reverse:
		l.from = rid - 1
	default:
		l.from = rid + 1
	}
}

func (u *PostingUnion) add(l *postingCursor) {
	if u.fill(l) {
		u.heap.List = append(u.heap.List, l)
	}
}

// Next moves to the next rid. It returns false at the end or after an error.
func (u *PostingUnion) Next() bool {
	last, stood := u.rid, u.valid
	for u.valid = false; len(u.heap.List) > 0 && !u.valid && u.err == nil; {
		l := u.heap.List[0]
		u.rid = l.ahead[0]
		u.valid = !stood || u.rid != last
		if l.ahead = l.ahead[1:]; u.fill(l) {
			u.heap.Fix()
		} else {
			u.heap.Pop()
		}
	}
	return u.valid && u.err == nil
}

// SeekGE moves to the first rid that is not before rid, in the order of the union.
func (u *PostingUnion) SeekGE(rid uint64) bool {
	if u.valid && u.rid >= rid {
		return true
	}
	legs := u.heap.List
	u.heap.List = nil
	for _, l := range legs {
		l.ahead = l.ahead[sort.Search(len(l.ahead), func(i int) bool { return l.ahead[i] >= rid }):]
		if len(l.ahead) == 0 {
			l.from = max(l.from, rid)
		}
		u.add(l)
	}
	u.heap.Init()
	return u.Next()
}

// RID returns the rid to which Next or SeekGE has moved.
func (u *PostingUnion) RID() uint64 { return u.rid }

// Close returns the first error of the union. It has nothing to close.
func (u *PostingUnion) Close() error { return u.err }
