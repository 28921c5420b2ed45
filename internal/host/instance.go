package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// EngineInstance is an engine with its data, together with the state in memory that belongs to these data. A
// host has one EngineInstance at a time. A restore replaces it by a new one, in which the document store and
// the message store are opened anew.
type EngineInstance struct {
	host    *Host // nil: the instance was opened only to read a snapshot
	eng     engine.Engine
	get     GetKeyFunc
	opts    Options
	state   *stateKeptAcrossRestores
	catalog DefinitionCatalog
	clock   NonDecreasingClock // the server's clock

	membership  *sharedEngineRegistration // this server among those that share the data; nil: they are not shared
	follower    *remoteChangeWatcher      // nil if there is no membership
	tenants     []OpenedTenant            // in the order of the tenants
	incarnation uint32                    // fixed once open
	found       int                       // the format of the data before they were upgraded
	reaper      *ttl.Reaper
	purging     *BackgroundWorkLease     // the lease for the reaper's rounds
	pauses      atomic.Pointer[[]uint32] // numbers of paused objects: see catalog_pause.go
	foreground  atomic.Int64             // running foreground operations, to which the reaper yields
	closed      atomic.Bool
	tenantIndex map[string]int // positions of the tenants, by name
	sinks       expirySinkFinders
}

// GetKeyFunc reads one key without opening a snapshot, like the method of engine.Getter.
type GetKeyFunc = func(ctx context.Context, scope, key []byte) ([]byte, engine.LSNScopeStatus, error)

// stateKeptAcrossRestores is the state of a host that outlasts its instances: a restore keeps it.
type stateKeptAcrossRestores struct {
	closing    atomic.Pointer[string] // what Close waits for; nil: Close has not begun
	reaperHeld atomic.Bool            // see PauseReaper
}

// openInstance opens the tenants ts (the document store and the message store) on the data of an engine.
// It starts no background work.
func openInstance(ctx context.Context, h *Host, e engine.Engine, o Options,
	ts []Tenant) (*EngineInstance, error) {
	in := &EngineInstance{host: h, eng: e, opts: o, state: &stateKeptAcrossRestores{}}
	if h != nil {
		in.state = &h.state
	}
	in.tenantIndex, in.sinks = make(map[string]int), make(expirySinkFinders)
	in.catalog.in, in.catalog.eng, in.catalog.lock = in, e, NewCancelableMutex()
	in.clock.in = in
	in.get = in.viewGet
	if g, ok := e.(engine.Getter); ok {
		in.get = g.Get
	}
	if err := in.catalog.load(ctx); err != nil {
		return nil, err
	}
	in.incarnation = in.catalog.head.Incarnation
	var err error
	if in.clock.base, err = dataClock(e, o); err != nil {
		return nil, err
	}
	if err := in.join(ctx); err != nil {
		return nil, err
	}
	if err := in.open(ctx, ts); err != nil {
		return nil, errors.Join(err, in.membership.leave(context.Background()))
	}
	return in, nil
}

// open opens the tenants ts, the document store and the message store.
func (in *EngineInstance) open(ctx context.Context, ts []Tenant) error {
	if err := in.eng.View(ctx, in.clock.restore); err != nil {
		return err
	}
	if err := repeatMoved(ctx, in.openPauses, in.catalog.load); err != nil {
		return err
	}
	for i, t := range ts {
		r, err := t.Open(ctx, in)
		if err == nil {
			err = in.sinks.add(i, r.Sinks)
		}
		if err != nil {
			return err
		}
		in.tenantIndex[t.KeySpace().Name] = i
		in.tenants = append(in.tenants, r)
	}
	return in.recover(ctx)
}

// recover checks the clocks, and calls the tenants (documents, messages) to finish what a crash
// interrupted.
func (in *EngineInstance) recover(ctx context.Context) error {
	if err := in.clock.CheckStepBack(); err != nil {
		return err
	}
	for _, r := range in.tenants {
		if r.ClockObserver == nil {
			continue
		}
		for _, c := range r.ClockObserver.Clocks() {
			if err := c.CheckStepBack(); err != nil {
				return err
			}
		}
	}
	for _, r := range in.tenants {
		if r.Life == nil {
			continue
		}
		if err := repeatMoved(ctx, r.Life.Recover, in.catalog.CatchUp); err != nil {
			return err
		}
	}
	return nil
}

// start starts the reaper and the background work of the tenants (documents, messages).
func (in *EngineInstance) start() {
	in.membership.start()
	in.startFollowing()
	in.openReaper()
	for _, r := range in.tenants {
		if r.Life != nil {
			r.Life.Start()
		}
	}
}

