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

// receivedMessage is a message as a surface shows it.
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

// property is an application property; names have no case, since HTTP's headers have none.
func (g receivedMessage) property(name string) string { return g.values[strings.ToLower(name)] }

// messenger sends, receives and settles.
type messenger interface {
	send(address string, list ...*message.Message) error
	// receive takes up to most of the messages that there are, and does not wait.
	receive(address string, mode queue.ReceiveMode, most int) ([]receivedMessage, error)
	settle(address string, m receivedMessage, s queue.Settlement) error
	renew(address string, m receivedMessage) (time.Time, error)
	// refused reports whether an error is what the surface says for a code.
	refused(err error, code entity.ErrorCode) bool
}

// messagePeeker peeks.
type messagePeeker interface {
	peek(address string) ([]receivedMessage, error)
}

// messageScheduler sends for later, and takes what was deferred.
type messageScheduler interface {
	schedule(address string, list ...*message.Message) ([]int64, error)
	cancel(address string, numbers ...int64) error
	deferred(address string, mode queue.ReceiveMode, numbers ...int64) ([]receivedMessage, error)
}

// sessionAcceptor accepts sessions.
type sessionAcceptor interface {
	// accept locks a session; "" is the next one, for which it does not wait.
	accept(address, id string) (lockedSession, error)
}

// lockedSession is a session that is locked.
type lockedSession interface {
	id() string
	receive(most int) ([]receivedMessage, error)
	state() (string, error)
	setState(text string) error
	close()
}

// entityManager makes and deletes entities.
type entityManager interface {
	create(kind entity.Kind, path string, p entity.Properties) error
	update(kind entity.Kind, path string, p entity.Properties) error
	get(path string) (entity.Entity, error)
	addRule(subscription, name, filter, action string) error
	// list is the names of queues: top of them behind skip.
	list(skip, top int) ([]string, error)
}

// batchSender sends messages at one go, all or none.
type batchSender interface {
	batch(address string, list ...*message.Message) error
}

// waitingReceiver waits for messages that do not come, until stop.
type waitingReceiver interface {
	listen(address string) (stop func())
}

// set puts an application property into what was received.
func (g *receivedMessage) set(name string, value any) {
	g.values[strings.ToLower(name)] = fmt.Sprint(value)
}
