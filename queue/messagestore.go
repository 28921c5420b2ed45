package queue

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
)

// The seam between entities and messages, inside the package.
//
// What messages need of an entity:
//
//	entity.number, kind, path, scope, properties, generation, stores
//	entity.resident   *resident: whose it is, with
//	    in    *host.Instance
//	    opts  *Options
//	    gate  host.Gate   shared by who stores a moment; a clock is set back by one who is alone
//	    timers timers     started by Life.Start, stopped by Life.Stop
//	entity.touch(now int64)                     activity, in milliseconds
//	resident.find(Address) (*entity, error)     CodeEntityNotFound
//	resident.entities() []*entity               all that are there, in any order
//
// What entities call of messages:
//
//	newMessageStore     for each of entity.stores; a topic has Main alone
//	createStores        in the transaction that makes the entity
//	dropStores          in the transaction that deletes it
//	messageStore.load   as the resident moves in
//	messageStore.end    when the entity is gone (CodeEntityNotFound), or the instance (CodeCancelled)
//	messageStore.changed  when an update of the entity is durable and in entity.properties
//	messageStore.read   its counters, as they are stored
//	work                what happens to messages in one transaction: see tx.go
//
// messageStore is one store of messages of an entity: what is known of it in memory. That is its locks, its
// receivers and where they stand; all else lies in the engine.
type messageStore struct {
	e      *entity
	sub    Sub
	prefix []byte // of its keys

	mu        sync.Mutex // guards what follows; nothing is waited for while it is held
	ended     *Error     // why it takes no receivers any more
	claims    map[int64]*claim
	tokens    map[token]*claim
	due       deadlines // of locks, and of locks of sessions
	place     place     // where receivers stand, in a store without sessions
	sessions  map[string]*sessionLock
	receivers map[*Receiver]struct{}
	waiters   waiters // for messages, or for the next session
	scheduled int64   // no message is due before that millisecond; host.Never: none is scheduled

	latest       atomic.Int64 // the last millisecond that is stored
	lastReceived atomic.Int64 // the last millisecond in which somebody asked for messages
	passes       passes       // of the reaper, in whose turn it is
	ticking      turn         // one at a time ends locks and brings what is scheduled
}

// newMessageStore makes what is known in memory of a store of an entity.
func newMessageStore(e *entity, sub Sub) *messageStore { return nil }

// createStores writes the counters of an entity's stores: those of a store that is there, and of no other.
func createStores(t engine.Txn, number uint32, kind Kind) {}

// dropStores deletes all that lies in an entity's stores.
func dropStores(t engine.Txn, number uint32) {}

// load reads what must be known in memory.
func (s *messageStore) load(r engine.Reader) error { return nil }

// end ends all receivers: the store is gone, for a reason.
func (s *messageStore) end(why *Error) {}

// changed tells that properties of the entity have been set: its locks are lost, without a count, and receivers
// that its status refuses end.
func (s *messageStore) changed() {}

// read reads the counters of the store: CodeEntityNotFound where it is gone.
func (s *messageStore) read(r engine.Reader) (counters, error) { return counters{}, nil }

// counters are what is counted of a store, in the transactions that change it.
type counters struct {
	Next      int64 // the number of the next message
	Active    int64 // messages: visible, locked, deferred
	Scheduled int64
	Bytes     int64
	Latest    int64 // the millisecond of the last transaction
}

// update runs one transaction over messages in scopes. fn may run more than once, each time with new work. It
// wakes those who wait for what has arrived when that is durable.
func (m *resident) update(ctx context.Context, scopes [][]byte, fn func(w *work) error) error { return nil }

// work is what happens to messages in one transaction. Its methods compose: a move is a remove and an insert.
type work struct {
	engine.Txn
	now int64
}

// arrival is a message on its way into a store.
type arrival struct{}

// insert stores a message as active, or as scheduled where its time is yet to come, under the next number of the
// store. It fails with CodeQuotaExceeded, and with CodeEntityNotFound for a store that is gone.
func (w *work) insert(s *messageStore, a *arrival) (number int64, err error) { return 0, nil }

// remove deletes a message.
func (w *work) remove(s *messageStore, number int64) error { return nil }

// deadLetter moves a message to the dead letters of its entity, under the number that it has.
func (w *work) deadLetter(s *messageStore, number int64, why reason) error { return nil }

// reason says why a message is dead.
type reason struct{ Reason, Description *string }