// end stops all background work and closes the engine.
func (in *EngineInstance) end() error {
	if in.closed.Swap(true) {
		return nil
	}
	for _, r := range slices.Backward(in.tenants) {
		if r.Life != nil {
			r.Life.Stop()
		}
	}
	in.Closing("the reaper")
	in.reaper.Close()
	in.Closing("the engine: a transaction that does not end, or the disk")
	ctx, cancel := context.Background(), func() {}
	if in.Shared() { // if leave fails, other servers take over when the leases end
		ctx, cancel = context.WithTimeout(ctx, leaveTime)
	}
	err := errors.Join(in.leave(ctx), in.membership.leave(ctx))
	cancel()
	err = errors.Join(err, in.eng.Close())
	for _, r := range in.tenants {
		if r.Life != nil {
			r.Life.Gone()
		}
	}
	return err
}

// leave lets the tenants (the store, and the queues and topics) write what they keep only in memory, such
// as the time at which a container was last used.
func (in *EngineInstance) leave(ctx context.Context) error {
	if err := in.catalog.Lock(ctx); err != nil {
		return err
	}
	defer in.catalog.Unlock()
	var errs []error
	for _, r := range slices.Backward(in.tenants) {
		if r.Life != nil {
			errs = append(errs, r.Life.Leave(ctx))
		}
	}
	if in.Shared() {
		errs = append(errs, in.endPauses(ctx, func(owner string) bool { return owner == in.ServerID() }))
	}
	return errors.Join(errs...)
}

// Host returns the host that opened the instance. After a restore, that host uses another instance. Host
// returns nil if the instance was opened only to read a snapshot.
func (in *EngineInstance) Host() *Host { return in.host }

// Engine returns the engine with the data.
func (in *EngineInstance) Engine() engine.Engine { return in.eng }

// Get returns the engine's fastest function that reads one key without opening a snapshot.
func (in *EngineInstance) Get() GetKeyFunc { return in.get }

// Catalog returns the catalog: the records of databases, containers, queues and topics.
func (in *EngineInstance) Catalog() *DefinitionCatalog { return &in.catalog }

// Incarnation returns a number that identifies the data of this instance. A restore gives the data another
// number.
func (in *EngineInstance) Incarnation() uint32 { return in.incarnation }

// Closing records a description of what Close waits for.
func (in *EngineInstance) Closing(what string) { in.state.closing.Store(&what) }

// Enter begins a foreground operation, to which the reaper yields until Leave.
func (in *EngineInstance) Enter() { in.foreground.Add(1) }

// Leave ends the foreground operation that Enter has begun.
func (in *EngineInstance) Leave() { in.foreground.Add(-1) }

// Working returns the number of running foreground operations.
func (in *EngineInstance) Working() int { return int(in.foreground.Load()) }

// Elapsed returns a function that returns the real time since this call, independent of the data clock.
func (in *EngineInstance) Elapsed() func() time.Duration {
	began := in.opts.Wall.Now()
	return func() time.Duration { return in.opts.Wall.Now().Sub(began) }
}

// viewGet reads one key through a View, for an engine without a Getter.
func (in *EngineInstance) viewGet(ctx context.Context,
	scope, key []byte) ([]byte, engine.LSNScopeStatus, error) {
	var value []byte
	var at engine.LSNScopeStatus
	err := in.eng.View(ctx, func(r engine.Reader) error {
		all, err := r.Positions([][]byte{scope})
		if err != nil {
			return err
		}
		at = all[0]
		v, err := r.Get(key)
		value = bytes.Clone(v)
		return err
	})
	return value, at, err
}

// Ping writes a record durably and reads it. It fails if the store cannot be written now. It waits for the
// disk, but not for changes of the catalog.
func (in *EngineInstance) Ping(ctx context.Context) error {
	_, err := in.eng.Update(ctx, [][]byte{CatalogScope()}, rewriteHead)
	if err == nil {
		_, _, err = in.get(ctx, CatalogScope(), headKey())
	}
	return err
}

// Never is a second or millisecond that no clock reaches. It stands for "no time".
const Never = math.MaxInt64

// keySpaceError returns an error if two tenants (documents, messages) claim the same keys, or a key space
// is invalid.
func keySpaceError(tenants []Tenant) error {
	var claims []TenantKeySpace
	for _, t := range tenants {
		c := t.KeySpace()
		for _, kind := range []byte(c.Kinds) {
			if kind == kindHost || kind == kindLease || kind == kindCeiling || kind == kindMark {
				return fmt.Errorf("host: %s claims the records of kind %c: the host's", c.Name, kind)
			}
		}
		if c.First == 0 || c.First > c.Last {
			return fmt.Errorf("host: %s claims the keys from %02x to %02x", c.Name, c.First, c.Last)
		}
		for _, other := range claims {
			if c.overlaps(other) {
				return fmt.Errorf("host: %s and %s claim the same", other.Name, c.Name)
			}
		}
		claims = append(claims, c)
	}
	return nil
}

func (c TenantKeySpace) overlaps(other TenantKeySpace) bool {
	return c.Name == other.Name || c.First <= other.Last && other.First <= c.Last ||
		bytes.ContainsAny([]byte(c.Kinds), other.Kinds)
}
