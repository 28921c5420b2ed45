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

// The change feed of a range is a scan over the sequences of its range. A change is identified by the LSN
// of its transaction, and a page ends only at the end of a transaction. A reader therefore continues
// after an LSN. There are two feeds:
//
// The latest-version feed (family f) has one entry per item, at the sequence of its last write. A replace
// moves the entry to the end of the feed, and a delete removes it. Items that have expired or are deleted
// by a partition tombstone are skipped, as in every read.
//
// The feed of all versions and deletes (family v) has an entry for each change inside the container's
// retention; see layout.AllVersionsFeedEntry.
//
// A page returns only durable changes. It would not be enough to leave out entries that are not durable: a
// replace that is visible but not durable has already removed the old entry of its item, and a crash would
// restore that entry at a position that the reader has passed. Therefore a page is read from a snapshot,
// and is returned once everything in the snapshot is durable.

// Mode selects what a change feed returns.
type Mode uint8

// The modes of a change feed.
const (
	// LatestVersions returns each item once, as of its last write; deletes are not returned.
	LatestVersions Mode = iota
	// AllVersions returns every change, including deletes and expiries, as far back as the container's
	// change feed policy keeps them.
	AllVersions
)

// ChangeKind is the kind of a change.
type ChangeKind uint8

// The kinds of changes. LatestVersions uses Latest only; AllVersions uses the others. Their numbers are
// stored.
const (
	Latest  ChangeKind = 0               // created or replaced
	Create  ChangeKind = layout.Created  // created
	Replace ChangeKind = layout.Replaced // replaced, by any operation
	Delete  ChangeKind = layout.Deleted  // deleted by itself or with its whole partition key
	Expire  ChangeKind = layout.Expired  // purged after its time to live
)

// StartPosition is the point at which a reader of a change feed begins. The zero StartPosition is the
// beginning of the feed.
type StartPosition struct {
	// Now begins with the changes that are made after the call. The returned page is empty; its Position is
	// the start of the next one. Now overrides After.
	Now bool
	// After is the position of an earlier page of the same scope, or of a scope from which this one was
	// split.
	After string
	// Kept begins a feed of AllVersions at the oldest change that is still kept. It applies to the ranges
	// for which After gives no position.
	Kept bool
	// Since skips the changes of this second and of all seconds before it. It can be combined with the
	// other fields.
	Since time.Time
}

// ChangesPage is one page of a change feed. It holds the ranges one after the other; inside a range the
// changes are in the order of their LSNs.
type ChangesPage struct {
	Changes []Change // empty: nothing has changed after the start
	// Position is the start of the next page, for StartPosition.After. It also advances over skipped changes,
	// so that they are not read again.
	Position string
	// More reports whether the page ended early because its time ran out: there may be changes after
	// Position, even if the page is empty.
	More bool
}

// Reader fills one page of a change feed, range after range.
type Reader struct {
	Owner value.ContainerStateProvider // owner of the items
	Mode  Mode
	Start StartPosition
	Limit int // maximum number of changes per page

	Page  ChangesPage
	Bytes int   // total size of the documents in the page
	since int64 // changes of this second and before are skipped
	full  bool
	until layout.WriteSequence // if full: the last sequence of the transaction at whose end the page must end
	// the sequence (LSN and number) of the last write in the transaction of the latest change; 0: no
	// change of the range yet
	whole layout.WriteSequence
	rows  []latestVersionFeedEntry // reused memory, like the two fields below
	keys  [][]byte
	mem   []byte
}

// Full reports whether the page is full: Fill must not be called again for it.
func (f *Reader) Full() bool { return f.full }

// Fill reads one range from the given LSN (exclusive) and returns the LSN that it has reached. It returns
// CodeBadRequest if the LSN is ahead of the range, or if the feed of all versions no longer reaches back
// to it.
func (f *Reader) Fill(src *scan.DocumentSource, after uint64) (reached uint64, err error) {
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
	return max(at, f.whole).LSN(), err // a transaction with several LSNs is identified by the last one
}

// past reports whether the entry at seq belongs to the next page.
func (f *Reader) past(seq layout.WriteSequence) bool { return f.full && seq > f.until }

