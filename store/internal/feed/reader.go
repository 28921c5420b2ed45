package feed

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// The change feed of a range is a walk over the sequences of its slot. Changes are told by the LSN of their
// transaction, and a page ends where a transaction ends: so a reader goes on behind an LSN. There are two:
//
// The latest-version feed (family f) has one entry an item, at the sequence of its last write. A replace
// moves the entry to the end, a delete takes it away, and what has expired or lies below a tombstone is
// passed over as in every read.
//
// The feed of all versions and deletes (family v) has an entry for each change that is still inside of the
// container's retention; see version.
//
// Nothing is answered that is not durable. A replace that is visible but not durable has already taken its
// item's old entry away, so it is not enough to leave the new one out: a crash would bring the old one back
// behind the reader. Therefore a page is read from a snapshot, and the answer waits until all that the
// snapshot shows is durable.

// Mode says what a change feed shows.
type Mode uint8

// The two modes.
const (
	// LatestVersions shows each item once, as its last write left it; deletes do not show.
	LatestVersions Mode = iota
	// AllVersions shows every change, deletes and expiries among them, as far back as the container's change
	// feed policy keeps them.
	AllVersions
)

// Kind says what happened to an item.
type Kind uint8

// The kinds of changes. Latest is that of LatestVersions, the others are those of AllVersions. Their
// numbers are stored.
const (
	Latest  Kind = 0               // created or replaced
	Create  Kind = layout.Created  // created
	Replace Kind = layout.Replaced // replaced, by whichever operation
	Delete  Kind = layout.Deleted  // deleted, alone or with its whole partition key
	Expire  Kind = layout.Expired  // purged after its time to live
)

// Start says where a reader of a change feed begins. The zero Start is the beginning.
type Start struct {
	// Now begins with what changes after the call: the page is empty, its position is what counts. It goes
	// before After.
	Now bool
	// After is the position of an earlier page, of the same scope or of one that it has been split from.
	After string
	// Kept begins a feed of AllVersions with the oldest change that is kept, in ranges of which After says
	// nothing.
	Kept bool
	// Since passes over what was written in this second or before. It applies together with the others.
	Since time.Time
}

// Page is one page of a change feed: changes in the order of their LSNs inside a partition range,
// ranges one after the other.
type Page struct {
	Changes []Change // none: nothing has changed behind the start
	// Position is where the next page begins: for Start.After. It also moves over changes that were
	// passed over, so that they are not looked at again.
	Position string
	// More reports whether the page has ended early, since its time was over: there may be changes behind
	// Position, even if it has none.
	More bool
}

// Reader fills one page of a change feed, range after range.
type Reader struct {
	Owner value.Owner // of the items
	Mode  Mode
	Start Start
	Limit int // changes a page

	Page  Page
	Bytes int   // of the documents in the page
	since int64 // changes of this second and before are passed over
	full  bool
	until layout.Sequence // where the page is full: the last one of the transaction that it must not cut
	// the last one of the transaction of the latest change; 0: the range has given none
	whole layout.Sequence
	rows  []feedRow // scratch, as what follows
	keys  [][]byte
	mem   []byte
}

// Full reports whether no further range is read for the page.
func (f *Reader) Full() bool { return f.full }

// Fill goes on behind an LSN in one range, and returns the one that it has come to. It fails with
// CodeBadRequest where the LSN is ahead of the range, or where the feed of all versions does not reach back
// to it.
func (f *Reader) Fill(src *scan.Source, after uint64) (reached uint64, err error) {
	f.whole = 0
	if f.since = math.MinInt64; !f.Start.Since.IsZero() {
		f.since = f.Start.Since.Unix()
	}
	if !f.Start.Now && after > src.At.LSN {
		return after, fault.New(fault.CodeBadRequest,
			"The position in the change feed is ahead of this store: it was given by another one, or before it was restored.")
	}
	at := layout.LastOf(after)
	if f.Mode == AllVersions {
		err = f.fillVersions(src, &at)
	} else {
		err = f.fillLatest(src, &at)
	}
	return max(at, f.whole).LSN(), err // a transaction that has taken several is known by the last
}

// past reports whether the entry of a sequence begins the next page.
func (f *Reader) past(seq layout.Sequence) bool { return f.full && seq > f.until }

// ended reports whether the page is full, or its time over, and the entry of a sequence begins the next one.
// at is where the reader has got to, and goes to the end of the page.
func (f *Reader) ended(src *scan.Source, seq layout.Sequence, at *layout.Sequence) bool {
	switch {
	case f.past(seq):
		*at = f.until
		return true
	case !f.full && src.Watch.Late && seq > f.whole:
		f.full, f.Page.More = true, true
		return true
	}
	return false
}

