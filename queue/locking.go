package queue

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/internal/view"
	"github.com/mayflydb/mayfly/queue/message"
)

// Locks are stored in one of two places. If only one server has the engine open, locks are in memory: a lock
// costs no write, and ends with the server (inMemoryLockManager). If several servers share the engine, locks
// are stored under keys, so that all servers see them; they survive the end of a server and lapse at their
// time (storedLockManager).

// messageDeliverer hands messages of a store out to receivers under locks.
type messageDeliverer interface {
	// receive hands out available messages to a receiver, at most max. It examines about look messages. paid
	// is the number of bytes that the caller has taken from the memory limit for one large message.
	receive(ctx context.Context, r *Receiver, look, max int, paid int64) (receiveAttemptResult, error)
	// receiveNumbers hands out the messages with these sequence numbers. If one is not available, it fails
	// with CodeMessageNotFound and hands out none.
	receiveNumbers(ctx context.Context, numbers []int64, how receiveByNumberOptions) ([]Delivery, error)
}

// messageLockManager settles, renews and finds the messages of a store by the tokens of their locks.
type messageLockManager interface {
	// settle settles the messages of locks and sets the error of each, such as CodeMessageLockLost or
	// CodeSessionLockLost.
	settle(ctx context.Context, list []pendingSettlement)
	// enlist adds the settlement st of the message whose lock has the given token to the transaction tx.
	// Until the transaction has ended, the lock cannot be used in another way. Errors: CodeMessageLockLost or
	// CodeSessionLockLost if the lock is lost, and those of the transaction.
	enlist(ctx context.Context, token message.UUID, st *SettlementRequest, tx *Transaction) error
	// renew renews locks and returns the time at which they end. If one is lost, it fails with
	// CodeMessageLockLost and renews none.
	renew(ctx context.Context, tokens []message.UUID) (until time.Time, err error)
	// find returns the sequence number of the message that a lock covers; ok is false if the lock is lost.
	find(ctx context.Context, token message.UUID) (seq int64, ok bool, err error)
}

// sessionLockManager locks the sessions of a store. It also reports and ends the locks of messages and
// sessions.
type sessionLockManager interface {
	// lockSession locks a session for a receiver, unless another receiver has its lock.
	lockSession(ctx context.Context, r *Receiver, id string) (locked bool, err error)
	// renewSession renews the lock of a receiver's session. Errors: CodeSessionLockLost.
	renewSession(ctx context.Context, r *Receiver) (until int64, err error)
	// release is called when a receiver is closed. It ends the lock of the receiver's session, if it holds
	// one, and those locks of messages that must not outlast the receiver.
	release(ctx context.Context, r *Receiver)
	// advance makes the changes that are due: locks lapse, and scheduled messages become active. more
	// reports whether lapsed locks are left.
	advance(ctx context.Context) (more bool, err error)
	// inspect returns the locks of sessions and of messages in the state that r shows. Until is set in the
	// lock of each message; if the message is locked together with its session, it is the end of the
	// session's lock.
	inspect(r engine.Reader, sessions []string, messages []int64) (view.MessageAndSessionLocks, error)
}

// receiveAttemptResult is what one attempt to receive messages without waiting returns.
type receiveAttemptResult struct {
	list []Delivery
	need int64 // size in bytes of the first message, if the memory limit prevented its receive
	more bool  // other messages may be available
}

// receiveByNumberOptions holds the options of a receive of messages by their sequence numbers.
type receiveByNumberOptions struct {
	state  layout.MessageState // of the messages
	mode   ReceiveMode
	holder *Receiver // gets the locks; nil: no receiver
}
