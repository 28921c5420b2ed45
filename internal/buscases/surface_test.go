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

// got is a message as a surface shows it.
type got struct {
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
func (g got) property(name string) string { return g.values[strings.ToLower(name)] }

// messenger sends, receives and settles.
type messenger interface {
	send(address string, list ...*message.Message) error
	// receive takes up to most of the messages that there are, and does not wait.
	receive(address string, mode queue.ReceiveMode, most int) ([]got, error)
	settle(address string, m got, s queue.Settlement) error
	renew(address string, m got) (time.Time, error)
	// refused reports whether an error is what the surface says for a code.
	refused(err error, code entity.ErrorCode) bool
}

// browser peeks.
type browser interface {
	peek(address string) ([]got, error)
}

// planner sends for later, and takes what was deferred.
type planner interface {
	schedule(address string, list ...*message.Message) ([]int64, error)
	cancel(address string, numbers ...int64) error
	deferred(address string, mode queue.ReceiveMode, numbers ...int64) ([]got, error)
}

// talker accepts sessions.
type talker interface {
	// accept locks a session; "" is the next one, for which it does not wait.
	accept(address, id string) (talk, error)
}

// talk is a session that is locked.
type talk interface {
	id() string
	receive(most int) ([]got, error)
	state() (string, error)
	setState(text string) error
	close()
}

// keeper makes and deletes entities.
type keeper interface {
	create(kind entity.Kind, path string, p entity.Properties) error
	update(kind entity.Kind, path string, p entity.Properties) error
	get(path string) (entity.Entity, error)
	addRule(subscription, name, filter, action string) error
	// list is the names of queues: top of them behind skip.
	list(skip, top int) ([]string, error)
}

// batcher sends messages at one go, all or none.
type batcher interface {
	batch(address string, list ...*message.Message) error
}

// listener waits for messages that do not come, until stop.
type listener interface {
	listen(address string) (stop func())
}

// set puts an application property into what was received.
func (g *got) set(name string, value any) {
	g.values[strings.ToLower(name)] = fmt.Sprint(value)
}
