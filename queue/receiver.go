package queue

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/content"
	"github.com/mayflydb/mayfly/queue/internal/cursor"
	"github.com/mayflydb/mayfly/queue/message"
)

// ReceiveMode selects whether messages are locked or deleted when they are received.
type ReceiveMode uint8

// The modes in which messages are received.
const (
	PeekLock ReceiveMode = iota
	ReceiveAndDelete
)

// ReceiverOptions configures a receiver.
type ReceiverOptions struct {
	Mode ReceiveMode
	// Session requests the lock of a session. It is required for an entity with sessions, and not allowed
	// for any other.
	Session *SessionRequest
	Name    string // of the client, for logs
	// KeepLocks makes message locks last until they lapse, even after Close and whatever Options says. It is
	// for clients that open a receiver for each request.
	KeepLocks bool
	// DropLocks ends message locks when the receiver is closed, whatever Options says. The messages are then
	// available at once, and no delivery is counted.
	DropLocks bool
	// Memory is the memory limit against which received messages count; nil: no limit. Each Delivery holds
	// its part until Release is called.
	Memory MemoryLimiter
}

// MemoryLimiter is a memory limit in bytes, shared by all clients of a server.
type MemoryLimiter interface {
	// TryTake takes n bytes from the limit, and reports whether they were available. It does not wait.
	TryTake(n int64) bool
	// Give gives back n bytes that TryTake took.
	Give(n int64)
	// TakeLarge waits for n bytes until ctx ends. Callers that wait for large messages are served in order.
	TakeLarge(ctx context.Context, n int64) error
	// GiveLarge gives back n bytes that TakeLarge took.
	GiveLarge(n int64)
}

// SessionRequest names the session to lock.
type SessionRequest struct {
	ID   string
	Next bool // requests any unlocked session that has messages; ID is then ignored
}

// Receiver receives messages from one message store. A session receiver holds the lock of one session.
type Receiver struct {
	s     *inMemoryMessageStoreState
	o     ReceiverOptions
	ended chan struct{}
	lock  *sessionLock // nil: it has no session

	err  *entity.Error                   // guarded by the store's mutex
	held map[int64]*inMemoryMessageClaim // claims on the messages it has locked; guarded by the store's mutex
}

