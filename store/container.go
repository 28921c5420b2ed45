package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/ttl"
)

// Container holds items of one partition key definition under one expiry policy. A *Container stays valid
// through changes of its settings; once it is dropped every call fails with CodeNotFound.
type Container struct {
	db   *DB
	d    *Database
	cid  uint32
	name string
	// def and uniques never change; they are copies of what the spec says.
	def     PartitionKeyDefinition
	uniques int

	// gate makes the policy and the moment one: writes, purges and readers of the policy hold it shared, a
	// change of state holds it exclusively. state is replaced whole, under the gate.
	gate  gate
	state atomic.Pointer[containerState]

	splitting turn // of the one that splits a range of the container; taken before ddl and the gate

	count    itemCount
	spending budget // of its own throughput
	marks    marks
	watch    notifier
	mourners notifier // who follow the log of expiries
	reaping  reaping
	used     atomic.Int64 // the last second in which the container was used, where its settings ask: see idle.go
	usedKept int64        // what is stored of it; the reaper's and, with it at rest, Close's
	lints    lintBook
	overruns overruns      // of its scripts
	purged   atomic.Uint64 // items, since Open
}

// containerState is immutable.
type containerState struct {
	rec     containerRecord
	spec    ContainerSpec
	terms   *index.Indexer   // of spec, beside olders
	olders  []*index.Indexer // of rec.IndexedBy
	ranges  []*slot          // by EPK
	vectors []vectorAt       // of spec
	fences  map[string]uint64
	dropped bool
}

// slot is a partition range and where its items lie. It lives as long as the range, through changes of state.
type slot struct {
	rec      rangeRecord
	id       string
	number   uint16
	scope    []byte
	parents  []string
	min, max []byte // EPK bytes; an empty max has no upper bound

	// Where the reaper's pass over the families w and x has come to. A write below it or a change of policy sets
	// rescan, and the next step begins anew.
	pass
	announcing pass // the same for the log of expiries, where purges are held back
	rescan     atomic.Bool
	begun      int64 // the second in which the pass last began at the head; the reaper's

	shapes    shapeBook
	reindexed atomic.Uint64         // how far documents have been indexed anew: a rid, or allReindexed
	behind    atomic.Uint64         // the LSN behind the last one of a range that has been split; 0: it has not been
	noted     atomic.Pointer[notes] // what is written while a split copies the range; nil: none does. Changes under the gate
	told      atomic.Uint64         // the highest LSN that a read or a commit has told to be durable; 0: none has
}

// tell notes how far the range has come, and returns how far that is.
func (s *slot) tell(lsn uint64) uint64 {
	for old := s.told.Load(); old < lsn; old = s.told.Load() {
		if s.told.CompareAndSwap(old, lsn) {
			return lsn
		}
	}
	return max(lsn, s.told.Load())
}

// last is the last LSN of a range that has been split.
func (s *slot) last() (lsn uint64, split bool) {
	n := s.behind.Load()
	return n - 1, n > 0
}

// ContainerInfo is one state of a container.
type ContainerInfo struct {
	ID, RID, ETag           string // ETag with its literal quotes
	DatabaseID, DatabaseRID string
	Timestamp               int64 // seconds since 1970 of the last change
	Spec                    ContainerSpec
}

// Range is a partition key range: the items whose effective partition key lies in [Min, Max).
type Range struct {
	ID, RID, ETag string
	Min, Max      string // upper-case hexadecimal; the first Min is "", the last Max "FF"
	Parents       []string
	Fraction      float64 // of the container's throughput
	LSN           uint64  // the range's position
	Timestamp     int64   // seconds since 1970

	// Splitting tells that the range is being split.
	Splitting bool

	made uint64 // the catalog's LSN then
}

// RangeSet is all ranges of a container, contiguous and in order.
type RangeSet struct {
	ETag   string // changes when a range does
	Ranges []Range

	incarnation uint32 // of the etag
}

// Since are those of the ranges that have come since the set had an etag; all of them where it is not one that it had.
func (set RangeSet) Since(etag string) []Range {
	lsn, err := strconv.ParseUint(bareETag(etag)[max(len(bareETag(etag))-12, 0):], 16, 64)
	if err != nil || !etagMatches(etag, rangesETag(set.incarnation, lsn)) || rangesETag(set.incarnation, lsn) > set.ETag {
		return set.Ranges
	}
	return slices.DeleteFunc(slices.Clone(set.Ranges), func(r Range) bool { return r.made <= lsn })
}

func rangesETag(incarnation uint32, lsn uint64) string { return etagText(incarnation, 1, lsn) }

