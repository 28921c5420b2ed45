package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/transaction"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// openDataset is the store's data while one host.EngineInstance has the engine open: the engine, and the
// catalog in memory. A restore of a snapshot makes another one. Each Database and Container belongs to one
// dataset for its whole life.
type openDataset struct {
	db         *DB
	in         *host.EngineInstance
	eng        engine.Engine
	get        host.GetKeyFunc
	opts       Options
	marks      container.LatestEventTimes // of the catalog
	rids       work.ItemRIDCache
	txs        transaction.TransactionPool // of writes
	sweepSizes sweepLimits
	pageStates *work.QueryPageStateCache  // the state that a page of results keeps for the next page
	tallies    *work.IndexEntryCountCache // the numbers of index entries that queries have counted

	reindexer reindexer
	splitter  rangeSplitter
	programs  script.ScriptCache // compiled scripts

	mu  sync.RWMutex // guards cat; taken after the catalog's lock
	cat catalog

	incarnation uint32
	timed       bool   // the engine has a clock: see engine.DatabaseTimeReporter
	server      uint32 // identifies this server in the marks of ranges: see state.go. Never 0
	purged      atomic.Uint64
}

// dbTenantAdapter is the form in which a DB is passed to host.Open (host.Tenant).
type dbTenantAdapter struct{ db *DB }

// Tenant returns the store in the form in which it is passed to host.Open, which opens it together with other
// data on the same engine, such as queues.
func (db *DB) Tenant() host.Tenant { return dbTenantAdapter{db} }

// tenantName is the name under which the store, as one tenant beside the queues, describes its keys to the
// host.
const tenantName = "documents"

// KeySpace returns the part of the engine's keys that belongs to the store: the keys of a container begin
// with its number, whose top bit is set.
func (dbTenantAdapter) KeySpace() host.TenantKeySpace {
	return host.TenantKeySpace{Name: tenantName, Kinds: catalogKinds(), First: 0x80, Last: 0xFF}
}

// Scopes returns the engine scopes of all partition ranges. In each scope writing transactions run one after
// the other.
func (dbTenantAdapter) Scopes(r engine.Reader) (scopes [][]byte, err error) {
	err = host.ScanRecords(r, layout.KindContainer, func(_ []byte, rec record.Container) error {
		for _, r := range rec.Ranges {
			scopes = append(scopes, layout.RangeScope(rec.CID, r.Number))
		}
		return nil
	})
	return scopes, err
}

// Open loads the catalog of an instance (one opening of the engine) and makes it the data of the DB.
func (t dbTenantAdapter) Open(ctx context.Context, in *host.EngineInstance) (host.OpenedTenant, error) {
	db, err := t.db.moveIn(ctx, in)
	return host.OpenedTenant{Life: db, Reload: db.reread, Sweep: storeSweeper{db},
		ClockObserver: clockMoveParticipant{db}, Awaited: db.awaited, Changed: db.changedElsewhere,
		SnapshotNote: db.snapshotNote}, err
}

// moveIn creates the dataset of an instance (one opening of the engine) and loads its catalog into memory.
func (owner *DB) moveIn(ctx context.Context, in *host.EngineInstance) (*openDataset, error) {
	db := &openDataset{db: owner, in: in, eng: in.Engine(), get: in.Get(), opts: owner.opts,
		sweepSizes: sweepLimitsOf(in.Engine()), tallies: work.NewIndexEntryCountCache(),
		pageStates: work.NewPageStates(owner.memory, owner.opts.Wall), incarnation: in.Incarnation()}
	_, db.timed = db.eng.(engine.DatabaseTimeReporter)
	engine.CacheRows(db.eng, layout.IsItemKey)
	db.rids.Seed()
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, err
	}
	db.server = binary.BigEndian.Uint32(b[:]) | 1 // 0 stands for no store
	return db, db.loadCatalog(ctx)
}

