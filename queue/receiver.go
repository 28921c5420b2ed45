package queue

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

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
	// Session asks for the lock of a session, which receivers of entities with sessions must, others must
	// not.
	Session *SessionRequest
	Name    string // of the client, for logs
	// KeepLocks lets locks last beyond Close, whatever Options say: for clients whose requests are receivers
	// of their own.
	KeepLocks bool
	// DropLocks ends locks with Close, whatever Options say: their messages are available at once, without a
	// count.
	DropLocks bool
	// Room is the memory that messages which are received count against; nil: they do not. Each Delivery
	// has what it takes until Release.
	Room Room
}

// Room is the memory that all clients of a server share, in bytes.
type Room interface {
	// TryTake takes n bytes if they are there.
	TryTake(n int64) bool
	// Give gives n bytes back.
	Give(n int64)
	// TakeLarge waits for n bytes, behind others who wait for a large message, until ctx ends.
	TakeLarge(ctx context.Context, n int64) error
	// GiveLarge gives back what TakeLarge took.
	GiveLarge(n int64)
}

// SessionRequest asks for a session.
type SessionRequest struct {
	ID   string
	Next bool // the next one that is free and has messages; ID is ignored
}

// Receiver takes messages out of one message store. A receiver of sessions holds the lock of one.
type Receiver struct {
	s     *messageStore
	o     ReceiverOptions
	ended chan struct{}
	lock  *sessionLock // nil: it has no session

	err  *entity.Error    // guarded by the store's mutex
	held map[int64]*claim // its locks; guarded by the store's mutex
}

// OpenReceiver opens a receiver. One that asks for the next session waits for it until ctx ends:
// CodeTimeout then. Errors: CodeEntityNotFound, CodeEntityDisabled, CodeNotAllowed,
// CodeSessionCannotBeLocked.
func (q *Queues) OpenReceiver(ctx context.Context, a entity.Address, o ReceiverOptions) (*Receiver, error) {
	s, err := q.store(a)
	if err != nil {
		return nil, err
	}
	if err := s.opens(&o); err != nil {
		return nil, err
	}
	now := s.now()
	s.lastReceived.Store(now)
	s.e.touch(now)
	r := &Receiver{s: s, o: o, ended: make(chan struct{}), held: make(map[int64]*claim)}
	if o.Session != nil {
		err = r.openSession(ctx)
	} else {
		err = r.enroll()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// opens validates what a receiver asks for.
func (s *messageStore) opens(o *ReceiverOptions) error {
	if err := s.readable(); err != nil {
		return err
	}
	switch {
	case s.e.kind == entity.Topic:
		return s.notAllowed("Messages are received from the subscriptions of a topic.")
	case s.sub == entity.Main && s.forwardsTo() != "":
		return s.goesOn()
	case o.Mode > ReceiveAndDelete:
		return s.argument("There is no such mode of receiving.")
	case o.Session == nil && s.bySession():
		return s.notAllowed("It is not possible for an entity that requires sessions to create a " +
			"non-sessionful message receiver.")
	case o.Session != nil && !s.bySession():
		return s.notAllowed("A sessionful message receiver cannot be created on an entity that does not " +
			"require sessions.")
	case o.Session != nil && !o.Session.Next && len(o.Session.ID) > maxIDBytes:
		return s.argument("The session id is too long.")
	}
	return nil
}

// goesOn says that the messages of an entity are forwarded.
func (s *messageStore) goesOn() *entity.Error {
	return s.notAllowed("Messages of an entity that forwards them cannot be received.")
}

// enroll adds the receiver to those of its store, where that still takes some.
func (r *Receiver) enroll() error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.s.ended != nil {
		return r.s.ended
	}
	r.s.receivers[r] = struct{}{}
	return nil
}

// Delivery is a message as a receiver gets it, or as a peek shows it.
type Delivery struct {
	Message *message.Message
	Broker  message.Broker // what the broker adds
	Token   message.UUID   // of the lock; unique, too, where there is none

	room  Room  // nil: it has none
	held  int64 // bytes of it
	large bool  // by TakeLarge
}

// Release gives back the memory that the message counts against. It may be called more than once.
func (d *Delivery) Release() {
	switch {
	case d.room == nil:
	case d.large:
		d.room.GiveLarge(d.held)
	default:
		d.room.Give(d.held)
	}
	d.room = nil
}

// Receive waits until there is a message and returns up to max of them; none where ctx ends before. What it
// returns in ReceiveAndDelete is gone already, durably. Errors: as of Err.
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
			r.o.Room.GiveLarge(paid) // the message that it was for is gone
		}
		if len(list) > 0 || err != nil {
			return list, err
		}
		if paid = need; need > 0 { // it waits for the room of a message with nothing in hand
			if err := r.o.Room.TakeLarge(ctx, need); err != nil {
				return nil, nil
			}
			continue
		}
		select {
		case <-w.ready:
			r.s.mu.Lock()
			r.place().waiters.again(w)
			r.s.mu.Unlock()
		case <-ctx.Done():
			return nil, nil
		case <-r.ended:
			return nil, r.Err()
		}
	}
}