// add appends a change; last is the last sequence of its transaction.
func (f *Reader) add(ch Change, bytes int, last layout.Sequence) {
	ch.LSN = last.LSN()
	f.Page.Changes = append(f.Page.Changes, ch)
	f.Bytes += bytes
	f.whole = last
	if !f.full && (len(f.Page.Changes) >= f.Limit || f.Bytes >= value.MaxPageBytes) {
		f.full, f.until = true, last
	}
}

// feedRow is an entry of the latest-version feed, read ahead of its item.
type feedRow struct {
	seq    layout.Sequence
	e      layout.FeedEntry
	wanted bool // by its time and its place
}

// maxFeedRows is how many entries are read ahead of their items.
const maxFeedRows = 4096

// fillLatest is fill in the latest-version feed: entries first, then the items of those that are wanted,
// together.
func (f *Reader) fillLatest(src *scan.Source, at *layout.Sequence) (err error) {
	if f.Start.Now {
		return nil
	}
	entries := layout.Behind(src.Range.Scope, layout.FamilyFeed, *at)
	it := engine.Expect(src.Reader.Scan(entries, false), f.Limit+1)
	for more := true; more && err == nil; {
		if more, err = f.gather(src, it); err == nil {
			var ended bool
			ended, err = f.addRows(src, at)
			if more = more && !ended; more && src.Watch.Late && *at >= f.whole {
				f.full, f.Page.More, more = true, true, false
			}
		}
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return err
}

// gather reads entries, as many as may fill the page; once it is full, those that the transaction of its last
// change has left. more reports that others may follow.
func (f *Reader) gather(src *scan.Source, it engine.Iterator) (more bool, err error) {
	room := math.MaxInt
	if !f.full {
		room = f.Limit - len(f.Page.Changes)
	}
	f.rows = f.rows[:0]
	for n := 0; n < room && len(f.rows) < maxFeedRows; {
		if !it.Next() {
			return false, nil
		}
		var r feedRow
		r.seq = layout.KeySequence(it.Key())
		if r.e, err = layout.DecodeFeed(it.Value()); err != nil {
			return false, err
		}
		if r.wanted = r.e.TS > f.since && src.Span.MayWant(r.e.EPK); r.wanted {
			n++
		}
		r.e.EPK = nil // it does not outlive the step
		if f.past(r.seq) {
			r.wanted = false // it ends the page, and begins the next one
			f.rows = append(f.rows, r)
			return false, nil
		}
		if f.rows = append(f.rows, r); src.Watch.Late {
			break // what is here is enough for a step
		}
	}
	return true, nil
}

// addRows adds the items that the entries name, and moves the position over the entries; ended reports that
// the page has come to its end.
func (f *Reader) addRows(src *scan.Source, at *layout.Sequence) (ended bool, err error) {
	rows := f.rows
	pass := func() { // the entries that are not wanted
		for ; len(rows) > 0 && !ended && !rows[0].wanted; rows = rows[1:] {
			ended = f.reach(rows[0].seq, at)
		}
	}
	err = engine.GetEach(src.Reader, f.itemKeys(src.Range.Scope), func(_ int, stored []byte) (bool, error) {
		if pass(); ended || f.reach(rows[0].seq, at) {
			ended = true
			return false, nil
		}
		r := rows[0]
		rows = rows[1:]
		return true, f.addLatest(src, r.seq, r.e, stored)
	})
	pass()
	return ended, err
}

// reach moves a position to an entry, or to the end of the page where the entry begins the next one.
func (f *Reader) reach(seq layout.Sequence, at *layout.Sequence) (ended bool) {
	if f.past(seq) {
		*at = f.until
		return true
	}
	*at = seq
	return false
}

// itemKeys are the keys of the items that are wanted.
func (f *Reader) itemKeys(scope []byte) [][]byte {
	const size = layout.ScopeLen + 1 + layout.RIDLen
	f.keys, f.mem = f.keys[:0], slices.Grow(f.mem[:0], size*len(f.rows))
	for i := range f.rows {
		if r := &f.rows[i]; r.wanted {
			n := len(f.mem)
			f.mem = layout.AppendSlotKey(f.mem, scope, layout.FamilyItem, r.e.RID)
			f.keys = append(f.keys, f.mem[n:len(f.mem):len(f.mem)])
		}
	}
	return f.keys
}

// addLatest adds the item that an entry of the latest-version feed names, if it is alive and in the scope.
func (f *Reader) addLatest(src *scan.Source, seq layout.Sequence, e layout.FeedEntry, stored []byte) error {
	if stored == nil {
		return fmt.Errorf("%w: the feed entry at %d names no item", engine.ErrCorrupt, seq)
	}
	var r scan.Row
	ok, err := src.Take(&r, e.RID, stored, false)
	if err != nil || !ok {
		return err
	}
	f.add(Change{Kind: Latest, Timestamp: e.TS, Item: r.Item(f.Owner)}, len(r.Body()), e.Last)
	return nil
}
