package amqp

import (
	"context"
	"log/slog"
	"time"

	"github.com/mayflydb/mayfly/internal/priority"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

// Options configures how connections are served. Connect must be set; all other fields have defaults.
type Options struct {
	// Connect returns the handler for a connection after the client has opened it. ctx ends with the
	// connection.
	Connect func(ctx context.Context, p ClientInfo) ConnectionHandler
	// Password checks SASL PLAIN and returns the value for ClientInfo.Identity. Nil: PLAIN always fails.
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
	// Memory limits the memory for what clients send and for output that they do not read. If it is nil,
	// only the limits per connection apply.
	Memory MemoryLimiter
	// Turns limits how many of those connections are served at a time whose clients send frames without a
	// pause. Several connections can share it. Default: the connection has a limit of its own.
	Turns *priority.TurnLimiter
	// Idle is called when the connection becomes idle or busy. An idle connection may be closed to make room
	// for another client. A new connection is idle. Idle must not block. It may be nil.
	Idle func(bool)
	// Wall is the source of real time. Default: the system clock.
	Wall ttl.Clock
	// Logger logs errors that were not caused by a client. If it is nil, nothing is logged.
	Logger *slog.Logger
}

// ClientInfo describes the client of a connection.
type ClientInfo struct {
	Identity  any    // the value that Options.Password returned; nil if the client did not use PLAIN
	Container string // the client's container id
	Hostname  string // the server's host name, as the client sent it

	Properties wire.Map // the client's connection properties
}

// SessionWithHandlerData is a client's AMQP session as package amqp shows it to a ConnectionHandler.
type SessionWithHandlerData struct {
	// Own is for the ConnectionHandler's use. Package amqp does not access it.
	Own any
}

// ConnectionHandler implements the nodes of one connection. Its methods are called concurrently.
type ConnectionHandler interface {
	// Attaching is called before Attach, in the order of the client's attach frames. It must not block.
	Attaching(l *Link, request *frame.Attach)
	// Attach accepts or refuses a link that a client requests. ctx ends with the link. It should return a
	// *frame.Error; any other error is logged as a bug.
	Attach(ctx context.Context, l *Link, request *frame.Attach) (AcceptedLink, error)
	// Authorized reports whether the client of the connection has shown that it is authorized, for example by
	// a token. Until then stricter limits apply to it. It must not block.
	Authorized() bool
	// MayWait reports whether the sinks and sources may wait on purpose, for example because of a fault on
	// demand. It must not block.
	MayWait() bool
	// Closed is called once all links are detached and the connection is closed.
	Closed()
}

// AcceptedLink describes a link that a ConnectionHandler has accepted.
type AcceptedLink struct {
	Sink           MessageSink   // for a link on which the client sends
	Source         MessageSource // for a link on which the client receives
	From           *frame.Source // the source that the response contains; nil: as requested
	Properties     wire.Map
	MaxMessageSize uint64 // bytes, of a MessageSink; 0: 1 MiB
	Credit         uint32 // granted by a MessageSink; 0: 1,000
	// Discharges decodes a message to a coordinator. It returns the id of the transaction that the message
	// discharges, and whether to roll the transaction back. ok is false if the message is not a discharge.
	// Discharges is nil if the MessageSink is not a coordinator.
	Discharges func(payload []byte) (txn []byte, fail, ok bool)
	// TooLarge returns the error for a message above MaxMessageSize. Such a message is not passed to the
	// Sink. If TooLarge is nil, a generic error is used.
	TooLarge func() *frame.Error
	// NoRoom returns the error for a message for which there is no memory. If it is nil, a generic error is
	// used.
	NoRoom func() *frame.Error
}

// MessageSink receives the messages that a client sends on a link.
type MessageSink interface {
	// Transfer processes messages in the order of their arrival and returns a state for each. The state is a
	// *frame.Transactional if the message has become part of a transaction. ctx is not canceled when the
	// client disconnects, because the messages that have arrived are still processed. Calls are not
	// concurrent.
	Transfer(ctx context.Context, list []IncomingMessage) []frame.DeliveryState
	// Detached is called once after the link has ended and no other method is running.
	Detached()
}

// IncomingMessage is a message sent by a client. The sink may keep it.
type IncomingMessage struct {
	Format  uint32
	Payload []byte
	Settled bool                // the client expects no disposition
	State   frame.DeliveryState // state with the transaction; nil: none
	// Incomplete is set for the discharge of a transaction if some of its work was lost or refused. The
	// transaction must not be committed.
	Incomplete bool
}

// MessageSource provides messages for a client.
type MessageSource interface {
	// Receive returns up to max messages. If there are none and wait is set, it waits for one until ctx
	// ends. If it returns neither messages nor an error, wait was not set or ctx has ended. An error ends
	// the link. It should be a *frame.Error; any other error is logged as a bug. Calls are not concurrent.
	Receive(ctx context.Context, max int, wait bool) ([]OutgoingMessage, error)
	// Release gives back messages that were not sent, because the client has withdrawn its credit or the
	// link has ended.
	Release(list []OutgoingMessage)
	// Settle settles messages with the client's states and returns the resulting state of each. That is a
	// *frame.Transactional if a transaction will settle the message. ctx is not canceled when the link ends.
	// Calls of Settle are not concurrent, but one may run while Receive runs.
	Settle(ctx context.Context, list []Settlement) []frame.DeliveryState
	// Detached is called once after the link has ended and no other method is running.
	Detached()
}

// OutgoingMessage is an encoded message that a MessageSource, such as a queue, has for the client of a link.
type OutgoingMessage struct {
	Tag     []byte // identifies the delivery, at most 32 bytes
	Format  uint32
	Payload []byte
	Settled bool // the client need not settle it
	// Final is set if the source no longer has the message, as in ReceiveAndDelete mode. Such a message is
	// sent even if the client has withdrawn its credit in the meantime.
	Final bool
	// Done is called when the message has been written or given back to the source. It may be nil.
	Done func()
}

// Settlement is a client's settlement of one delivery.
type Settlement struct {
	Tag   []byte
	State frame.DeliveryState // nil if the client has settled the delivery without a state
}
