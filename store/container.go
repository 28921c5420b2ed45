package store

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/lint"
	"github.com/mayflydb/mayfly/store/internal/procedure"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// Container holds items of one partition key definition under one expiry policy. A *Container stays valid
// through changes of its settings; once it is dropped every call fails with CodeNotFound.
type Container struct {
	ds   *openDataset
	d    *Database
	cid  uint32
	name string
	// def is the partition key definition. items holds those properties of the container that transactions on
	// its items need. Both are derived from the stored record and never change.
	def   definition.PartitionKeyDefinition
	items transaction.ImmutableContainerProperties

	// gate is the lock of the container's state. Writes, purges and readers of the expiry policy hold it
	// shared, so that the policy and the current second of an operation belong together. A change holds it
	// exclusively and replaces state as a whole.
	gate  host.CancelableRWLock
	state atomic.Pointer[container.State]

	splitting host.CancelableMutex // held during a split of a range; taken before the catalog's lock and the gate

	count             cachedItemCount
	spending          work.ThroughputBudget // of the container's own throughput
	plans             work.PlanCache
	marks             container.LatestEventTimes
	notifier          host.WaiterNotifier
	expirySubscribers host.WaiterNotifier // subscribers of the log of expiries
	splitEnds         host.WaiterNotifier // notified when another server's change of the state has been read
	reaping           containerReaperState
	// used is the last second in which the container was used; a container that is idle for too long deletes
	// itself. It is kept only if AutoDeleteOnIdle is set.
	used       atomic.Int64
	usedKept   int64 // the stored value of used; changed by the reaper only, and at last by Close
	lints      lint.ViolationCounters
	violations procedure.LimitViolationCounters // of the container's scripts
	purged     atomic.Uint64                    // number of items purged since Open
}

// cachedItemCount caches the number of the container's items, as it was last counted. It is valid until the
// next write.
type cachedItemCount struct {
	host.CancelableMutex        // held while counting or reading the last count
	version              string // what was counted, see inspect.Version; empty: not known
	usage                inspect.StorageUsage
	text                 atomic.Pointer[string] // the usage as text; nil before the first count
}

// LastUsage returns the text of the last result of Usage; before the first count, that of an empty
// container. Responses about items contain it. It never waits for a count, and no decision depends on it.
func (c *Container) LastUsage() string {
	if text := c.count.text.Load(); text != nil {
		return *text
	}
	return unusedText
}

var unusedText = inspect.StorageUsage{}.Text()

// ContainerInfo describes a container: its names, its definition and the time of its last change.
type ContainerInfo struct {
	ID, RID, ETag           string // ETag with its literal quotes
	DatabaseID, DatabaseRID string
	Timestamp               int64 // seconds since 1970 of the last change
	Spec                    definition.ContainerSpec
}

// PartitionRange is a partition key range: the items whose effective partition key lies in [Min, Max).
type PartitionRange struct {
	ID, RID, ETag string
	Min, Max      string // upper-case hexadecimal; the first Min is "", the last Max "FF"
	Parents       []string
	Fraction      float64 // of the container's throughput
	LSN           uint64  // the highest LSN of the range that is known to be durable
	Timestamp     int64   // seconds since 1970

	// Splitting reports whether the range is being split.
	Splitting bool

	made uint64 // the catalog's LSN at which the range was created
}

// PartitionRanges is all ranges of a container, contiguous and in order.
type PartitionRanges struct {
	ETag   string // changes when a range does
	Ranges []PartitionRange

	incarnation uint32 // part of the etag
}

// Since returns the ranges that were added after the set had the given etag. It returns all ranges if the
// set never had that etag.
func (set PartitionRanges) Since(etag string) []PartitionRange {
	lsn, err := strconv.ParseUint(layout.BareETag(etag)[max(len(layout.BareETag(etag))-12, 0):], 16, 64)
	if err != nil || !layout.ETagMatches(etag, rangesETag(set.incarnation, lsn)) ||
		rangesETag(set.incarnation, lsn) > set.ETag {
		return set.Ranges
	}
	return slices.DeleteFunc(slices.Clone(set.Ranges), func(r PartitionRange) bool { return r.made <= lsn })
}

