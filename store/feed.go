package store

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
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

// ChangeMode says what a change feed shows.
type ChangeMode uint8

// The two modes.
const (
	// LatestVersions shows each item once, as its last write left it; deletes do not show.
	LatestVersions ChangeMode = iota
	// AllVersions shows every change, deletes and expiries among them, as far back as the container's change
	// feed policy keeps them.
	AllVersions
)

// ChangeKind says what happened to an item.
type ChangeKind uint8

// The kinds of changes. ChangeLatest is that of LatestVersions, the others are those of AllVersions. Their
// numbers are stored.
const (
	ChangeLatest  ChangeKind = 0               // created or replaced
	ChangeCreate  ChangeKind = layout.Created  // created
	ChangeReplace ChangeKind = layout.Replaced // replaced, by whichever operation
	ChangeDelete  ChangeKind = layout.Deleted  // deleted, alone or with its whole partition key
	ChangeExpire  ChangeKind = layout.Expired  // purged after its time to live
)

// ChangesStart says where a reader of a change feed begins. The zero ChangesStart is the beginning.
type ChangesStart struct {
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

// ChangesRequest asks for a page of a change feed.
type ChangesRequest struct {
	Scope    Scope
	Mode     ChangeMode
	Start    ChangesStart
	Session  []SessionPosition
	MaxItems int // changes a page, as in ListOptions; a transaction is never cut, so there may be some more
}

// ChangesPage is one page of a change feed: changes in the order of their LSNs inside a partition range,
// ranges one after the other.
type ChangesPage struct {
	Changes []Change // none: nothing has changed behind the start
	// Position is where the next page begins: for ChangesStart.After. It also moves over changes that were
	// passed over, so that they are not looked at again.
	Position string
	// More reports whether the page has ended early, since its time was over: there may be changes behind
	// Position, even if it has none.
	More bool
}

// Changes returns the changes of a scope that come after a start; with none the reader has come to the end,
// for now, unless the page says that there may be more. CodeBadRequest: a malformed position or scope, a
// position ahead of the store, or, for AllVersions, a container that does not keep them or a start that lies
// before what it keeps (its beginning always does, see Kept). CodeRangeGone: a range that does not exist (any
// more). CodeSessionNotAvailable: req.Session is ahead of the store.
func (c *Container) Changes(ctx context.Context, req ChangesRequest) (ChangesPage, Receipt, error) {
	c.beginUse()
	defer c.endUse()
	if err := c.checkPositions(ctx, req.Session); err != nil {
		return ChangesPage{}, c.refused(), err
	}
	from, err := parsePositions(req.Start.After, engine.MaxLSN)
	if err != nil {
		return ChangesPage{}, c.refused(), err
	}
	f := feedReader{c: c, req: &req, limit: pageLimit(req.MaxItems), since: math.MinInt64}
	if !req.Start.Since.IsZero() {
		f.since = req.Start.Since.Unix()
	}
	var ranges []*partition
	var at []uint64
	err = c.withSources(ctx, req.Scope, func(sp span, sources []*source) error {
		ranges, at = sp.ranges, make([]uint64, len(sources))
		for i, src := range sources {
			var err error
			if at[i], err = f.fill(src, from.of(src.s)); err != nil {
				return err
			}
			src.seen = at[i]
		}
		return nil
	})
	if err == nil && req.Start.Now {
		// All that was there before this call is durable by now.
		for i, s := range ranges {
			at[i] = c.position(s)
		}
	}
	r := c.refused()
	if f.served != nil {
		r = c.receipt(f.served, chargeFailure)
	}
	if err != nil {
		return ChangesPage{}, r, err
	}
	f.page.Position = formatPositions(ranges, at)
	r.Charge = round2(chargeRead(f.bytes) + 0.1*float64(len(f.page.Changes)))
	return f.page, r, nil
}

// feedReader fills one page of a change feed.
type feedReader struct {
	c     *Container
	req   *ChangesRequest
	limit int
	since int64 // changes of this second and before are passed over
	page  ChangesPage
	bytes int
	full  bool
	until layout.Sequence // where the page is full: the last one of the transaction that it must not cut
	// the last one of the transaction of the latest change; 0: the range has given none
	whole  layout.Sequence
	served *partition
	rows   []feedRow // scratch, as what follows
	keys   [][]byte
	mem    []byte
}

// fill goes on behind an LSN in one range, and returns the one that it has come to.
func (f *feedReader) fill(src *source, after uint64) (reached uint64, err error) {
	if f.full {
		return after, nil
	}
	f.served, f.whole = src.s, 0
	if err := f.c.checkSession(src.s, f.req.Session); err != nil {
		return after, err
	}
	if !f.req.Start.Now && after > src.at.LSN {
		return after, fault.New(fault.CodeBadRequest,
			"The position in the change feed is ahead of this store: it was given by another one, or before it was restored.")
	}
	at := layout.LastOf(after)
	if f.req.Mode == AllVersions {
		err = f.fillVersions(src, &at)
	} else {
		err = f.fillLatest(src, &at)
	}
	return max(at, f.whole).LSN(), err // a transaction that has taken several is told by the last
}

// past reports whether the entry of a sequence begins the next page.
func (f *feedReader) past(seq layout.Sequence) bool { return f.full && seq > f.until }

// ended reports whether the page is full, or its time over, and the entry of a sequence begins the next one.
// at is where the reader has got to, and goes to the end of the page.
func (f *feedReader) ended(src *source, seq layout.Sequence, at *layout.Sequence) bool {
	switch {
	case f.past(seq):
		*at = f.until
		return true
	case !f.full && src.watch.Late && seq > f.whole:
		f.full, f.page.More = true, true
		return true
	}
	return false
}

// add appends a change; last is the last sequence of its transaction.
func (f *feedReader) add(ch Change, bytes int, last layout.Sequence) {
	ch.LSN = last.LSN()
	f.page.Changes = append(f.page.Changes, ch)
	f.bytes += bytes
	f.whole = last
	if !f.full && (len(f.page.Changes) >= f.limit || f.bytes >= maxPageSize) {
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
func (f *feedReader) fillLatest(src *source, at *layout.Sequence) (err error) {
	if f.req.Start.Now {
		return nil
	}
	it := engine.Expect(src.r.Scan(layout.Behind(src.s.scope, layout.FamilyFeed, *at), false), f.limit+1)
	for more := true; more && err == nil; {
		if more, err = f.gather(src, it); err == nil {
			var ended bool
			ended, err = f.addRows(src, at)
			if more = more && !ended; more && src.watch.Late && *at >= f.whole {
				f.full, f.page.More, more = true, true, false
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
func (f *feedReader) gather(src *source, it engine.Iterator) (more bool, err error) {
	room := math.MaxInt
	if !f.full {
		room = f.limit - len(f.page.Changes)
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
		if r.wanted = r.e.TS > f.since && src.sp.mayWant(r.e.EPK); r.wanted {
			n++
		}
		r.e.EPK = nil // it does not outlive the step
		if f.past(r.seq) {
			r.wanted = false // it ends the page, and begins the next one
			f.rows = append(f.rows, r)
			return false, nil
		}
		if f.rows = append(f.rows, r); src.watch.Late {
			break // what is here is enough for a step
		}
	}
	return true, nil
}

// addRows adds the items that the entries name, and moves the position over the entries; ended reports that
// the page has come to its end.
func (f *feedReader) addRows(src *source, at *layout.Sequence) (ended bool, err error) {
	rows := f.rows
	pass := func() { // the entries that are not wanted
		for ; len(rows) > 0 && !ended && !rows[0].wanted; rows = rows[1:] {
			ended = f.reach(rows[0].seq, at)
		}
	}
	err = engine.GetEach(src.r, f.itemKeys(src.s.scope), func(_ int, value []byte) (bool, error) {
		if pass(); ended || f.reach(rows[0].seq, at) {
			ended = true
			return false, nil
		}
		r := rows[0]
		rows = rows[1:]
		return true, f.addLatest(src, r.seq, r.e, value)
	})
	pass()
	return ended, err
}

// reach moves a position to an entry, or to the end of the page where the entry begins the next one.
func (f *feedReader) reach(seq layout.Sequence, at *layout.Sequence) (ended bool) {
	if f.past(seq) {
		*at = f.until
		return true
	}
	*at = seq
	return false
}

// itemKeys are the keys of the items that are wanted.
func (f *feedReader) itemKeys(scope []byte) [][]byte {
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
func (f *feedReader) addLatest(src *source, seq layout.Sequence, e layout.FeedEntry, value []byte) error {
	if value == nil {
		return fmt.Errorf("%w: the feed entry at %d names no item", engine.ErrCorrupt, seq)
	}
	var r row
	ok, err := src.take(&r, e.RID, value, false)
	if err != nil || !ok {
		return err
	}
	item := Item{c: f.c, rid: r.rid, head: r.head, body: bytes.Clone(r.body)}
	item.head.EPK = bytes.Clone(r.head.EPK)
	f.add(Change{Kind: ChangeLatest, Timestamp: e.TS, Item: item}, len(item.body), e.Last)
	return nil
}
