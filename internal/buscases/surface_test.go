package buscases

import (
	"fmt"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// receivedMessage is a message as one of the surfaces (interfaces for clients) returns it.
type receivedMessage struct {
	text, id  string
	number    int64
	original  int64     // number where it was sent, of one that was forwarded
	count     int       // of failed deliveries
	enqueued  time.Time //
	expires   time.Time // zero: not told
	until     time.Time // of its lock; zero: it has none
	ttl       time.Duration
	state     message.State
	session   string
	died      string            // where, of one that was forwarded
	values    map[string]string // application properties, names in lower case
	token     message.UUID
	reference any      // the surface's own
	body      wire.Map // of an answer
}

// property returns an application property. Names are case-insensitive, like those of HTTP headers.
func (g receivedMessage) property(name string) string { return g.values[strings.ToLower(name)] }

// messagingClient is the part of a surface that sends, receives and settles messages.
type messagingClient interface {
	send(address string, list ...*message.Message) error
	// receive returns up to most of the available messages, without waiting.
	receive(address string, mode queue.ReceiveMode, most int) ([]receivedMessage, error)
	settle(address string, m receivedMessage, s queue.SettlementRequest) error
	renew(address string, m receivedMessage) (time.Time, error)
	// refused reports whether err is the error that this surface (AMQP, REST or another interface for
	// clients) returns for the given error code of package queue.
	refused(err error, code entity.ErrorCode) bool
}

// messagePeeker is the part of a surface that peeks at messages without locking them.
type messagePeeker interface {
	peek(address string) ([]receivedMessage, error)
}

// messageScheduler is the part of a surface that schedules messages and receives deferred ones.
type messageScheduler interface {
	schedule(address string, list ...*message.Message) ([]int64, error)
	cancel(address string, numbers ...int64) error
	deferred(address string, mode queue.ReceiveMode, numbers ...int64) ([]receivedMessage, error)
}

// sessionAcceptor is the part of a surface that accepts (locks) Service Bus sessions.
type sessionAcceptor interface {
	// accept locks the session with that id, or with "" the next available session, without waiting for
	// one.
	accept(address, id string) (lockedSession, error)
}

// lockedSession is a Service Bus session that a client has locked.
type lockedSession interface {
	id() string
	receive(most int) ([]receivedMessage, error)
	state() (string, error)
	setState(text string) error
	close()
}

// entityManager is the part of a surface that creates, changes and lists queues, topics and subscriptions.
type entityManager interface {
	create(kind entity.Kind, path string, p entity.Properties) error
	update(kind entity.Kind, path string, p entity.Properties) error
	get(path string) (entity.Entity, error)
	addRule(subscription, name, filter, action string) error
	// list returns the names of at most top queues, without the first skip ones.
	list(skip, top int) ([]string, error)
}

// batchSender is the part of a surface that sends several messages as one batch: all are stored or none.
type batchSender interface {
	batch(address string, list ...*message.Message) error
}

// receiverStarter is implemented by those surfaces (interfaces for clients, such as AMQP) that can start a
// receiver, which waits for messages until stop is called.
type receiverStarter interface {
	listen(address string) (stop func())
}

// set sets an application property of the received message to the text of value.
func (g *receivedMessage) set(name string, value any) {
	g.values[strings.ToLower(name)] = fmt.Sprint(value)
}