func newContainer(d *Database, rec containerRecord, spec ContainerSpec) (*Container, error) {
	c := &Container{
		db: d.db, d: d, cid: rec.CID, name: spec.ID, def: spec.PartitionKey, uniques: spec.UniqueKeys.Len(),
		gate: newGate(), splitting: newTurn(), count: itemCount{turn: newTurn()},
	}
	st := &containerState{rec: rec, spec: spec, vectors: spec.vectors()}
	if err := st.compile(); err != nil {
		return nil, err
	}
	for _, r := range rec.Ranges {
		s, err := newSlot(rec.CID, r)
		if err != nil {
			return nil, err
		}
		st.ranges = append(st.ranges, s)
	}
	c.state.Store(st)
	return c, nil
}

func newSlot(cid uint32, r rangeRecord) (s *slot, err error) {
	s = &slot{rec: r, id: strconv.Itoa(r.ID), number: r.Slot, scope: slotScope(cid, r.Slot), parents: []string{}}
	for _, p := range r.Parents {
		s.parents = append(s.parents, strconv.Itoa(p))
	}
	if s.min, err = hex.DecodeString(r.Min); err != nil {
		return nil, fmt.Errorf("%w: range bound %q", engine.ErrCorrupt, r.Min)
	}
	if r.Max != maxEPK {
		if s.max, err = hex.DecodeString(r.Max); err != nil {
			return nil, fmt.Errorf("%w: range bound %q", engine.ErrCorrupt, r.Max)
		}
	}
	return s, nil
}

// answersFor tells whether the range has this id, or came from one that had it.
func (s *slot) answersFor(id string) bool { return s.id == id || slices.Contains(s.parents, id) }

// maxEPK is the exclusive end of the space of effective partition keys.
const maxEPK = "FF"

// loadSlots reads what a container's slots have recorded: the store's time is not behind the last write and the
// last purge, and partition keys that are being deleted stay hidden.
func (c *Container) loadSlots(r engine.Reader) error {
	st := *c.state.Load()
	var wrote int64
	for _, s := range st.ranges {
		last, err := lastFeedEntry(r, s.scope)
		if err != nil {
			return err
		}
		c.note(markWrite, last.ts)
		version, err := lastVersionTime(r, s.scope)
		if err != nil {
			return err
		}
		c.note(markWrite, version)
		swept, err := r.Get(sweptKey(s.scope))
		if err != nil && !isAbsent(err) {
			return err
		}
		if n, ok := ridOf(swept); ok {
			c.note(markPurge, int64(n))
		}
		leased, err := r.Get(leasedKey(s.scope))
		if err != nil && !isAbsent(err) {
			return err
		}
		if n, ok := ridOf(leased); ok {
			c.note(markLease, int64(n))
		}
		if err := st.loadReindexed(r, s); err != nil {
			return err
		}
		wrote = max(wrote, last.ts, version)
	}
	if err := c.loadUse(r, wrote); err != nil {
		return err
	}
	var err error
	if st.fences, err = loadFences(r, c.cid); err != nil {
		return err
	}
	c.state.Store(&st)
	return nil
}

