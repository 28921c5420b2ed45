package queue

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/queue/message"
)

// Send stores messages durably, all or none. Those that are scheduled for later wait until then. It may be part of a
// transaction, which is nil for none. Errors: CodeEntityNotFound, CodeEntityDisabled, CodeQuotaExceeded,
// CodeMessageTooLarge, CodeNotAllowed, CodeArgument.
func (q *Queues) Send(ctx context.Context, address string, list []*message.Message, tx *Transaction) error {
	return &Error{Code: CodeNotImplemented}
}

// Schedule stores messages whose time is set, and returns the numbers by which they can be cancelled.
func (q *Queues) Schedule(ctx context.Context, address string, list []*message.Message, tx *Transaction) ([]int64, error) {
	return nil, &Error{Code: CodeNotImplemented}
}

// CancelScheduled deletes scheduled messages, all or none: CodeMessageNotFound.
func (q *Queues) CancelScheduled(ctx context.Context, address string, numbers []int64) error {
	return &Error{Code: CodeNotImplemented}
}

// Mode is how a receiver takes messages.
type Mode uint8

// The modes.
const (
	PeekLock Mode = iota
	ReceiveAndDelete
)

// ReceiverOptions say what a receiver wants.
type ReceiverOptions struct {
	Mode Mode
	// Session asks for the lock of a session, which receivers of entities with sessions must, others must not.
	Session *SessionRequest
	Name    string // of the client, for logs
}

// SessionRequest asks for a session.
type SessionRequest struct {
	ID   string
	Next bool // the next one that is free and has messages; ID is ignored
}

// Receiver takes messages out of one message store. A receiver of sessions holds the lock of one.
type Receiver struct{}

// OpenReceiver opens a receiver. One that asks for the next session waits for it until ctx ends: CodeTimeout then.
// Errors: CodeEntityNotFound, CodeEntityDisabled, CodeNotAllowed, CodeSessionCannotBeLocked.
func (q *Queues) OpenReceiver(ctx context.Context, a Address, o ReceiverOptions) (*Receiver, error) {
	return nil, &Error{Code: CodeNotImplemented}
}

// Delivery is a message as a receiver gets it, or as a peek shows it.
type Delivery struct {
	Message *message.Message
	Broker  message.Broker // what the broker adds
	Token   message.UUID   // of the lock; unique, too, where there is none
}

// Receive waits until there is a message and returns up to max of them; none where ctx ends before. What it returns
// in ReceiveAndDelete is gone already, durably. Errors: as of Err.
func (r *Receiver) Receive(ctx context.Context, max int) ([]Delivery, error) {
	return nil, &Error{Code: CodeNotImplemented}
}

// TryReceive is Receive that does not wait.
func (r *Receiver) TryReceive(ctx context.Context, max int) ([]Delivery, error) {
	return nil, &Error{Code: CodeNotImplemented}
}

// Ended is closed when the receiver has no more to expect: its entity is deleted, or disabled, its session's lock is lost,
// the server restores or stops. Err tells which.
func (r *Receiver) Ended() <-chan struct{} { return nil }

// Err is why the receiver has ended; nil before.
func (r *Receiver) Err() error { return nil }

// Session is the session that the receiver holds, and until when.
func (r *Receiver) Session() (id string, until time.Time, ok bool) { return "", time.Time{}, false }

// RenewSession renews the lock of the receiver's session.
func (r *Receiver) RenewSession(ctx context.Context) (until time.Time, err error) {
	return until, &Error{Code: CodeNotImplemented}
}

// SessionState is the state of the receiver's session; nil: none.
func (r *Receiver) SessionState(ctx context.Context) ([]byte, error) {
	return nil, &Error{Code: CodeNotImplemented}
}

// SetSessionState sets it; nil clears it.
func (r *Receiver) SetSessionState(ctx context.Context, state []byte) error {
	return &Error{Code: CodeNotImplemented}
}

// Close ends the receiver. The lock of its session is released at once, without a count; locks of messages last
// until they lapse, but for Options.DropLocksOnDisconnect.
func (r *Receiver) Close() {}

// Outcome is how a message is settled.
type Outcome uint8

// The outcomes.
const (
	Complete   Outcome = iota
	Abandon            // back to the store, the delivery is counted
	Release            // back to the store, the delivery is not counted
	Defer              // kept for who asks for its number
	DeadLetter         // to the dead letters
)

// Settlement settles one message.
type Settlement struct {
	Outcome     Outcome
	Modify      []message.Property // application properties that are set; null deletes
	Reason      *string            // of DeadLetter; nil: none
	Description *string
}

// Settle settles a message by the token of its lock. It answers when that is durable. It may be part of a transaction.
// Errors: CodeMessageLockLost, CodeSessionLockLost, CodeNotAllowed (dead-lettering a dead letter), CodeEntityDisabled.
func (q *Queues) Settle(ctx context.Context, a Address, token message.UUID, s Settlement, tx *Transaction) error {
	return &Error{Code: CodeNotImplemented}
}

// RenewLocks renews locks, all or none, and tells until when they last then.
func (q *Queues) RenewLocks(ctx context.Context, a Address, tokens []message.UUID) ([]time.Time, error) {
	return nil, &Error{Code: CodeNotImplemented}
}

// PeekOptions say what to look at.
type PeekOptions struct {
	From     int64   // the first number
	Max      int     // messages
	MaxBytes int     // of messages; 0: 1 MiB. One message comes in any case
	Session  *string // only messages of this session
}

// Peek shows messages in the order of their numbers, without locks: active, locked, deferred, scheduled.
func (q *Queues) Peek(ctx context.Context, a Address, o PeekOptions) ([]Delivery, error) {
	return nil, &Error{Code: CodeNotImplemented}
}

// ReceiveDeferred takes deferred messages by their numbers, all or none: CodeMessageNotFound. session is the receiver
// that holds the session of theirs, nil where the entity has none.
func (q *Queues) ReceiveDeferred(ctx context.Context, a Address, numbers []int64, mode Mode, session *Receiver) ([]Delivery, error) {
	return nil, &Error{Code: CodeNotImplemented}
}

// DeleteMessages deletes messages that were enqueued before a moment, oldest first, at most max, and tells how many.
// Locked ones are left alone.
func (q *Queues) DeleteMessages(ctx context.Context, a Address, before time.Time, max int, session *string) (int, error) {
	return 0, &Error{Code: CodeNotImplemented}
}

// Sessions are the ids of sessions, in order: those with active messages, or, where changed is set, those whose
// state has changed after it.
func (q *Queues) Sessions(ctx context.Context, a Address, changed *time.Time, skip, top int) ([]string, error) {
	return nil, &Error{Code: CodeNotImplemented}
}

// Transaction collects sends and settlements, which happen together at Commit, or not at all.
type Transaction struct{}

// Begin begins a transaction. It ends by Commit, Rollback, or by itself after two minutes.
func (q *Queues) Begin(ctx context.Context) (*Transaction, error) {
	return nil, &Error{Code: CodeNotImplemented}
}

// Commit makes all of it happen, durably and in one step, or nothing: the error says why.
func (t *Transaction) Commit(ctx context.Context) error { return &Error{Code: CodeNotImplemented} }

// Rollback gives it up: messages that it would have settled stay locked.
func (t *Transaction) Rollback() {}
