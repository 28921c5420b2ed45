package queue

import (
	"cmp"
	"context"
	"encoding/binary"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/record"
)

// loadedEntities is the queues, topics and subscriptions of one host.EngineInstance (one opening of the
// engine): all entities of its catalog, in memory.
type loadedEntities struct {
	q       *Queues
	in      *host.EngineInstance
	opts    *Options
	gate    host.CancelableRWLock // shared by transactions that store times; taken exclusively to set a clock back
	timers  *messageDueTimeScheduler
	idler   *idleEntityDeleter
	watcher *sharedEngineChangeWatcher // started if the engine is shared
	server  uint64                     // a random number of this server; 0 if the engine is not shared
	shared  bool                       // other servers may have the engine open as well
	loading host.CancelableMutex       // held while the records of entities are loaded into memory
	started int64                      // the millisecond at which the dataset started
	latest  atomic.Int64               // the latest millisecond in which an entity was created or changed

	mu      sync.RWMutex // guards the following fields
	paths   map[string]*entityState
	numbers map[uint32]*entityState
	sorted  []*entityState // result of list; nil: not known
}

// entityState is the state in memory of one entity. Fields that are not atomic never change, except kept.
type entityState struct {
	number  uint32
	kind    entity.Kind
	path    string // in the spelling of the client that created it
	scope   []byte // for a subscription, the scope of its topic
	topic   *entityState
	created int64
	stores  [3]*inMemoryMessageStoreState // a topic has only Main
	m       *loadedEntities
	kept    counterCacheValidity // counters of a queue's or topic's scope; a transaction over the scope guards it

	properties atomic.Pointer[entity.Properties]
	rules      atomic.Pointer[record.RuleList] // of a subscription
	updated    atomic.Int64
	accessed   atomic.Int64 // the last activity
	// covered is the millisecond up to which uses of the entity need not be stored, since the engine
	// already says that this server may use the entity until then. It is used if several servers share the
	// engine.
	covered atomic.Int64
	// elsewhere is the latest millisecond until which another server has recorded that it may use the
	// entity.
	elsewhere atomic.Int64
	// version is the version of the queue's or topic's records in memory. A transaction compares it with
	// the version that the engine has for its scope. If they differ, another server has changed the
	// entity.
	version           atomic.Uint64
	children          atomic.Pointer[[]*entityState] // of a topic: its subscriptions, by name
	changes           host.WaiterNotifier            // of changes of its messages
	awaiting          atomic.Int32                   // calls of Await
	subscriptionRules atomic.Pointer[topicRules]     // of a topic: its subscriptions' rules; nil: not built yet
}

// Open implements host.Tenant: it loads all entities of the instance into a new dataset. Background work
// begins with loadedEntities.Start.
func (t queuesTenantAdapter) Open(ctx context.Context, in *host.EngineInstance) (host.OpenedTenant, error) {
	m := &loadedEntities{
		q:       t.q,
		in:      in,
		opts:    &t.q.opts,
		gate:    host.NewGate(),
		shared:  engine.IsShared(in.Engine()),
		loading: host.NewCancelableMutex(),
		paths:   make(map[string]*entityState),
		numbers: make(map[uint32]*entityState),
	}
	if m.shared {
		id := newToken()
		m.server = binary.BigEndian.Uint64(id[:]) | 1 // never 0
	}
	m.timers, m.idler, m.watcher = newTimers(m), newIdler(m), newWatcher(m)
	err := in.Engine().View(ctx, func(r engine.Reader) error { return m.adoptAll(r, true) })
	return host.OpenedTenant{Life: m, Reload: m.reread, Awaited: m.awaitedScopes, Changed: m.reported,
		Sweep: expiredMessageSweeper{m}, ClockObserver: clockMoveParticipant{m}, SnapshotNote: m.summary,
		Sinks: map[string]host.FindExpirySinkFunc{sinkKind: m.expirySink}}, err
}

func (m *loadedEntities) summary() (member string, value any) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return "entities", len(m.paths)
}

// Recover implements host.TenantLifecycleCallbacks. It does nothing, since an entity is created or deleted in
// a single transaction.
func (m *loadedEntities) Recover(context.Context) error { return nil }

// Start implements host.TenantLifecycleCallbacks: it starts the background work, and makes the dataset the
// one that Queues uses.
func (m *loadedEntities) Start() {
	m.started = m.in.Clock().Millis()
	m.timers.Start()
	m.idler.Start()
	if m.shared {
		m.watcher.Start()
	}
	m.q.live.Store(m)
	m.q.changes.Notify()
}

// Stop implements host.TenantLifecycleCallbacks: it stops the background work and ends all receivers.
func (m *loadedEntities) Stop() {
	m.in.Closing("the queues")
	m.watcher.Stop()
	m.idler.Stop()
	m.timers.Stop()
	for _, s := range m.allStores() {
		s.end(&entity.Error{Code: entity.CodeCancelled, Entity: s.Name(), Message: "The server is stopping."})
		s.e.changes.Notify()
	}
}

