package exec

import (
	"slices"

	"github.com/mayflydb/mayfly/query/internal/source"
)

// prefetchTerms returns an iterator over the same terms that also prefetches their documents, if the source
// is slow to reach: first about as many documents as a page can need, then twice as many each time. To do so
// it reads that many entries ahead. needs reports whether the document of an entry will be fetched; nil:
// always.
func (x *Execution) prefetchTerms(src source.DocumentSource, terms source.IndexEntryIterator,
	needs func(rid uint64) bool) source.IndexEntryIterator {
	p, ok := src.(source.Prefetcher)
	if !ok || p.Prefetches() == 0 {
		return terms
	}
	return &prefetchingIndexEntryIterator{IndexEntryIterator: terms, src: p, needs: needs,
		room: min(x.room(), p.Prefetches())}
}

// prefetchingIndexEntryIterator iterates over index entries and reads some of them ahead, so that the source
// can prefetch their documents together.
type prefetchingIndexEntryIterator struct {
	source.IndexEntryIterator
	src   source.Prefetcher
	needs func(rid uint64) bool
	room  int // how many entries are read next
	ahead []copiedIndexEntry
	at    int // index of the current entry
	ended bool
}

// copiedIndexEntry is a copy of an index entry.
type copiedIndexEntry struct {
	key, value []byte
	rid        uint64
}

// Next moves to the next entry and returns false at the end.
func (t *prefetchingIndexEntryIterator) Next() bool {
	if t.at+1 < len(t.ahead) {
		t.at++
		return true
	}
	t.ahead, t.at = t.ahead[:0], 0
	var rids []uint64
	for !t.ended && len(t.ahead) < t.room {
		if t.ended = !t.IndexEntryIterator.Next(); t.ended {
			break
		}
		from := t.IndexEntryIterator
		e := copiedIndexEntry{slices.Clone(from.Key()), slices.Clone(from.Value()), from.RID()}
		t.ahead = append(t.ahead, e)
		if t.needs == nil || t.needs(e.rid) {
			rids = append(rids, e.rid)
		}
	}
	if len(rids) > 0 {
		t.src.Prefetch(rids)
	}
	t.room = min(2*t.room, t.src.Prefetches())
	return len(t.ahead) > 0
}

// Key returns the key of the current entry, without the rid.
func (t *prefetchingIndexEntryIterator) Key() []byte { return t.ahead[t.at].key }

// Value returns the value of the current entry.
func (t *prefetchingIndexEntryIterator) Value() []byte { return t.ahead[t.at].value }

// RID returns the rid of the current entry.
func (t *prefetchingIndexEntryIterator) RID() uint64 { return t.ahead[t.at].rid }

// prefetchList prefetches the documents of a list that is fetched one by one, if the source is slow to
// reach. It is called with each index in turn; at some of them it prefetches the following documents.
func prefetchList(src source.DocumentSource, at, n int, rid func(i int) uint64) {
	p, ok := src.(source.Prefetcher)
	if !ok {
		return
	}
	room := p.Prefetches()
	if room == 0 || at%room != 0 {
		return
	}
	rids := make([]uint64, min(room, n-at))
	for i := range rids {
		rids[i] = rid(at + i)
	}
	p.Prefetch(rids)
}
