package queue

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/internal/view"
	"github.com/mayflydb/mayfly/queue/message"
)

// Where locks are. If one server has the engine, locks are in memory: a lock costs no write, and ends with
// the server (memoryLocks). If several servers share the engine, locks are in keys, so that all servers agree
// on them; they survive a server, and lapse at their time (storedLocks).

// messageLocks gives messages of a store out, and ends their locks.
type messageLocks interface {
	// receive gives out available messages of a receiver, at most max. It looks at about look messages.
	// paid is the memory that the caller has taken for one large message.
	receive(ctx context.Context, r *Receiver, look, max int, paid int64) (received, error)
	// receiveNumbers gives out messages by their numbers, all or none: CodeMessageNotFound.
	receiveNumbers(ctx context.Context, numbers []int64, how numbered) ([]Delivery, error)
	// settle settles the messages of locks, and sets the error of each: CodeMessageLockLost,
	// CodeSessionLockLost.
	settle(ctx context.Context, list []settling)
	// enlist adds the settlement of a lock's message to a transaction. Errors: see settle.
	enlist(ctx context.Context, token message.UUID, st *Settlement, tx *Transaction) error
	// renew renews locks, all or none, and returns the time at which they end. Errors: CodeMessageLockLost.
	renew(ctx context.Context, tokens []message.UUID) (until time.Time, err error)
	// find returns the number of the message of a lock; ok is false if the lock is lost.
	find(ctx context.Context, token message.UUID) (seq int64, ok bool, err error)
}

// lockTable locks the sessions of a store, and reports and ends locks.
type lockTable interface {
	// lockSession locks a session for a receiver, unless another receiver has its lock.
	lockSession(ctx context.Context, r *Receiver, id string) (locked bool, err error)
	// renewSession renews the lock of a receiver's session. Errors: CodeSessionLockLost.
	renewSession(ctx context.Context, r *Receiver) (until int64, err error)
	// release ends the locks that end with a receiver.
	release(r *Receiver)
	// advance makes changes that are due: locks lapse, and scheduled messages become active. more reports
	// whether lapsed locks are left.
	advance(ctx context.Context) (more bool, err error)
	// inspect returns the locks of sessions and of messages in the state that r shows. The lock of a message
	// has Until, which is that of its session if the session covers it.
	inspect(r engine.Reader, sessions []string, messages []int64) (view.Locks, error)
}

// received is the result of a receive.
type received struct {
	list []Delivery
	need int64 // bytes of the first message if the memory limit prevented a receive
	more bool  // other messages may be available
}

// numbered describes a receive by sequence numbers.
type numbered struct {
	state  layout.State // of the messages
	mode   Mode
	holder *Receiver // gets the locks; nil: no receiver
}