// TryReceive is Receive that does not wait.
func (r *Receiver) TryReceive(ctx context.Context, max int) ([]Delivery, error) {
	list, _, err := r.tryReceive(ctx, max, 0)
	return list, err
}

// tryReceive is TryReceive that says how many bytes of room a message needs where there are none. paid is
// the room that was taken for the next one, 0 for none.
func (r *Receiver) tryReceive(ctx context.Context, max int, paid int64) (list []Delivery, need int64,
	err error) {
	if err := r.Err(); err != nil {
		return nil, 0, err
	}
	if err := r.s.readable(); err != nil {
		return nil, 0, err
	}
	if max < 1 {
		return nil, 0, r.s.outOfRange("At least one message must be asked for.")
	}
	list, need, err = r.take(ctx, max, paid)
	if len(list) == 0 && ctx.Err() != nil {
		return nil, 0, nil
	}
	return list, need, err
}

// wait joins those who wait for messages.
func (r *Receiver) wait() (*waiter, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	r.s.waiting++
	return r.place().waiters.join(), nil
}

func (r *Receiver) stopWaiting(w *waiter) {
	r.s.e.touch(r.s.now())
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.endWait()
	r.place().waiters.leave(w)
}

// place is where it stands: in its session, or in the store.
func (r *Receiver) place() *receiveCursor {
	if r.lock != nil {
		return &r.lock.cursor
	}
	return &r.s.cursor
}

// Ended is closed when the receiver has no more to expect: its entity is deleted, or disabled, its
// session's lock is lost, the server restores or stops. Err reports which.
func (r *Receiver) Ended() <-chan struct{} { return r.ended }

// Err is why the receiver has ended; nil before.
func (r *Receiver) Err() error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	return nil
}

// end ends the receiver, for a reason. The caller holds the store's mutex.
func (r *Receiver) end(why *entity.Error) {
	if r.err == nil {
		r.err = why
		close(r.ended)
	}
	delete(r.s.receivers, r)
}

// Close ends the receiver. The lock of its session is released at once, without a count; locks of messages
// last until they lapse, but for DropLocks and Options.DropLocksOnDisconnect.
func (r *Receiver) Close() {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	r.end(&entity.Error{Code: entity.CodeCancelled, Entity: s.name(), Message: "The receiver is closed."})
	switch {
	case r.lock != nil && !r.lock.lost:
		s.endSession(r.lock)
	case r.lock == nil && (r.o.DropLocks || s.e.m.opts.DropLocksOnDisconnect && !r.o.KeepLocks):
		for _, c := range r.held {
			if !c.busy {
				s.unclaim(c)
			}
		}
	default:
		return
	}
	s.expiry.again.Store(true) // what has expired under a lock
}

// Session is the session that the receiver holds, and until when.
func (r *Receiver) Session() (id string, until time.Time, ok bool) {
	if r.lock == nil {
		return "", time.Time{}, false
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.lock.id, moment(r.lock.until), !r.lock.lost
}
