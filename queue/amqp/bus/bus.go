package bus

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/requests"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/ttl"
)

// Options configure a Bus. Queues and Guard must be set.
type Options struct {
	Queues *queue.Queues
	Guard  *access.Guard
	Wall   ttl.Clock    // real time; nil is the system's
	Logger *slog.Logger // nil discards
	// Faults are the faults on demand; nil: there are none.
	Faults *inject.Rules
	// Room is the memory that messages are counted against; nil: there is no bound.
	Room amqp.Room
	// CrossEntityTransactions lets transactions concern more than one queue or topic, which the service
	// refuses.
	CrossEntityTransactions bool
	// Requests is the log of requests that operations are added to; nil: there is none.
	Requests *requests.Log
	// Observe is told of what was done with messages; nil: nobody asks.
	Observe func(Observation)
}

// Bus serves Service Bus to connections of AMQP.
type Bus struct {
	o Options
	// clockTold is set once the log has said that the data's clock is far from the machine's. It decides no
	// answer.
	clockTold atomic.Bool
	// connections counts the connections that were opened. It decides no answer.
	connections atomic.Uint64
}

// New makes a Bus.
func New(o Options) *Bus {
	if o.Wall == nil {
		o.Wall = ttl.Real{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Bus{o: o}
}

// lockGiven notes that a lock of so long was given. The first one given while the data's clock is further
// than that from the machine's is worth a warning: clients compute by their own clock when to renew it.
func (b *Bus) lockGiven(path string, lasts time.Duration) {
	ahead := b.o.Queues.Now().Sub(b.o.Wall.Now())
	if ahead.Abs() <= lasts || b.clockTold.Swap(true) {
		return
	}
	b.o.Logger.Warn("locks end by the data's clock, which is far from the machine's: clients that renew "+
		"them by the machine's clock, as .NET's do, renew too late or never",
		"ahead", ahead.Round(time.Second), "entity", path, "lock", lasts)
}

// containerID is what the server calls itself.
const containerID = "mayfly"

// Options are those with which a connection is served.
func (b *Bus) Options() amqp.Options {
	return amqp.Options{Connect: b.connect, Password: b.password, ContainerID: containerID,
		Room: b.o.Room, Wall: b.o.Wall,
		Logger: b.o.Logger}
}

func (b *Bus) password(user, text string) (any, error) { return b.o.Guard.Password(user, text) }

func (b *Bus) connect(ctx context.Context, p amqp.Peer) amqp.Handler {
	c := &conn{bus: b, number: b.connections.Add(1), tokenLinks: make(map[bool]*amqp.Link),
		queues: b.o.Queues, ctx: ctx, namespace: p.Hostname, client: clientOf(&p),
		transactions: make(map[string]*transaction),
		sessions:     make(map[*amqp.Link]*receiver), links: make(map[*amqp.Link]right)}
	first, ok := p.Identity.(access.Grant)
	c.shown.Store(ok || b.o.Guard.Open())
	if !ok {
		first = b.o.Guard.Anonymous()
	}
	c.grants = []access.Grant{first}
	return c
}