func rangesETag(incarnation uint32, lsn uint64) string { return layout.ETagText(incarnation, 1, lsn) }

func newContainer(d *Database, rec record.Container, spec definition.ContainerSpec) (*Container, error) {
	c := &Container{
		ds: d.ds, d: d, cid: rec.CID, name: spec.ID, def: spec.PartitionKey,
		items: transaction.ImmutableContainerProperties{
			Keys: view.ItemKeyBuilder{CID: rec.CID, Def: spec.PartitionKey, Unique: spec.UniqueKeys},
			Identity: view.ContainerIdentity{Database: d.rec.Num, CID: rec.CID,
				Incarnation: d.ds.incarnation ^ (rec.CID &^ layout.CIDBit)},
			PreviousImage: d.ds.opts.TTLPreviousImage, Lenient: d.ds.opts.Lenient,
		},
		gate: host.NewGate(), splitting: host.NewCancelableMutex(), count: cachedItemCount{CancelableMutex: host.NewCancelableMutex()},
		plans: work.NewPlans(),
	}
	c.items.Items, c.items.Host = (*containerCallbacksAdapter)(c), (*containerCallbacksAdapter)(c)
	st := &container.State{Rec: rec, Spec: spec, Vectors: spec.Vectors()}
	if err := st.Compile(); err != nil {
		return nil, err
	}
	for _, r := range rec.Ranges {
		s, err := container.NewPartition(rec.CID, r)
		if err != nil {
			return nil, err
		}
		st.Ranges = append(st.Ranges, s)
	}
	c.state.Store(st)
	return c, nil
}

// ID returns the container's id.
func (c *Container) ID() string { return c.name }

// Info returns the container's current state.
func (c *Container) Info() ContainerInfo {
	st := c.state.Load()
	return ContainerInfo{
		ID: c.name, RID: c.RID(), ETag: layout.ETagText(c.ds.incarnation, 0, st.Rec.LSN),
		DatabaseID: c.d.ID(), DatabaseRID: c.d.RID(),
		Timestamp: st.Rec.TS, Spec: st.Spec,
	}
}

// RID returns the container's resource id.
func (c *Container) RID() string { return layout.RIDText(layout.ContainerRIDBytes(c.d.rec.Num, c.cid)) }

// self returns the container's rid path, with its trailing slash.
func (c *Container) self() string { return string(c.items.Identity.AppendSelf(nil)) }

// versionBits is the number of low bits of a container's version (see newVersion) that hold bits of the
// container's number.
const versionBits = 12

// versionEpoch is the moment from which the versions in session tokens count milliseconds: the beginning
// of 2020, in milliseconds since 1970.
const versionEpoch = 1577836800000

// newVersion returns the version for the session tokens of a container that is being created. Of two
// containers with the same name the later one has the higher version, as clients expect. The version stays
// below 1<<53, so that a JavaScript client reads it exactly.
func (ds *openDataset) newVersion(cid uint32) int64 {
	made := max(ds.opts.Wall.Now().UnixMilli()-versionEpoch, 1)
	return made<<versionBits | int64(cid&(1<<versionBits-1))
}

// NoSessionVersion stands for the version in session tokens that have none, and so do not identify a
// container.
const NoSessionVersion = -1

// SessionVersion returns the version in the container's session tokens. No two containers of one name have
// the same version. It is NoSessionVersion for a container created by a release without versions.
func (c *Container) SessionVersion() int64 {
	if v := c.state.Load().Rec.Version; v > 0 {
		return v
	}
	return NoSessionVersion
}