// OpenReceiver opens a receiver. If it requests the next session, it waits for one until ctx ends, and then
// fails with CodeTimeout. Other errors: CodeEntityNotFound, CodeEntityDisabled, CodeNotAllowed,
// CodeSessionCannotBeLocked.
func (q *Queues) OpenReceiver(ctx context.Context, a entity.Address, o ReceiverOptions) (*Receiver, error) {
	s, err := q.store(ctx, a)
	if err != nil {
		return nil, err
	}
	if err := s.checkOptions(&o); err != nil {
		return nil, err
	}
	now := s.now()
	s.lastReceived.Store(now)
	s.e.recordUse(now)
	r := &Receiver{s: s, o: o, ended: make(chan struct{}), held: make(map[int64]*inMemoryMessageClaim)}
	if o.Session != nil {
		err = r.openSession(ctx)
	} else {
		err = r.register()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// checkOptions validates the options of a new receiver.
func (s *inMemoryMessageStoreState) checkOptions(o *ReceiverOptions) error {
	if err := s.readable(); err != nil {
		return err
	}
	switch {
	case s.e.kind == entity.Topic:
		return s.NotAllowed("Messages are received from the subscriptions of a topic.")
	case s.Sub == entity.Main && s.forwardsTo() != "":
		return s.forwardingError()
	case o.Mode > ReceiveAndDelete:
		return s.Argument("There is no such mode of receiving.")
	case o.Session == nil && s.BySession:
		return s.NotAllowed("It is not possible for an entity that requires sessions to create a " +
			"non-sessionful message receiver.")
	case o.Session != nil && !s.BySession:
		return s.NotAllowed("A sessionful message receiver cannot be created on an entity that does not " +
			"require sessions. Ensure RequiresSession is set to true when creating a Queue or " +
			"Subscription to enable sessionful behavior.")
	case o.Session != nil && !o.Session.Next && len(o.Session.ID) > content.MaxIDBytes:
		return s.Argument("The session id is too long.")
	}
	return nil
}

// forwardingError returns the error for receiving from an entity that forwards its messages.
func (s *inMemoryMessageStoreState) forwardingError() *entity.Error {
	return s.NotAllowed("Messages of an entity that forwards them cannot be received.")
}

// register registers the receiver with its message store. It fails if the store has ended, because its entity
// was deleted or the server stops, for example.
func (r *Receiver) register() error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.s.ended != nil {
		return r.s.ended
	}
	r.s.receivers[r] = struct{}{}
	return nil
}

// Delivery is a received or peeked message.
type Delivery struct {
	Message *message.Message
	Broker  message.BrokerProperties // the properties set by the broker
	Token   message.UUID             // token of the lock; it is unique even if there is no lock

	memory MemoryLimiter // memory limit against which it counts; nil: none
	held   int64         // bytes taken from memory
	large  bool          // the bytes were taken with TakeLarge
}

// Release gives the message's bytes back to the memory limit that they count against. It may be called more
// than once.
func (d *Delivery) Release() {
	switch {
	case d.memory == nil:
	case d.large:
		d.memory.GiveLarge(d.held)
	default:
		d.memory.Give(d.held)
	}
	d.memory = nil
}

// Receive waits for messages and returns up to max of them. It returns none if ctx ends first. In
// ReceiveAndDelete mode the returned messages are already deleted, durably. Errors: see Err.
func (r *Receiver) Receive(ctx context.Context, max int) ([]Delivery, error) {
	list, err := r.TryReceive(ctx, max)
	if len(list) > 0 || err != nil {
		return list, err
	}
	w, err := r.wait()
	if err != nil {
		return nil, err
	}
	defer r.stopWaiting(w)
	for paid := int64(0); ; {
		list, need, err := r.tryReceive(ctx, max, paid)
		if paid > 0 && (len(list) == 0 || !list[0].large) {
			r.o.Memory.GiveLarge(paid) // the large message is no longer available
		}
		if len(list) > 0 || err != nil {
			return list, err
		}
		if paid = need; need > 0 { // it must not hold other memory while it waits
			if err := r.o.Memory.TakeLarge(ctx, need); err != nil {
				return nil, nil
			}
			continue
		}
		select {
		case <-w.Ready:
			r.s.mu.Lock()
			r.cursor().Waiters.PutBack(w)
			r.s.mu.Unlock()
		case <-ctx.Done():
			return nil, nil
		case <-r.ended:
			return nil, r.Err()
		}
	}
}

// TryReceive returns at most max messages, as Receive does, or none if no message is available. It does not
// wait.
func (r *Receiver) TryReceive(ctx context.Context, max int) ([]Delivery, error) {
	list, _, err := r.tryReceive(ctx, max, 0)
	return list, err
}

// tryReceive does the work of TryReceive. If there is too little memory for the next message, it returns the
// number of bytes that the message needs, so that the caller can wait for them. paid is the number of bytes
// that the caller has already taken for the next message, or 0.
func (r *Receiver) tryReceive(ctx context.Context, max int,
	paid int64) (list []Delivery, need int64, err error) {
	if err := r.Err(); err != nil {
		return nil, 0, err
	}
	if err := r.s.readable(); err != nil {
		return nil, 0, err
	}
	if max < 1 {
		return nil, 0, r.s.OutOfRange("At least one message must be asked for.")
	}
	list, need, err = r.take(ctx, max, paid)
	if len(list) == 0 && ctx.Err() != nil {
		return nil, 0, nil
	}
	return list, need, err
}

// wait registers the receiver as waiting for messages.
func (r *Receiver) wait() (*cursor.WaitingReceiver, error) {
	defer r.s.e.m.in.Awaiting([][]byte{r.s.e.scope})
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	r.s.waiting++
	return r.cursor().Waiters.Join(), nil
}

func (r *Receiver) stopWaiting(w *cursor.WaitingReceiver) {
	r.s.e.recordUse(r.s.now())
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.endWait()
	r.cursor().Waiters.Leave(w)
}

// cursor returns the position from which the receiver looks for the next message: that of its session, or if
// it has none, that of the message store, which all receivers without a session share.
func (r *Receiver) cursor() *cursor.ReceivePosition {
	if r.lock != nil {
		return &r.lock.cursor
	}
	return &r.s.cursor
}

// Ended returns a channel that is closed when the receiver ends: because its entity is deleted or disabled,
// its session lock is lost, or the server restores a snapshot or stops. Err returns the reason.
func (r *Receiver) Ended() <-chan struct{} { return r.ended }

// Err returns why the receiver has ended, or nil if it has not.
func (r *Receiver) Err() error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	return nil
}

// end ends the receiver with an error. The caller holds the store's mutex.
func (r *Receiver) end(why *entity.Error) {
	if r.err == nil {
		r.err = why
		close(r.ended)
	}
	delete(r.s.receivers, r)
}

// Close ends the receiver. A session lock is released at once, which does not count as a delivery. Message
// locks last until they lapse, unless DropLocks or Options.DropLocksOnDisconnect is set.
func (r *Receiver) Close() {
	r.closeWith(context.Background()) // closing cannot be canceled; the engine limits the time
}

// closeWith closes the receiver and releases its session lock, and its message locks if these end when it is
// closed. ctx is the context of the transaction that releases locks which are stored in the engine.
func (r *Receiver) closeWith(ctx context.Context) {
	s := r.s
	s.mu.Lock()
	r.end(&entity.Error{Code: entity.CodeCancelled, Entity: s.Name(), Message: "The receiver is closed."})
	held := r.lock != nil && !r.lock.lost
	s.mu.Unlock()
	if held || r.lock == nil && r.dropsLocks() {
		s.table.release(ctx, r)
		s.expiry.again.Store(true) // messages may have expired while they were locked
	}
}

// dropsLocks reports whether the locks of messages end when the receiver is closed.
func (r *Receiver) dropsLocks() bool {
	return r.o.DropLocks || r.s.e.m.opts.DropLocksOnDisconnect && !r.o.KeepLocks
}

// Session returns the session that the receiver was opened for, and the time at which its lock ends. ok is
// false if the receiver does not hold the lock.
func (r *Receiver) Session() (id string, until time.Time, ok bool) {
	if r.lock == nil {
		return "", time.Time{}, false
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.lock.id, moment(r.lock.until), !r.lock.lost
}
