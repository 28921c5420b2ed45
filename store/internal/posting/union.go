package posting

import (
	"encoding/binary"
	"math"
	"sort"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/heap"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// Union merges postings in the order of their rids. Each of them is read some rids ahead, so that hundreds
// cost neither an iterator each nor a seek a rid. The heap holds those that have rids ahead.
type Union struct {
	r       engine.Reader
	heap    heap.Of[*leaf]
	reverse bool
	rid     uint64
	on      bool // it stands on rid
	err     error
}

// leaf is one of the postings of a union.
type leaf struct {
	prefix []byte // with room for a rid
	from   uint64 // where to read on
	chunk  int    // how many rids to read
	ahead  []uint64
	done   bool // there is nothing behind ahead
}

// How many rids a leaf reads at first, and at most.
const (
	minChunk = 16
	maxChunk = 1024
)

// Merge is the union of the postings behind prefixes, each with room for a rid, from a rid on.
func Merge(r engine.Reader, prefixes [][]byte, from uint64, reverse bool) *Union {
	u := &Union{r: r, reverse: reverse}
	u.heap.Before = func(a, b *leaf) bool {
		if reverse {
			a, b = b, a
		}
		return a.ahead[0] < b.ahead[0]
	}
	for _, prefix := range prefixes {
		u.add(&leaf{prefix: prefix, from: from, chunk: minChunk})
	}
	u.heap.Init()
	return u
}

// fill reads ahead where nothing is left; false at the end.
func (u *Union) fill(l *leaf) bool {
	if len(l.ahead) > 0 || l.done || u.err != nil {
		return len(l.ahead) > 0
	}
	rg := engine.Prefix(l.prefix)
	bound := binary.BigEndian.AppendUint64(l.prefix, l.from)
	if u.reverse {
		rg.End = append(bound, 0) // behind the rid itself
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
		l.goOn(l.ahead[n-1], u.reverse)
	}
	return len(l.ahead) > 0
}

// goOn makes a leaf read on behind a rid.
func (l *leaf) goOn(rid uint64, reverse bool) {
	switch {
	case reverse && rid == 0, !reverse && rid == math.MaxUint64:
		l.done = true
	case reverse:
		l.from = rid - 1
	default:
		l.from = rid + 1
	}
}

func (u *Union) add(l *leaf) {
	if u.fill(l) {
		u.heap.List = append(u.heap.List, l)
	}
}

// Next implements query.Postings.
func (u *Union) Next() bool {
	last, stood := u.rid, u.on
	for u.on = false; len(u.heap.List) > 0 && !u.on && u.err == nil; {
		l := u.heap.List[0]
		u.rid = l.ahead[0]
		u.on = !stood || u.rid != last
		if l.ahead = l.ahead[1:]; u.fill(l) {
			u.heap.Fix()
		} else {
			u.heap.Pop()
		}
	}
	return u.on && u.err == nil
}

// SeekGE implements query.Postings.
func (u *Union) SeekGE(rid uint64) bool {
	if u.on && u.rid >= rid {
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

// RID implements query.Postings.
func (u *Union) RID() uint64 { return u.rid }

// Close implements query.Postings.
func (u *Union) Close() error { return u.err }