// Ranges returns the container's partition key ranges.
func (c *Container) Ranges() PartitionRanges {
	st := c.state.Load()
	set := PartitionRanges{ETag: rangesETag(c.ds.incarnation, st.Rec.RangeLSN), incarnation: c.ds.incarnation}
	for i, s := range st.Ranges {
		r := PartitionRange{
			ID: s.ID, Min: s.Rec.Min, Max: s.Rec.Max, Parents: slices.Clone(s.Parents),
			RID: layout.RIDText(layout.ChildRIDBytes(c.d.rec.Num, c.cid,
				layout.RIDTypeRange<<60|uint64(s.Rec.ID)+1)),
			ETag:      layout.ETagText(c.ds.incarnation, s.Number, st.MadeAt(i)),
			Fraction:  1 / float64(len(st.Ranges)),
			LSN:       c.ds.eng.Horizon(s.Scope),
			Timestamp: s.Rec.TS,
			Splitting: st.Rec.Split != nil && s.Number == st.Rec.Split.From,
			made:      st.MadeAt(i),
		}
		set.Ranges = append(set.Ranges, r)
	}
	return set
}

// Position returns the id and the LSN of a range; those of the first range if rangeID is empty or unknown.
func (c *Container) Position(rangeID string) (id string, lsn uint64) {
	st := c.state.Load()
	s := st.Ranges[0]
	if r := st.RangeByID(rangeID); r != nil {
		s = r
	}
	return s.ID, c.position(s)
}

// rangeNamed returns the partition range with the given id. It fails with CodeRangeGone if there is none.
func (c *Container) rangeNamed(ctx context.Context, id string) (*container.Partition, error) {
	if s := c.stateWith(ctx, id).RangeByID(id); s != nil {
		return s, nil
	}
	return nil, scan.RangeGone(id)
}

// stateWith returns the container's state. If that has no range with the given id, it refreshes the state
// first.
func (c *Container) stateWith(ctx context.Context, id string) *container.State {
	st := c.state.Load()
	if !st.KnowsRange(id) && c.outdated(ctx, st) {
		st = c.state.Load()
	}
	return st
}

// enter takes the container's gate shared (a lock that changes of the settings hold exclusively) and returns
// the state and the current second of the container's clock. The state stays valid until leave. It fails with
// CodeCanceled if ctx ends before that.
func (c *Container) enter(ctx context.Context) (*container.State, int64, error) {
	if err := c.gate.Share(ctx); err != nil {
		return nil, 0, classify.ToFault(err)
	}
	st := c.state.Load()
	if err := c.usable(st); err != nil {
		c.gate.Leave()
		return nil, 0, err
	}
	return st, c.moment(), nil
}

// leave releases the container's gate (its lock), which enter has taken.
func (c *Container) leave() { c.gate.Leave() }

// stateAndTime returns a state of the container and a second of its clock that belong together. It does not
// hold the gate (the container's lock), so a change of the container that waits for running operations does
// not block it. at is a stamp of the gate: gate.Unchanged(at) reports whether the state is still the
// container's.
func (c *Container) stateAndTime(ctx context.Context) (st *container.State, now int64, at uint64, err error) {
	for {
		if at, err = c.gate.Stamp(ctx); err != nil {
			return nil, 0, 0, classify.ToFault(err)
		}
		st, now = c.state.Load(), c.moment()
		if c.gate.Unchanged(at) {
			return st, now, at, c.usable(st)
		}
	}
}

// usable fails if the container has been dropped.
func (c *Container) usable(st *container.State) error {
	if st.Dropped {
		return c.gone()
	}
	return nil
}

func (c *Container) gone() error {
	return fault.New(fault.CodeOwnerNotFound, "The container "+c.name+" does not exist.")
}

// change replaces the state by the one that fn returns, while nobody else uses the container. now is the
// current second of its clock. Everything that fn stores must be durable when fn returns. change fails
// with CodeCanceled if ctx ends while others still use the container.
func (c *Container) change(ctx context.Context, fn func(st container.State, now int64) (container.State,
	error)) error {
	if err := c.gate.Shut(ctx); err != nil {
		return classify.ToFault(err)
	}
	defer c.gate.Open()
	st := c.state.Load()
	if err := c.usable(st); err != nil {
		return err
	}
	next, err := fn(*st, c.moment())
	if err != nil {
		return err
	}
	c.recordTime(container.MarkSettings, next.Rec.TS)
	c.state.Store(&next)
	c.notifier.Notify()
	c.expirySubscribers.Notify()
	return nil
}
