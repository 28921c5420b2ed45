package amqp

import (
	"context"
	"log/slog"
	"time"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

// Options configures how connections are served. Connect must be set; all other fields have defaults.
type Options struct {
	// Connect returns the handler of a connection that its client has opened. ctx ends with the
	// connection.
	Connect func(ctx context.Context, p Peer) Handler
	// Password checks SASL PLAIN and returns the value for Peer.Identity. Nil: PLAIN always fails.
	Password func(user, password string) (identity any, err error)
	// ContainerID is the server's container id.
	ContainerID string
	// MaxFrameSize is the largest frame that the server reads, in bytes. Default: 65,536.
	MaxFrameSize uint32
	// IdleTimeout is the timeout announced to clients. Default: 2 minutes. A connection is closed after one
	// and a half times as long.
	IdleTimeout time.Duration
	// TokenTime is the time limit from connecting to authorization. Default: one minute.
	TokenTime time.Duration
	// Memory is the memory limit for what clients send and for output that they do not read. Nil: only the
	// limits per connection apply.
	Memory MemoryLimit
	// Idle is called when the connection becomes idle or busy. An idle connection may be closed to make
	// place for another client. A new connection is idle. Nil: not called. It must not block.
	Idle func(bool)
	// Wall is the source of real time. Default: the system clock.
	Wall ttl.Clock
	// Logger logs errors that no client has caused. Nil discards.
	Logger *slog.Logger
}

// Peer describes the client of a connection.
type Peer struct {
	Identity  any    // returned by Options.Password; nil if the client did not use PLAIN
	Container string // the client's container id
	Hostname  string // the server's host name, as the client sent it

	Properties wire.Map // the client's connection properties
}

// Session is a client's session as a Handler sees it.
type Session struct {
	// Own is for the Handler's use. Package amqp does not access it.
	Own any
}

// Handler implements the nodes of one connection. Its methods are called concurrently.
type Handler interface {
	// Attaching is called before Attach, in the order of the client's attach frames. It must not block.
	Attaching(l *Link, request *frame.Attach)
	// Attach accepts or refuses a link that a client requests. ctx ends with the link. The error is a
	// *frame.Error; other errors are logged as defects.
	Attach(ctx context.Context, l *Link, request *frame.Attach) (Answer, error)
	// Authorized reports whether the client has been authorized. It must not block.
	Authorized() bool
	// Closed is called once all links are detached and the connection is closed.
	Closed()
}

// Answer describes an accepted link.
type Answer struct {
	Sink           Sink          // for a link on which the client sends
	Source         Source        // for a link on which the client receives
	From           *frame.Source // the source to answer with; nil: as requested
	Properties     wire.Map
	MaxMessageSize uint64 // bytes, of a Sink; 0: 1 MiB
	Credit         uint32 // granted by a Sink; 0: 1,000
	// Discharges decodes a message to a coordinator: the id of the transaction that it discharges, and
	// whether to roll it back. ok is false if the message is no discharge. Nil: the Sink is no coordinator.
	Discharges func(payload []byte) (txn []byte, fail, ok bool)
	// TooLarge returns the error for a message above MaxMessageSize, which is not passed to the Sink. Nil:
	// a generic error.
	TooLarge func() *frame.Error
	// NoRoom returns the error for a message for which there is no memory. Nil: a generic error.
	NoRoom func() *frame.Error
}

// Sink receives the messages that a client sends on a link.
type Sink interface {
	// Transfer processes messages in the order of their arrival and returns the state of each: a
	// *frame.Transactional if it has become part of a transaction. ctx is not cancelled when the client
	// leaves, because messages sent before are still processed. Calls are not concurrent.
	Transfer(ctx context.Context, list []Incoming) []frame.State
	// Detached is called once after the link has ended and no other method is running.
	Detached()
}

// Incoming is a message sent by a client. The sink may keep it.
type Incoming struct {
	Format  uint32
	Payload []byte
	Settled bool        // the client gets no disposition
	State   frame.State // of its transaction; nil for none
	// Incomplete is set for the discharge of a transaction that has lost or refused some work: it must not
	// be committed.
	Incomplete bool
}

// Source provides messages for a client.
type Source interface {
	// Receive returns up to max messages. If there are none and wait is set, it waits for one until ctx
	// ends. No messages and no error mean that wait was not set or ctx has ended. An error ends the link: a
	// *frame.Error; other errors are logged as defects. Calls are not concurrent.
	Receive(ctx context.Context, max int, wait bool) ([]Outgoing, error)
	// Release returns messages that were not sent, because the client has withdrawn its credit or the link
	// has ended.
	Release(list []Outgoing)
	// Settle settles messages with the client's states and returns the resulting state of each: a
	// *frame.Transactional if a transaction will settle it. ctx is not cancelled when the link ends. Calls
	// of Settle are not concurrent, but one may run while Receive runs.
	Settle(ctx context.Context, list []Settlement) []frame.State
	// Detached is called once after the link has ended and no other method is running.
	Detached()
}

// Outgoing is a message for a client.
type Outgoing struct {
	Tag     []byte // identifies the delivery, at most 32 bytes
	Format  uint32
	Payload []byte
	Settled bool // the client need not settle it
	// Final is set if the source has given the message away for good. It is sent even if the client has
	// withdrawn its credit meanwhile.
	Final bool
	// Done is called when the message was written or given back. It may be nil.
	Done func()
}

// Settlement is a client's settlement of one delivery.
type Settlement struct {
	Tag   []byte
	State frame.State // nil if the client has sent settled without a state
}
