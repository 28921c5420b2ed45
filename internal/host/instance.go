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

// Instance is an engine with its data, and all that is known of that in memory. A host has one at a time;
// what a tenant has in it, it has for ever: after a restore there is another.
type Instance struct {
	host    *Host // nil for the copy of a snapshot
	eng     engine.Engine
	get     GetFunc
	opts    Options
	state   *shared
	catalog Catalog
	clock   Clock // the server's

	residents   []OpenTenant // in the order of the tenants
	incarnation uint32       // fixed once open
	found       int          // the format of the data before they were brought up to date
	reaper      *ttl.Reaper
	working     atomic.Int64 // foreground operations under way: what the reaper yields to
	closed      atomic.Bool
	places      map[string]int // of the tenants, by their names
	sinks       sinks
}

// GetFunc reads one key outside of any view: engine.Getter's method, or the like of it.
type GetFunc = func(ctx context.Context, scope, key []byte) ([]byte, engine.Position, error)

// shared is what the instances of a host that follow each other share.
type shared struct {
	closing    atomic.Pointer[string] // what Close waits for; nil: it has not begun
	reaperHeld atomic.Bool            // see PauseReaper
}

// moveIn reads the data of an engine. No loop runs yet.
func moveIn(ctx context.Context, h *Host, e engine.Engine, o Options, ts []Tenant) (*Instance, error) {
	in := &Instance{host: h, eng: e, opts: o, state: &shared{}}
	if h != nil {
		in.state = &h.state
	}
	in.places, in.sinks = make(map[string]int), make(sinks)
	in.catalog.in, in.catalog.eng, in.catalog.turn = in, e, NewMutex()
	in.clock.in, in.clock.base = in, o.Clock
	in.get = in.viewGet
	if g, ok := e.(engine.Getter); ok {
		in.get = g.Get
	}
	if err := in.catalog.load(ctx); err != nil {
		return nil, err
	}
	in.incarnation = in.catalog.head.Incarnation
	if err := e.View(ctx, in.clock.restore); err != nil {
		return nil, err
	}
	for i, t := range ts {
		r, err := t.Open(ctx, in)
		if err == nil {
			err = in.sinks.add(i, r.Sinks)
		}
		if err != nil {
			return nil, err
		}
		in.places[t.KeySpace().Name] = i
		in.residents = append(in.residents, r)
	}
	return in, in.recover(ctx)
}

// recover checks the clocks, and lets the tenants finish what a crash interrupted.
func (in *Instance) recover(ctx context.Context) error {
	if err := in.clock.CheckStepBack(); err != nil {
		return err
	}
	for _, r := range in.residents {
		if r.ClockUser == nil {
			continue
		}
		for _, c := range r.ClockUser.Clocks() {
			if err := c.CheckStepBack(); err != nil {
				return err
			}
		}
	}
	for _, r := range in.residents {
		if r.Life == nil {
			continue
		}
		if err := r.Life.Recover(ctx); err != nil {
			return err
		}
	}
	return nil
}

// start starts the reaper, and what tenants run in the background.
func (in *Instance) start() {
	in.openReaper()
	for _, r := range in.residents {
		if r.Life != nil {
			r.Life.Start()
		}
	}
}

// end stops what runs in the background and closes the engine.
func (in *Instance) end() error {
	if in.closed.Swap(true) {
		return nil
	}
	for _, r := range slices.Backward(in.residents) {
		if r.Life != nil {
			r.Life.Stop()
		}
	}
	in.Closing("the reaper")
	in.reaper.Close()
	in.Closing("the engine: a transaction that does not end, or the disk")
	err := errors.Join(in.leave(context.Background()), in.eng.Close())
	for _, r := range in.residents {
		if r.Life != nil {
			r.Life.Gone()
		}
	}
	return err
}

// leave lets the residents store what is to be stored at the end.
func (in *Instance) leave(ctx context.Context) error {
	if err := in.catalog.Lock(ctx); err != nil {
		return err
	}
	defer in.catalog.Unlock()
	var errs []error
	for _, r := range slices.Backward(in.residents) {
		if r.Life != nil {
			errs = append(errs, r.Life.Leave(ctx))
		}
	}
	return errors.Join(errs...)
}

// Host is whose instance it is, or was; nil for the copy of a snapshot.
func (in *Instance) Host() *Host { return in.host }

// Engine is where the data lies.
func (in *Instance) Engine() engine.Engine { return in.eng }

// Get reads one key outside of any view, in the fastest way that the engine has.
func (in *Instance) Get() GetFunc { return in.get }

// Catalog is the catalog of all tenants.
func (in *Instance) Catalog() *Catalog { return &in.catalog }

// Incarnation tells this instance's data from what a restore has replaced or will, and from other data.
func (in *Instance) Incarnation() uint32 { return in.incarnation }

// Closing notes in words what Close waits for.
func (in *Instance) Closing(what string) { in.state.closing.Store(&what) }

// Enter and Leave go around each foreground operation. While one is under way the reaper yields.
func (in *Instance) Enter() { in.working.Add(1) }

// Leave ends Enter.
func (in *Instance) Leave() { in.working.Add(-1) }

// Working is how many foreground operations are under way.
func (in *Instance) Working() int { return int(in.working.Load()) }

// Elapsed is a watch that has just been started: what it tells is real time, whatever the data clock does.
func (in *Instance) Elapsed() func() time.Duration {
	began := in.opts.Wall.Now()
	return func() time.Duration { return in.opts.Wall.Now().Sub(began) }
}

// viewGet is the point read of an engine without a faster one.
func (in *Instance) viewGet(ctx context.Context, scope, key []byte) ([]byte, engine.Position, error) {
	var value []byte
	var at engine.Position
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

// Ping writes a record, durably, and reads it: it fails where no write could be taken now. It does not wait
// for those who change the catalog, but for the disk.
func (in *Instance) Ping(ctx context.Context) error {
	_, err := in.eng.Update(ctx, [][]byte{CatalogScope()}, rewriteHead)
	if err == nil {
		_, _, err = in.get(ctx, CatalogScope(), headKey())
	}
	return err
}

// Never is the second that does not come.
const Never = math.MaxInt64

// keySpaceError says why tenants cannot live together.
func keySpaceError(tenants []Tenant) error {
	var claims []KeySpace
	for _, t := range tenants {
		c := t.KeySpace()
		for _, kind := range []byte(c.Kinds) {
			if kind == kindHost || kind == kindCeiling || kind == kindMark {
				return fmt.Errorf("host: %s claims the records of kind %c: the host's", c.Name, kind)
			}
		}
		if c.First == 0 || c.First > c.Last {
			return fmt.Errorf("host: %s claims the keys from %02x to %02x", c.Name, c.First, c.Last)
		}
		for _, other := range claims {
			if c.meets(other) {
				return fmt.Errorf("host: %s and %s claim the same", other.Name, c.Name)
			}
		}
		claims = append(claims, c)
	}
	return nil
}

func (c KeySpace) meets(other KeySpace) bool {
	return c.Name == other.Name || c.First <= other.Last && other.First <= c.Last ||
		bytes.ContainsAny([]byte(c.Kinds), other.Kinds)
}
