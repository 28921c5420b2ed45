package queue

import (
	"log/slog"
	"sync/atomic"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
)

// Options configure Queues. The zero value is a good default: the limits of the Standard tier.
type Options struct {
	Logger *slog.Logger // nil discards
	// Basic sets the limits of the Basic tier: a default time to live of 14 days, which is the highest one,
	// too.
	Basic bool
	// LazyExpiry leaves alone what has expired in message stores that nobody has received from for a minute,
	// as the service does. Receivers see no difference; counts and Peek do.
	LazyExpiry bool
	// DropLocksOnDisconnect makes the messages of a receiver that is gone available at once. By default their
	// locks last until they lapse.
	DropLocksOnDisconnect bool
	// RefuseExpiredDeferred refuses deferred messages that have expired. By default they are handed out.
	RefuseExpiredDeferred bool
}

// Queues is the door to all entities. It lives through restores. Its methods may be called from any
// goroutine.
type Queues struct {
	opts Options
	live atomic.Pointer[dataset]
}

// New makes the queues. They are there once their Tenant is in a host that is open.
func New(o Options) *Queues { return &Queues{opts: o} }

// Tenant is what host.Open is given.
func (q *Queues) Tenant() host.Tenant { return tenant{q} }

// Completed is what is kept of the properties of an entity of a kind: with what is not set filled in, and
// without what the kind does not have. It checks no bounds.
func (q *Queues) Completed(kind entity.Kind, p entity.Properties) entity.Properties {
	p, _ = p.Complete(kind, "", q.opts.Basic)
	return p
}
