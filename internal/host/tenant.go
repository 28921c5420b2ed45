package host

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// Tenant is one of the stores that a host opens on its engine: the document store, or the store of queues
// and topics.
type Tenant interface {
	// KeySpace returns the keys that belong to the tenant. It never changes.
	KeySpace() TenantKeySpace

	// Scopes returns all engine scopes, except the catalog's, in which LSNs may have been issued in the data
	// that r reads. A restore makes their next LSNs higher than all that were issued before. Scopes of
	// dropped objects may be missing if the drop has recorded their highest LSN: see DefinitionCatalog. It is
	// called for data in which no tenant is open, and for those of an open tenant while the catalog is
	// locked. It writes nothing.
	Scopes(r engine.Reader) ([][]byte, error)

	// Open reads the tenant's data in an instance. Only the tenants that precede it in the order given to
	// host.Open are open there already. It starts no background work: TenantLifecycleCallbacks.Start is
	// called once the instance is the host's. An error makes host.Open or Restore fail.
	Open(ctx context.Context, in *EngineInstance) (OpenedTenant, error)
}

// TenantKeySpace describes the keys that belong to one tenant. Open fails if the key spaces of two tenants
// overlap.
type TenantKeySpace struct {
	Name  string // for logs and errors: "documents"
	Kinds string // the letters of its records in the catalog; not those of the host, which are l, m, s and M
	// First and Last are the lowest and the highest first byte of its keys outside the catalog, from 01 to
	// FF. A key begins with the catalog's number of the object that owns the key, in which a bit of the
	// tenant's own is set. So the keys of tenants do not overlap, and one deletion of a key range drops an
	// object.
	First, Last byte
}

// OpenedTenant is a tenant (the documents, or the queues and topics) while one engine is open: the functions
// by which the host uses it. A part that the tenant does not need is nil.
type OpenedTenant struct {
	Life          TenantLifecycleCallbacks
	Sweep         ttl.Sweeper          // purges expired items. The host sets Range.Tenant
	ClockObserver ClockMoveParticipant // access to the items that a clock dates
	// Reload loads the catalog's records of this tenant from r. It is called after another host over the
	// same engine has changed records, of this tenant or of another. The caller holds the catalog's lock.
	Reload func(ctx context.Context, r engine.Reader) error
	// Awaited returns the scopes for whose changes callers are waiting. A caller that begins to wait calls
	// EngineInstance.Awaiting.
	Awaited func() [][]byte
	// Changed is called when another server may have changed data of a scope; nil stands for any scope. It
	// wakes those who wait for such a change, and must not block.
	Changed func(scope []byte)
	// SnapshotNote returns the tenant's member of a snapshot's note, a JSON object. It is called while the
	// catalog is locked.
	SnapshotNote func() (member string, value any)
	// Sinks are the places, such as archive containers or queues, to which expired items of any tenant can
	// be moved, by their kind.
	Sinks map[string]FindExpirySinkFunc
}

// TenantLifecycleCallbacks contains the functions that the host calls when it starts and ends a tenant, the
// document store or the message store.
type TenantLifecycleCallbacks interface {
	// Recover finishes what a crash interrupted. All tenants are open, no background work runs, and the
	// clocks have been checked.
	Recover(ctx context.Context) error
	// Start starts the tenant's background work, after all tenants have been opened. The reaper already runs.
	// After Start the host passes the tenant to callers.
	Start()
	// Stop stops the background work and waits for it. The engine is still open and the reaper runs. Stop
	// describes what it waits for by EngineInstance.Closing. Tenants are stopped in the opposite order of
	// Start.
	Stop()
	// Leave stores the tenant's final state. Neither the reaper nor other background work runs, and the
	// caller holds the catalog's lock.
	Leave(ctx context.Context) error
	// Gone is called when the engine has been closed. It wakes all calls that wait in the tenant.
	Gone()
}

// ClockMoveParticipant gives the host access to the data of a tenant that contain times of clocks: of the
// server's clock (EngineInstance.Clock) and of those that the tenant has created (EngineInstance.NewClock).
// The host uses it to move clocks. A parameter clocks is a list of clocks that move together.
type ClockMoveParticipant interface {
	// Clocks returns the clocks that the tenant has created. The caller holds the catalog's lock.
	Clocks() []*NonDecreasingClock
	// Hold blocks all operations that store a moment of one of the clocks, until release. It takes its locks
	// in the tenant's own order. It returns the error of ctx or the tenant's.
	Hold(ctx context.Context, clocks []*NonDecreasingClock) (release func(), err error)
	// Latest returns the latest moment that the tenant has stored by one of the clocks, with a description
	// for error messages. The host calls it between Hold and its release, while nothing can store a later
	// moment.
	Latest(clocks []*NonDecreasingClock) StoredEventTime
	// Expired looks for an item that was live at the time to, has expired since by one of the clocks, and has
	// not been purged. It returns the moment of the expiry, or the zero StoredEventTime if there is no such
	// item. Clocks are not set back before that moment, so that expired items stay expired, whether they have
	// been purged or not. It is called while Hold blocks the tenant's operations.
	Expired(ctx context.Context, clocks []*NonDecreasingClock, to time.Time) (StoredEventTime, error)
	// Moved is called after the clocks have been moved, forward or back: items may have become due, or may no
	// longer be due.
	Moved(clocks []*NonDecreasingClock)
}

// StoredEventTime is the time of an item or event that is stored, with a description of it for error
// messages.
type StoredEventTime struct {
	At   time.Time // zero: nothing is stored
	What string    // the event, for an error: "an item was written in shop/carts"
}