// Leave implements host.TenantLifecycleCallbacks: when the instance closes, it stores when each entity was
// last used. If several servers share the engine, it does nothing, because these times are stored during
// operation.
func (m *loadedEntities) Leave(ctx context.Context) error {
	if m.shared {
		return nil
	}
	return m.in.Catalog().Change(ctx, func(t *host.CatalogTxn) error {
		for _, e := range m.list() {
			if rec := e.record(); e.accessed.Load() > 0 {
				if err := host.SetRecord(t, rec.Key(), rec); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Gone implements host.TenantLifecycleCallbacks: it is called after the engine was closed. It does nothing,
// because Stop has already ended all waiting calls.
func (m *loadedEntities) Gone() {}

func (m *loadedEntities) logger() *slog.Logger {
	if m.opts.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return m.opts.Logger
}

// recordTime records a time that the catalog contains, so that the clock is not set to an earlier time.
func (m *loadedEntities) recordTime(ms int64) {
	for last := m.latest.Load(); last < ms && !m.latest.CompareAndSwap(last, ms); last = m.latest.Load() {
	}
	m.in.Clock().RaiseMillis(ms)
}

// add creates the state in memory of an entity.
func (m *loadedEntities) add(rec record.EntityRecord) *entityState {
	e := &entityState{
		number:  rec.Number,
		kind:    rec.Kind,
		path:    rec.Path,
		scope:   rec.Scope(),
		created: rec.Created,
		m:       m,
	}
	p := rec.Properties
	e.properties.Store(&p)
	e.rules.Store(&record.RuleList{})
	e.updated.Store(rec.Updated)
	e.accessed.Store(rec.Accessed)
	for _, sub := range storesOf(rec.Kind) {
		e.stores[sub] = newMessageStore(e, sub)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paths[strings.ToLower(rec.Path)] = e
	m.numbers[rec.Number], m.sorted = e, nil
	e.children.Store(&[]*entityState{})
	if rec.Topic != 0 {
		e.topic = m.numbers[rec.Topic]
		e.topic.changeChildren(e, true)
	}
	m.idler.WakeUp()
	m.q.changes.Notify() // whoever lists entities after this waits for m.mu
	return e
}

// forget removes the state in memory of entities, and ends their receivers.
func (m *loadedEntities) forget(list []*entityState) {
	m.mu.Lock()
	for _, e := range list {
		delete(m.paths, strings.ToLower(e.path))
		delete(m.numbers, e.number)
		m.sorted = nil
		if e.topic != nil {
			e.topic.changeChildren(e, false)
		}
	}
	m.mu.Unlock()
	for _, e := range list {
		for _, s := range e.stores {
			if s != nil {
				s.end(s.NotFound())
			}
		}
		e.changes.Notify()
	}
	m.q.changes.Notify()
}

// record returns the catalog record of the entity.
func (e *entityState) record() record.EntityRecord {
	rec := record.EntityRecord{Number: e.number, Kind: e.kind, Path: e.path, Created: e.created,
		Updated:  e.updated.Load(),
		Accessed: e.accessed.Load(), Properties: *e.properties.Load()}
	if e.topic != nil {
		rec.Topic = e.topic.number
	}
	return rec
}

// find returns the entity with an address, or CodeEntityNotFound. An entity whose idle deadline has passed
// is not found, even if it has not been deleted yet.
func (m *loadedEntities) find(a entity.Address) (*entityState, error) {
	m.mu.RLock()
	e := m.paths[strings.ToLower(a.Entity)]
	m.mu.RUnlock()
	if e == nil || e.idleTooLong(m.in.Clock().Millis()) {
		return nil, notFound(a.Entity)
	}
	return e, nil
}

// lookup returns the entity with an address, also if another server has just created it. It fails with
// CodeEntityNotFound if there is none, or if it has been idle for too long. The caller must not hold the
// catalog's lock.
func (m *loadedEntities) lookup(ctx context.Context, a entity.Address) (*entityState, error) {
	e, err := m.find(a)
	if err == nil || !m.shared {
		return e, err
	}
	if err := m.learn(ctx); err != nil {
		return nil, err
	}
	m.mu.RLock()
	e = m.paths[strings.ToLower(a.Entity)]
	m.mu.RUnlock()
	if e != nil {
		if _, err := m.isIdle(ctx, e); err != nil {
			return nil, err
		}
	}
	return m.find(a)
}

func notFound(path string) *entity.Error {
	return &entity.Error{Code: entity.CodeEntityNotFound, Entity: path,
		Message: "The messaging entity '" + path + "' could not be found."}
}

// list returns all entities in the order of their numbers, so that a server always does the work of several
// entities in the same order. The caller must not change the list.
func (m *loadedEntities) list() []*entityState {
	m.mu.RLock()
	list := m.sorted
	m.mu.RUnlock()
	if list != nil {
		return list
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sorted == nil {
		m.sorted = slices.SortedFunc(maps.Values(m.numbers),
			func(a, b *entityState) int { return cmp.Compare(a.number, b.number) })
	}
	return m.sorted
}

// numbered returns the entity with a catalog number, or nil if it does not exist.
func (m *loadedEntities) numbered(number uint32) *entityState {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.numbers[number]
}

// dataset returns the open dataset, or CodeCancelled if there is none.
func (q *Queues) dataset() (*loadedEntities, error) {
	if m := q.live.Load(); m != nil {
		return m, nil
	}
	return nil, &entity.Error{Code: entity.CodeCancelled, Message: "The server is not open."}
}

// Now returns the server's time, to the millisecond. The times of messages come from it. Now returns the
// zero time before the host is open.
func (q *Queues) Now() time.Time {
	m, err := q.dataset()
	if err != nil {
		return time.Time{}
	}
	return moment(m.in.Clock().Millis())
}