// ended reports whether the page ends before the entry at seq, because it is full or its time ran out. at
// is the reader's position; if the page is full, ended sets it to the end of the page.
func (f *Reader) ended(src *scan.DocumentSource, seq layout.WriteSequence, at *layout.WriteSequence) bool {
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

// add appends a change of bytes bytes to the page. last is the last write sequence of the change's
// transaction. If the page is full then, it ends with that transaction.
func (f *Reader) add(ch Change, bytes int, last layout.WriteSequence) {
	ch.LSN = last.LSN()
	f.Page.Changes = append(f.Page.Changes, ch)
	f.Bytes += bytes
	f.whole = last
	if !f.full && (len(f.Page.Changes) >= f.Limit || f.Bytes >= value.MaxPageBytes) {
		f.full, f.until = true, last
	}
}

// latestVersionFeedEntry is an entry of the latest-version feed that was read before its item.
type latestVersionFeedEntry struct {
	seq    layout.WriteSequence
	e      layout.FeedEntry
	wanted bool // its time and its partition key may match the request
}

// maxFeedRows is the maximum number of entries that are read before their items are read.
const maxFeedRows = 4096

// fillLatest reads the latest-version feed of one range, from the position *at on. It reads a batch of
// entries first and then gets all wanted items together.
func (f *Reader) fillLatest(src *scan.DocumentSource, at *layout.WriteSequence) (err error) {
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

// gather reads as many entries as may fill the page. If they fill the page, it also reads the remaining
// entries of the last change's transaction. more reports whether other entries may follow.
func (f *Reader) gather(src *scan.DocumentSource, it engine.Iterator) (more bool, err error) {
	room := math.MaxInt
	if !f.full {
		room = f.Limit - len(f.Page.Changes)
	}
	f.rows = f.rows[:0]
	for n := 0; n < room && len(f.rows) < maxFeedRows; {
		if !it.Next() {
			return false, nil
		}
		var r latestVersionFeedEntry
		r.seq = layout.KeySequence(it.Key())
		if r.e, err = layout.DecodeFeed(it.Value()); err != nil {
			return false, err
		}
		if r.wanted = r.e.TS > f.since && src.Span.MayContain(r.e.EPK); r.wanted {
			n++
		}
		r.e.EPK = nil // it is valid only until the iterator moves
		if f.past(r.seq) {
			r.wanted = false // the entry ends this page and begins the next one
			f.rows = append(f.rows, r)
			return false, nil
		}
		if f.rows = append(f.rows, r); src.Watch.Late {
			break // the rows read so far are enough for one step
		}
	}
	return true, nil
}

// addRows adds to the page the items of the entries that gather has read, and advances the position *at over
// these entries. ended reports whether the page is complete.
func (f *Reader) addRows(src *scan.DocumentSource, at *layout.WriteSequence) (ended bool, err error) {
	rows := f.rows
	pass := func() { // skips the entries that are not wanted
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

// reach sets the reader's position *at to seq, the sequence of an entry that has been read. If the entry
// belongs to the next page, reach sets *at to the end of this page instead and returns true.
func (f *Reader) reach(seq layout.WriteSequence, at *layout.WriteSequence) (ended bool) {
	if f.past(seq) {
		*at = f.until
		return true
	}
	*at = seq
	return false
}

// itemKeys returns the keys of the items of all rows whose field wanted is set. The slices are valid until
// the next call.
func (f *Reader) itemKeys(scope []byte) [][]byte {
	const size = layout.ScopeLen + 1 + layout.RIDLen
	f.keys, f.mem = f.keys[:0], slices.Grow(f.mem[:0], size*len(f.rows))
	for i := range f.rows {
		if r := &f.rows[i]; r.wanted {
			n := len(f.mem)
			f.mem = layout.AppendScopeKey(f.mem, scope, layout.FamilyItem, r.e.RID)
			f.keys = append(f.keys, f.mem[n:len(f.mem):len(f.mem)])
		}
	}
	return f.keys
}

// addLatest adds the item of an entry of the latest-version feed, if it is live and in the scope.
func (f *Reader) addLatest(src *scan.DocumentSource, seq layout.WriteSequence, e layout.FeedEntry,
	stored []byte) error {
	if stored == nil {
		return fmt.Errorf("%w: the feed entry at %d names no item", engine.ErrCorrupt, seq)
	}
	var r scan.StoredDocument
	ok, err := src.Take(&r, e.RID, stored, false)
	if err != nil || !ok {
		return err
	}
	f.add(Change{Kind: Latest, Timestamp: e.TS, Item: r.Item(f.Owner)}, len(r.Body()), e.Last)
	return nil
}
