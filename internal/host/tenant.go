package host

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// Tenant is a kind of data that lives in a host.
type Tenant interface {
	// KeySpace returns the keys that belong to the tenant. It never changes.
	KeySpace() KeySpace

	// Scopes are all scopes in which the data that r reads can have issued LSNs, the catalog's excepted: what
	// a restore raises. Scopes of what was dropped need not be among them, if the drop has noted their
	// highest LSN: see Catalog. It is asked of data that no resident lives in, and of those of a resident
	// that does while the catalog stands still. It writes nothing.
	Scopes(r engine.Reader) ([][]byte, error)

	// Open reads what the tenant has in an instance. It is alone there, with the tenants that Open was
	// given before it, and starts nothing: Life.Start comes when the instance is the host's. An error makes
	// Open or Restore fail.
	Open(ctx context.Context, in *Instance) (OpenTenant, error)
}

// KeySpace is the keys that belong to one tenant. Open refuses two tenants whose key spaces overlap.
type KeySpace struct {
	Name  string // for logs and errors: "documents"
	Kinds string // the letters of its records in the catalog; not those of the host, which are m, s and M
	// First and Last are the first bytes of its keys outside the catalog, from 01 to FF. What the byte
	// belongs to, and what may be dropped in one deletion, is numbered by the catalog, so that a tenant that
	// begins its keys with such a number and a bit of its own has them for itself.
	First, Last byte
}

// OpenTenant is what a tenant has in one instance. A part that it has no use for is nil.
type OpenTenant struct {
	Life      Life
	Sweep     ttl.Sweeper // of what can be purged. The host fills in Range.Tenant
	ClockUser ClockUser   // what is dated by a clock
	// Reread makes the records of the catalog known that r shows: another host over the same engine has
	// changed some, of this tenant or of another. The caller holds the catalog's lock.
	Reread func(ctx context.Context, r engine.Reader) error
	// Note is what a snapshot's note tells of the tenant: a member of a JSON object. It is called while the
	// catalog stands still.
	Note func() (member string, value any)
	// Sinks are where expired items of any tenant can be moved to, by their kinds.
	Sinks map[string]FindSink
}

// Life is what goes on in a resident from its moving in to its end.
type Life interface {
	// Recover finishes what a crash interrupted. All tenants have moved in, no loop runs, and the clocks have
	// been found to be usable.
	Recover(ctx context.Context) error
	// Start starts what runs in the background. The reaper runs. From now on the instance is the host's:
	// callers may be sent there.
	Start()
	// Stop stops that and waits for it. The engine is still open, the reaper runs. It tells by
	// Instance.Closing what it waits for. It is called in the opposite order of Start.
	Stop()
	// Leave stores what is to be stored at the end. Neither the reaper nor any loop runs any more, and the
	// caller holds the catalog's lock.
	Leave(ctx context.Context) error
	// Gone wakes whoever waits for something to happen: the engine is closed.
	Gone()
}

// ClockUser is what a tenant has dated by clocks: the server's (Instance.Clock) and those that it made itself
// (Instance.NewClock). It is asked before a clock is moved. A list of clocks is of those that move together.
type ClockUser interface {
	// Clocks are those that the tenant has made. The caller holds the catalog's lock.
	Clocks() []*Clock
	// Hold keeps everybody from storing a moment of one of the clocks, until release. It takes its locks in
	// an order of its own. Its error is that of ctx, or the tenant's.
	Hold(ctx context.Context, clocks []*Clock) (release func(), err error)
	// Latest is the latest moment of one of the clocks that is stored. Hold is in force.
	Latest(clocks []*Clock) Moment
	// Expired is a moment after to at which something died by one of the clocks that was alive at to and is
	// not purged yet; the zero Moment where there is none. Clocks go no further back than that, so that the
	// dead stay dead, and the answer does not depend on the reaper's pace. Hold is in force.
	Expired(ctx context.Context, clocks []*Clock, to time.Time) (Moment, error)
	// Moved reports that the clocks have been moved, by which what the tenant expected to expire may be due,
	// or not due yet.
	Moved(clocks []*Clock)
}

// Moment is a moment in which something happened that is stored.
type Moment struct {
	At   time.Time // zero: nothing is stored
	What string    // happened, for an error: "an item was written in shop/carts"
}