func lastFeedEntry(r engine.Reader, scope []byte) (last feedEntry, err error) {
	it := r.Scan(slotFamily(scope, famFeed), true)
	if it.Next() {
		last, err = decodeFeed(it.Value())
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return last, err
}

// ID is the container's id.
func (c *Container) ID() string { return c.name }

// Info is the container's present state.
func (c *Container) Info() ContainerInfo {
	st := c.state.Load()
	return ContainerInfo{
		ID: c.name, RID: c.RID(), ETag: etagText(c.db.incarnation, 0, st.rec.LSN),
		DatabaseID: c.d.ID(), DatabaseRID: c.d.RID(),
		Timestamp: st.rec.TS, Spec: st.spec,
	}
}

// RID is the container's resource id.
func (c *Container) RID() string { return ridText(containerRIDBytes(c.d.rec.Num, c.cid)) }

// self is the container's rid path, with its trailing slash.
func (c *Container) self() string { return string(c.appendSelf(nil)) }

func (c *Container) appendSelf(dst []byte) []byte {
	dst = appendRID(append(dst, "dbs/"...), databaseRIDBytes(c.d.rec.Num))
	dst = appendRID(append(dst, "/colls/"...), containerRIDBytes(c.d.rec.Num, c.cid))
	return append(dst, '/')
}

// incarnation distinguishes the etags of this container from those of any other, here and in other stores.
func (c *Container) incarnation() uint32 { return c.db.incarnation ^ (c.cid &^ cidBit) }

// Ranges are the container's partition key ranges.
func (c *Container) Ranges() RangeSet {
	st := c.state.Load()
	set := RangeSet{ETag: rangesETag(c.db.incarnation, st.rec.RangeLSN), incarnation: c.db.incarnation}
	for i, s := range st.ranges {
		r := Range{
			ID: s.id, Min: s.rec.Min, Max: s.rec.Max, Parents: slices.Clone(s.parents),
			RID:       ridText(childRIDBytes(c.d.rec.Num, c.cid, ridTypeRange<<60|uint64(s.rec.ID)+1)),
			ETag:      etagText(c.db.incarnation, s.number, st.madeAt(i)),
			Fraction:  1 / float64(len(st.ranges)),
			LSN:       c.db.eng.Horizon(s.scope),
			Timestamp: s.rec.TS,
			Splitting: st.rec.Split != nil && s.number == st.rec.Split.From,
			made:      st.madeAt(i),
		}
		set.Ranges = append(set.Ranges, r)
	}
	return set
}

// Position is the LSN of a range; of the first one where rangeID is empty or unknown.
func (c *Container) Position(rangeID string) (id string, lsn uint64) {
	st := c.state.Load()
	s := st.ranges[0]
	if r := st.rangeByID(rangeID); r != nil {
		s = r
	}
	return s.id, c.position(s)
}

// madeAt is the catalog's LSN at which the i-th range came to be.
func (st *containerState) madeAt(i int) uint64 {
	if lsn := st.rec.Ranges[i].LSN; lsn > 0 {
		return lsn
	}
	return st.rec.RangeLSN
}

func (st *containerState) rangeByID(id string) *slot {
	for _, s := range st.ranges {
		if s.id == id {
			return s
		}
	}
	return nil
}

// rangeOf is the range that an effective partition key lies in.
func (st *containerState) rangeOf(epk []byte) *slot {
	lo, hi := 0, len(st.ranges)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; bytes.Compare(st.ranges[mid].min, epk) <= 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return st.ranges[lo]
}

func (s *slot) holds(epk []byte) bool {
	return bytes.Compare(s.min, epk) <= 0 && (len(s.max) == 0 || bytes.Compare(epk, s.max) < 0)
}

func (st *containerState) policy() *ttl.Policy { return &st.rec.Policy }

// fenced tells whether an item was deleted with its whole partition key. pk is only asked for where a
// partition key of the same hash was.
func (st *containerState) fenced(h header, pk func() []byte) bool {
	if len(st.fences) == 0 {
		return false
	}
	lsn, ok := st.fences[fenceName(h.epk, pk())]
	return ok && h.lsn <= lsn
}

// enter takes the gate shared and returns the state and the moment that hold until leave. CodeCanceled: ctx has ended before.
func (c *Container) enter(ctx context.Context) (*containerState, int64, error) {
	if err := c.gate.share(ctx); err != nil {
		return nil, 0, err
	}
	st := c.state.Load()
	if err := c.usable(st); err != nil {
		c.gate.leave()
		return nil, 0, err
	}
	return st, c.moment(), nil
}

// leave ends enter.
func (c *Container) leave() { c.gate.leave() }

// look returns a state and a moment that belong together. It holds nothing: that the state is still the container's is to be
// asked of the gate, by at. Changes that wait for those who are in the container do not hold it up.
func (c *Container) look(ctx context.Context) (st *containerState, now int64, at uint64, err error) {
	for {
		if at, err = c.gate.look(ctx); err != nil {
			return nil, 0, 0, err
		}
		st, now = c.state.Load(), c.moment()
		if c.gate.still(at) {
			return st, now, at, c.usable(st)
		}
	}
}

// usable refuses a container that is gone.
func (c *Container) usable(st *containerState) error {
	if st.dropped {
		return c.gone()
	}
	return nil
}

func (c *Container) gone() error {
	return fail(CodeOwnerNotFound, "The container "+c.name+" does not exist.")
}

// change replaces the state while nobody else uses it. fn returns the next state; what it makes durable must
// be so when it returns. CodeCanceled: ctx has ended before those who use it have left.
func (c *Container) change(ctx context.Context, fn func(st containerState, now int64) (containerState, error)) error {
	if err := c.gate.shut(ctx); err != nil {
		return err
	}
	defer c.gate.open()
	st := c.state.Load()
	if err := c.usable(st); err != nil {
		return err
	}
	next, err := fn(*st, c.moment())
	if err != nil {
		return err
	}
	c.note(markSettings, next.rec.TS)
	c.state.Store(&next)
	c.watch.notify()
	c.mourners.notify()
	return nil
}