// Recover finishes what a crash has interrupted: drops, splits and upgrades.
func (ds *openDataset) Recover(ctx context.Context) error {
	if err := ds.finishDrops(ctx); err != nil {
		return err
	}
	if err := ds.recoverSplits(ctx); err != nil {
		return err
	}
	return ds.followPaths(ctx)
}

// Start starts the background work: the reindexer and the splitter.
func (ds *openDataset) Start() {
	if ds.db.host == nil { // the host is the same through all restores
		ds.db.host = ds.in.Host()
	}
	ds.reindexer.open(ds)
	ds.splitter.open(ds)
	// Of several servers, one does each kind of work. A pass of the reindexer may wake the splitter.
	ds.reindexer.Start(ds.leader("indexing"))
	ds.splitter.Start(ds.leader("splitting"))
	ds.db.dataset.Store(ds)
	ds.db.catalogWatch.Notify()
}

// Stop stops the background work and waits for its goroutines.
func (ds *openDataset) Stop() {
	ds.in.Closing("the splitting of ranges")
	ds.splitter.Close()
	ds.in.Closing("the building of an index")
	ds.reindexer.Close()
}

// Leave is called when the data is being closed. It stores when containers were last used, for those that
// are deleted after some time without use.
func (ds *openDataset) Leave(ctx context.Context) error { return ds.keepUses(ctx) }

// Gone is called when the engine of the dataset is closed: it wakes all callers that wait for a change,
// since none will happen any more.
func (ds *openDataset) Gone() {
	ds.pageStates.Close()
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	for _, c := range ds.cat.containers {
		c.notifier.Notify()
		c.expirySubscribers.Notify()
		c.splitEnds.Notify()
	}
}

// settle waits until everything that the caller has read in an engine scope is durable. After that no crash
// can undo it, neither an item nor the absence of one. seen is the highest LSN that the caller has read, 0 if
// unknown. settle waits for the disk only, not for writers.
func (ds *openDataset) settle(ctx context.Context, scope []byte, seen uint64) error {
	return classify.ToFault(ds.eng.Settle(ctx, scope, seen))
}

// lockCatalog takes the catalog's lock, which serializes changes of the catalog. It is taken before the lock
// of a container (its gate) and before mu.
func (ds *openDataset) lockCatalog(ctx context.Context) error {
	return classify.ToFault(ds.in.Catalog().Lock(ctx))
}

// changeCatalog runs one transaction that may change the catalog and the data in the given engine scopes. The
// caller holds the catalog's lock.
func (ds *openDataset) changeCatalog(ctx context.Context, fn func(*host.CatalogTxn) error,
	scopes ...[]byte) error {
	return classify.ToFault(ds.in.Catalog().Change(ctx, fn, scopes...))
}

// startWatch returns a work.ScanTimeLimiter that limits the time spent on an inspection of a container, such
// as a dry run.
func (ds *openDataset) startWatch(ctx context.Context) *work.ScanTimeLimiter {
	return &work.ScanTimeLimiter{Ctx: ctx, Elapsed: ds.in.Elapsed(), Budget: work.LookBudget}
}

// pageWatch returns a work.ScanTimeLimiter that limits the time spent on one page of results.
func (ds *openDataset) pageWatch(ctx context.Context) *work.ScanTimeLimiter {
	return &work.ScanTimeLimiter{Ctx: ctx, Elapsed: ds.in.Elapsed(), Limit: ds.opts.QueryTime,
		Turns:  ds.db.turns,
		Budget: min(query.DefaultBudget, ds.opts.QueryTime/2)}
}

// view runs fn over one read-only snapshot of the engine. Only the end of ctx limits its time.
func (ds *openDataset) view(ctx context.Context, fn func(engine.Reader) error) error {
	return work.ViewUnder(&work.ScanTimeLimiter{Ctx: ctx}, ds.eng, fn)
}

// snapshotNote returns what the store adds to the description that is stored with a snapshot: the ids of the
// databases.
func (ds *openDataset) snapshotNote() (member string, value any) {
	ids := []string{}
	for _, d := range ds.databases() {
		ids = append(ids, d.ID())
	}
	return noteDatabases, ids
}

