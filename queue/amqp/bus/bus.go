package bus

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/priority"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/ttl"
)

// Options configures a Bus. Queues and Guard must be set.
type Options struct {
	Queues *queue.Queues
	Guard  *access.TokenVerifier
	Wall   ttl.Clock    // real time; nil is the system's
	Logger *slog.Logger // nil discards
	// the fault rules (see package inject); nil: none
	Faults *inject.FaultRules
	// Memory is the memory limit that messages count against; nil: no limit.
	Memory amqp.MemoryLimiter
	// CrossEntityTransactions allows transactions over more than one queue or topic, which Service Bus
	// refuses.
	CrossEntityTransactions bool
	// Requests is the log to which operations are added; nil: no log.
	Requests *requestlog.Log
	// Observe is called after each operation on messages, if it is not nil.
	Observe func(ObservedMessageOperation)
}

// ServiceBus implements Service Bus for AMQP connections.
type ServiceBus struct {
	o     Options
	turns *priority.TurnLimiter // of all connections
	// clockWarned is set after the warning of warnClock has been logged. It affects no response.
	clockWarned atomic.Bool
	// connections counts the connections opened so far. It affects no response.
	connections atomic.Uint64
}

// New returns a Bus with the given options.
func New(o Options) *ServiceBus {
	if o.Wall == nil {
		o.Wall = ttl.SystemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &ServiceBus{o: o, turns: priority.NewProcessTurnLimiter(o.Wall)}
}

// warnClock logs a warning, once, if a message is locked while the server's clock, which can be moved,
// differs from the machine's clock by more than the duration of the lock. Clients compute the time at which
// they renew a lock by the machine's clock.
func (b *ServiceBus) warnClock(path string, lasts time.Duration) {
	ahead := b.o.Queues.Now().Sub(b.o.Wall.Now())
	if ahead.Abs() <= lasts || b.clockWarned.Swap(true) {
		return
	}
	b.o.Logger.Warn("locks end by the data's clock, which is far from the machine's: clients that renew "+
		"them by the machine's clock, as .NET's do, renew too late or never",
		"ahead", ahead.Round(time.Second), "entity", path, "lock", lasts)
}

// containerID is the AMQP container id that the server sends in its open frames.
const containerID = "mayfly"

// Options returns the options to serve a connection with.
func (b *ServiceBus) Options() amqp.Options {
	return amqp.Options{Connect: b.connect, Password: b.password, ContainerID: containerID,
		Memory: b.o.Memory, Wall: b.o.Wall,
		Logger: b.o.Logger, Turns: b.turns}
}

func (b *ServiceBus) password(user, text string) (any, error) { return b.o.Guard.Password(user, text) }

func (b *ServiceBus) connect(ctx context.Context, p amqp.ClientInfo) amqp.ConnectionHandler {
	c := &conn{bus: b, number: b.connections.Add(1), tokenLinks: make(map[bool]*amqp.Link),
		queues: b.o.Queues, ctx: ctx, namespace: p.Hostname, client: clientOf(&p),
		transactions: make(map[string]*declaredTransaction),
		sessions:     make(map[*amqp.Link]*entityMessageSource), links: make(map[*amqp.Link]requiredRight)}
	first, ok := p.Identity.(access.GrantedRights)
	c.authenticated.Store(ok || b.o.Guard.Open())
	if !ok {
		first = b.o.Guard.Anonymous()
	}
	c.grants = []access.GrantedRights{first}
	return c
}
