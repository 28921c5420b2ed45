package amqp

import (
	"context"
	"log/slog"
	"time"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

// Options say how connections are served. Connect must be set; the rest has defaults.
type Options struct {
	// Connect begins a connection that has shown who it is. ctx ends with the connection.
	Connect func(ctx context.Context, p Peer) Handler
	// Password checks SASL's PLAIN, and returns what Peer.Identity is to be. Nil: nobody is let in by it.
	Password func(user, password string) (identity any, err error)
	// ContainerID is what the server calls itself.
	ContainerID string
	// MaxFrameSize is the largest frame that is read, in bytes. Default: 65,536.
	MaxFrameSize uint32
	// IdleTimeout is how long a client may be silent. Default: 2 minutes; half as much more is granted.
	IdleTimeout time.Duration
	// TokenTime is how long a client may take from connecting to showing who it is. Default: a minute.
	TokenTime time.Duration
	// Room is the memory that what clients send, and what they do not read, is counted against. Nil: each
	// connection has bounds of its own alone.
	Room Room
	// Idle is told when the connection begins or ends to be one that may be closed where another client needs
	// its place; at its beginning it is. Nil: nobody asks. It must not wait.
	Idle func(bool)
	// Wall tells real time. Default: the system's.
	Wall ttl.Clock
	// Logger takes what is no fault of a client. Nil discards.
	Logger *slog.Logger
}

// Peer is who is connected.
type Peer struct {
	Identity  any    // of Options.Password; nil for who has shown nothing
	Container string // what the client calls itself
	Hostname  string // what it thinks the server is called

	Properties wire.Map // what it says of itself
}

// Session is a session of a client, as a Handler sees it.
type Session struct {
	// Own is what the Handler keeps of the session. Nothing else looks at it.
	Own any
}

// Handler is what a connection is connected to. Its methods are called from several goroutines.
type Handler interface {
	// Attaching is told of a link that a client asks for, before Attach decides about it, in the order of the
	// client's frames. It must not wait.
	Attaching(l *Link, request *frame.Attach)
	// Attach decides about a link that a client asks for. ctx ends with the link. The error is a
	// *frame.Error, or a defect.
	Attach(ctx context.Context, l *Link, request *frame.Attach) (Answer, error)
	// Authorized reports whether the client has shown who it is, now or before. It must not wait.
	Authorized() bool
	// Closed is told when all links are detached and the connection is gone.
	Closed()
}

// Answer is what a link that was attached is like.
type Answer struct {
	Sink           Sink          // of a link on which the client sends
	Source         Source        // of one on which it receives
	From           *frame.Source // what is answered; nil: as it was asked for
	Properties     wire.Map
	MaxMessageSize uint64 // bytes, of a Sink; 0: 1 MiB
	Credit         uint32 // that a Sink gives ahead; 0: 1,000
	// Discharges reads a message to a coordinator: which transaction it ends, and whether that is to fail. ok
	// is false of one that ends none. Nil: the Sink is no coordinator.
	Discharges func(payload []byte) (txn []byte, fail, ok bool)
	// TooLarge makes what a client is told of a message above MaxMessageSize, which no Sink gets. Nil: plain
	// words.
	TooLarge func() *frame.Error
	// NoRoom makes what a client is told of a message for which there is no memory. Nil: plain words.
	NoRoom func() *frame.Error
}

// Sink takes what a client sends on a link.
type Sink interface {
	// Transfer takes messages in the order in which they have come, and tells the state of each: a
	// *frame.Transactional where it has become part of a transaction. ctx does not end: what a client has
	// sent before it leaves is taken. It is called by one goroutine at a time.
	Transfer(ctx context.Context, list []Incoming) []frame.State
	// Detached is told once when the link is gone, and no other method runs.
	Detached()
}

// Incoming is a message that a client has sent. It is the sink's to keep.
type Incoming struct {
	Format  uint32
	Payload []byte
	Settled bool        // nobody is told of its state
	State   frame.State // of a transaction; nil for none
	// Incomplete is set of the discharge of a transaction of which some work was refused or lost: it must not
	// be committed.
	Incomplete bool
}

// Source gives messages to a client.
type Source interface {
	// Receive returns up to max messages; where there are none it waits for one until ctx ends, if wait is
	// set. Who gets none, and no error, has not waited or ctx has ended. An error ends the link: a
	// *frame.Error, or a defect. It is called by one goroutine at a time.
	Receive(ctx context.Context, max int, wait bool) ([]Outgoing, error)
	// GiveBack returns messages that were not sent, since the client has taken its credit back or the link is
	// gone.
	GiveBack(list []Outgoing)
	// Settle settles messages as the client wants it, and reports what has become of each: a
	// *frame.Transactional where that depends on a transaction, whose end settles it. ctx does not end. It is
	// called by one goroutine at a time, beside Receive.
	Settle(ctx context.Context, list []Settlement) []frame.State
	// Detached is told once when the link is gone, and no other method runs.
	Detached()
}

// Outgoing is a message for a client.
type Outgoing struct {
	Tag     []byte // names the delivery, at most 32 bytes
	Format  uint32
	Payload []byte
	Settled bool // the client need not settle it
	// Final is set of what the source has given away for good: it is sent although the client has taken its
	// credit back meanwhile, as if it had been under way.
	Final bool
	// Done is called when the message was written or given back; nil: nobody asks.
	Done func()
}

// Settlement is what a client wants to become of a delivery.
type Settlement struct {
	Tag   []byte
	State frame.State // nil: it has said no more than that it is settled
}
