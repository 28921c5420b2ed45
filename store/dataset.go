package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// dataset is what the store has in one instance of its host: an engine and what is known of its documents in
// memory. Each Database and Container belongs to one for ever.
type dataset struct {
	door       *DB
	in         *host.Instance
	eng        engine.Engine
	get        host.GetFunc
	opts       Options
	marks      marks // of the catalog
	rids       work.RIDCache
	pageStates *work.PageStates // what pages leave for the pages after them

	reindexer reindexer
	splitter  splitter
	programs  script.Programs // compiled scripts

	mu  sync.RWMutex // guards cat; taken after the catalog's lock
	cat catalog

	incarnation uint32
	server      uint32 // names this store in the marks of slots; none of two over one engine is the other's
	purged      atomic.Uint64
}

// tenant shows the store to its host.
type tenant struct{ db *DB }

// Tenant is the store as host.Open wants it.
func (db *DB) Tenant() host.Tenant { return tenant{db} }

// tenantName is what the host knows the store by.
const tenantName = "documents"

// KeySpace implements host.Tenant: containers' keys begin with their number, whose top bit is set.
func (tenant) KeySpace() host.KeySpace {
	return host.KeySpace{Name: tenantName, Kinds: catalogKinds(), First: 0x80, Last: 0xFF}
}

// Scopes implements host.Tenant.
func (tenant) Scopes(r engine.Reader) (scopes [][]byte, err error) {
	err = host.ScanRecords(r, layout.KindContainer, func(_ []byte, rec record.Container) error {
		for _, r := range rec.Ranges {
			scopes = append(scopes, layout.SlotScope(rec.CID, r.Slot))
		}
		return nil
	})
	return scopes, err
}

// Open implements host.Tenant.
func (t tenant) Open(ctx context.Context, in *host.Instance) (host.OpenTenant, error) {
	db, err := t.db.moveIn(ctx, in)
	return host.OpenTenant{Life: db, Reread: db.reread, Sweep: sweeper{db}, ClockUser: dated{db},
		Note: db.snapshotNote}, err
}

// moveIn reads the catalog of an instance.
func (door *DB) moveIn(ctx context.Context, in *host.Instance) (*dataset, error) {
	db := &dataset{door: door, in: in, eng: in.Engine(), get: in.Get(), opts: door.opts,
		pageStates: work.NewPageStates(door.memory, door.opts.Wall), incarnation: in.Incarnation()}
	db.rids.Seed()
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, err
	}
	db.server = binary.BigEndian.Uint32(b[:]) | 1 // 0 is nobody
	return db, db.loadCatalog(ctx)
}

// Recover implements host.Life.
func (ds *dataset) Recover(ctx context.Context) error {
	if err := ds.finishDrops(ctx); err != nil {
		return err
	}
	if err := ds.recoverSplits(ctx); err != nil {
		return err
	}
	return ds.followPaths(ctx)
}

// Start implements host.Life.
func (ds *dataset) Start() {
	if ds.door.host == nil { // it is fixed then, through all restores
		ds.door.host = ds.in.Host()
	}
	ds.reindexer.open(ds)
	ds.splitter.open(ds)
	ds.door.dataset.Store(ds)
	ds.door.subscribers.Notify()
}

// Stop implements host.Life.
func (ds *dataset) Stop() {
	ds.in.Closing("the splitting of ranges")
	ds.splitter.Close()
	ds.in.Closing("the building of an index")
	ds.reindexer.Close()
}

// Leave implements host.Life.
func (ds *dataset) Leave(ctx context.Context) error { return ds.keepUses(ctx) }

// Gone implements host.Life: those who wait for something to happen see that it will not.
func (ds *dataset) Gone() {
	ds.pageStates.Close()
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	for _, c := range ds.cat.containers {
		c.watch.Notify()
		c.expirySubscribers.Notify()
	}
}

// settle waits until all that this scope has shown is durable. What a caller has seen before it calls settle,
// present or absent, cannot be taken back by a crash after it has returned. seen is the highest LSN among
// that, 0 where none is known. It waits for the disk alone, not for writers.
func (ds *dataset) settle(ctx context.Context, scope []byte, seen uint64) error {
	return classify.ToFault(ds.eng.Settle(ctx, scope, seen))
}

// lockCatalog takes the lock of the catalog: one change at a time, taken before any gate and before mu.
func (ds *dataset) lockCatalog(ctx context.Context) error {
	return classify.ToFault(ds.in.Catalog().Lock(ctx))
}

// changeCatalog runs one transaction of the catalog's scope, and of others. The caller holds its lock.
func (ds *dataset) changeCatalog(ctx context.Context, fn func(*host.Change) error, scopes ...[]byte) error {
	return classify.ToFault(ds.in.Catalog().Change(ctx, fn, scopes...))
}

// startWatch is the stopwatch of a look over a container.
func (ds *dataset) startWatch(ctx context.Context) *work.Stopwatch {
	return &work.Stopwatch{Ctx: ctx, Elapsed: ds.in.Elapsed(), Budget: work.LookBudget}
}

// pageWatch is the stopwatch of a page.
func (ds *dataset) pageWatch(ctx context.Context) *work.Stopwatch {
	return &work.Stopwatch{Ctx: ctx, Elapsed: ds.in.Elapsed(), Limit: ds.opts.QueryTime,
		Budget: min(query.DefaultBudget, ds.opts.QueryTime/2)}
}

// view is viewUnder of the whole store, for walks that end with ctx alone.
func (ds *dataset) view(ctx context.Context, fn func(engine.Reader) error) error {
	return work.ViewUnder(&work.Stopwatch{Ctx: ctx}, ds.eng, fn)
}

// snapshotNote is what a snapshot's note has of the store.
func (ds *dataset) snapshotNote() (member string, value any) {
	ids := []string{}
	for _, d := range ds.databases() {
		ids = append(ids, d.ID())
	}
	return noteDatabases, ids
}

const noteDatabases = "databases"