const noteDatabases = "databases"

// leader returns a function that runs one kind of background work for as long as this server is
// responsible for it. Of all servers that share the data, one is responsible at a time.
func (ds *openDataset) leader(work string) func(context.Context, func(context.Context)) {
	return func(ctx context.Context, fn func(context.Context)) { ds.in.WhileLeased(ctx, work, fn) }
}

// RunningServerInfo describes one of the running servers that share the data.
type RunningServerInfo = host.RunningServerInfo

// Servers returns the running servers that share the data, and their leases, the oldest server first. If
// the engine cannot be shared, it returns this server only.
func (db *DB) Servers(ctx context.Context) ([]RunningServerInfo, error) {
	list, err := db.live().in.ListServers(ctx)
	return list, classify.ToFault(err)
}

// Shared reports whether other servers may have the data open at the same time.
func (db *DB) Shared() bool { return db.live().in.Shared() }

// ChangeAuthority calls fn with the certificate authority that the servers share, as PEM text, or with nil
// if there is none. It stores the result of fn unless that is nil. fn may run more than once; the last run
// counts.
func (db *DB) ChangeAuthority(ctx context.Context, fn func(stored []byte) ([]byte, error)) error {
	return classify.ToFault(db.live().in.ChangeAuthority(ctx, fn))
}

// await returns a channel that is closed at the next notification of n, and at the next change of the
// container by another server.
func (c *Container) await(n *host.WaiterNotifier) <-chan struct{} {
	change := n.Changed()
	if c.ds.in.Shared() {
		c.ds.in.Awaiting(c.state.Load().Scopes())
	}
	return change
}

// awaited returns the engine scopes of the containers for whose changes a request waits, so that the host
// watches them for changes by other servers (host.OpenedTenant.Awaited).
func (ds *openDataset) awaited() (scopes [][]byte) {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	for _, c := range ds.cat.containers {
		if c.notifier.Awaited() || c.expirySubscribers.Awaited() {
			scopes = append(scopes, c.state.Load().Scopes()...)
		}
	}
	return scopes
}

// changedElsewhere wakes those who wait for a change of an engine scope, to which another server has written
// (host.OpenedTenant.Changed). It also wakes the splitter, which undoes the splits of servers that have
// ended.
func (ds *openDataset) changedElsewhere(scope []byte) {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	for _, c := range ds.cat.containers {
		st := c.state.Load()
		if scope != nil && !hasScope(st, scope) {
			continue
		}
		c.notifier.Notify()
		c.expirySubscribers.Notify()
		if scope == nil && st.Elsewhere {
			ds.splitter.Wake()
		}
	}
}

// hasScope reports whether an engine scope belongs to one of the container's ranges.
func hasScope(st *container.State, scope []byte) bool {
	return slices.ContainsFunc(st.Scopes(), func(own []byte) bool { return bytes.Equal(own, scope) })
}

// followStates reads again the states of those containers that another server has changed, so that purges
// find what they have to do because of those changes. It also learns the time of the database.
func (ds *openDataset) followStates(ctx context.Context, containers ...*Container) error {
	if !ds.in.Shared() {
		return nil
	}
	var scopes [][]byte
	states := make([]*container.State, len(containers))
	for i, c := range containers {
		states[i] = c.state.Load()
		scopes = append(scopes, states[i].Ranges[0].Scope)
	}
	if len(scopes) == 0 {
		return nil
	}
	var at []engine.LSNScopeStatus
	err := ds.view(ctx, func(r engine.Reader) (err error) {
		at, err = r.Positions(scopes)
		return err
	})
	if err != nil {
		return err
	}
	for i, c := range containers {
		if states[i].Dropped || states[i].Current(at[i].Mark) == nil {
			continue
		}
		if err := c.refresh(ctx, states[i]); ctx.Err() != nil {
			return err // other errors: the container was dropped, or the next call tries again
		}
	}
	return nil
}
