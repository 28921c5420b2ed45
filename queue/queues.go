package queue

import (
	"log/slog"
	"sync/atomic"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
)

// Options configures Queues. The zero value sets the limits of the Standard tier.
type Options struct {
	Logger *slog.Logger // nil discards
	// Basic sets the limits of the Basic tier: the default time to live is 14 days, which is also the
	// maximum.
	Basic bool
	// LazyExpiry makes the reaper skip message stores from which no message was received in the last minute,
	// as Service Bus does. Receivers see no difference, but counts and Peek include expired messages for
	// longer.
	LazyExpiry bool
	// DropLocksOnDisconnect ends the locks of a receiver when it is closed, so that its messages are
	// available at once. By default the locks last until they lapse.
	DropLocksOnDisconnect bool
	// RefuseExpiredDeferred makes ReceiveDeferred refuse expired messages. By default they are returned.
	RefuseExpiredDeferred bool
}

// Queues is the API of all entities. It stays valid when a snapshot is restored. Its methods are safe for
// concurrent use.
type Queues struct {
	opts    Options
	live    atomic.Pointer[loadedEntities]
	changes host.WaiterNotifier // see Changed; it remains valid when a snapshot is restored
}

// New returns queues. They can be used once their Tenant is part of an open host.
func New(o Options) *Queues { return &Queues{opts: o} }

// Changed returns a channel that is closed after this process has changed an entity or a message of any
// entity, or a snapshot has been restored.
func (q *Queues) Changed() <-chan struct{} { return q.changes.Changed() }

// Tenant returns the queues in the form in which they are passed to host.Open, which opens them together with
// other data on the same engine.
func (q *Queues) Tenant() host.Tenant { return queuesTenantAdapter{q} }

// Completed returns the properties that an entity of a kind would store for p: defaults are filled in, and
// properties that the kind does not have are removed. It does not check bounds.
func (q *Queues) Completed(kind entity.Kind, p entity.Properties) entity.Properties {
	p, _ = p.Complete(kind, "", q.opts.Basic)
	return p
}
