package mayfly

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/store/fault"
)

// Receiver receives messages from a queue, from a subscription, or from the dead letters of either.
type Receiver struct {
	db *DB
	at entity.Address
}

// DeadLetters returns a Receiver for the dead letters: messages whose deliveries have failed too often, that
// a receiver has dead-lettered, or that have expired in an entity with DeadLetterExpired.
func (in *Receiver) DeadLetters() *Receiver {
	return &Receiver{in.db, entity.Address{Entity: in.at.Entity, Sub: entity.DeadLetters}}
}

// Receive waits until at least one message is available, locks up to most messages for the caller, and
// returns them. It returns ErrCanceled if ctx ends before that, ErrNotFound if the queue has been deleted,
// and ErrForbidden if the queue requires sessions, is disabled, or forwards its messages.
func (in *Receiver) Receive(ctx context.Context, most int) ([]*ReceivedMessage, error) {
	return in.receive(ctx, most, queue.PeekLock, (*queue.Receiver).Receive)
}

// TryReceive locks up to most messages that are available now and returns them. It does not wait: if no
// message is available, it returns none. It returns the same errors as Receive.
func (in *Receiver) TryReceive(ctx context.Context, most int) ([]*ReceivedMessage, error) {
	return in.receive(ctx, most, queue.PeekLock, (*queue.Receiver).TryReceive)
}

// Take waits until at least one message is available, removes up to most messages from the queue, and returns
// them. Since it does not lock them, they cannot be settled. It returns ErrCanceled if ctx ends before that,
// ErrNotFound if the queue has been deleted, and ErrForbidden if the queue requires sessions, is disabled, or
// forwards its messages.
func (in *Receiver) Take(ctx context.Context, most int) ([]*ReceivedMessage, error) {
	return in.receive(ctx, most, queue.ReceiveAndDelete, (*queue.Receiver).Receive)
}

func (in *Receiver) receive(ctx context.Context, most int, mode queue.ReceiveMode,
	how func(*queue.Receiver, context.Context, int) ([]queue.Delivery, error)) ([]*ReceivedMessage, error) {
	var list []queue.Delivery
	err := in.db.retryAfterRestore(ctx, func() error {
		r, err := in.db.queues.OpenReceiver(ctx, in.at, queue.ReceiverOptions{Mode: mode, KeepLocks: true})
		if err != nil {
			return err
		}
		defer r.Close()
		list, err = how(r, ctx, most)
		return err
	})
	return in.list(ctx, list, err)
}

// list converts messages and the error to this package's types.
func (in *Receiver) list(ctx context.Context, list []queue.Delivery, err error) ([]*ReceivedMessage, error) {
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && ctx.Err() != nil {
		return nil, canceled(ctx)
	}
	out := make([]*ReceivedMessage, len(list))
	for i := range list {
		out[i] = in.received(&list[i])
	}
	return out, nil
}

// Handle receives messages one after another until ctx ends, and calls fn with each. If fn returns nil,
// Handle completes the message. Otherwise it abandons the message, which is then delivered again until the
// allowed number of deliveries is reached. A message whose lock ends while fn runs is also delivered again; a
// restore ends all locks. Handle returns nil when ctx ends, and otherwise the error that has stopped it.
func (in *Receiver) Handle(ctx context.Context, fn func(context.Context, *ReceivedMessage) error) error {
	for {
		list, err := in.Receive(ctx, 1)
		if ctx.Err() != nil && len(list) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		// The message is settled even if ctx has ended, since fn has done its work.
		settle := context.WithoutCancel(ctx)
		if fn(ctx, list[0]) == nil {
			err = list[0].Complete(settle)
		} else {
			err = list[0].Abandon(settle)
		}
		if err != nil && !errors.Is(err, ErrLockLost) {
			return err
		}
	}
}

// Peek returns up to most messages in any state, in the order of their sequence numbers, beginning at the
// number from. It does not lock them.
func (in *Receiver) Peek(ctx context.Context, from int64, most int) ([]*ReceivedMessage, error) {
	var list []queue.Delivery
	err := in.db.retryAfterRestore(ctx, func() (err error) {
		list, err = in.db.queues.Peek(ctx, in.at, queue.PeekOptions{From: from, Max: most})
		return err
	})
	return in.list(context.WithoutCancel(ctx), list, err)
}

// Deferred locks and returns the deferred messages with these sequence numbers. If one of them does not
// exist, it locks none and returns ErrNotFound.
func (in *Receiver) Deferred(ctx context.Context, numbers ...int64) ([]*ReceivedMessage, error) {
	var list []queue.Delivery
	err := in.db.retryAfterRestore(ctx, func() (err error) {
		list, err = in.db.queues.ReceiveDeferred(ctx, in.at, numbers, queue.PeekLock, nil)
		return err
	})
	return in.list(context.WithoutCancel(ctx), list, err)
}

// Info returns the properties of the queue or subscription, including the number of its messages.
func (in *Receiver) Info(ctx context.Context) (entity.Entity, error) {
	var e entity.Entity
	err := in.db.retryAfterRestore(ctx, func() (err error) {
		e, err = in.db.queues.Get(ctx, in.at.Entity)
		return err
	})
	return e, err
}

// Session is a session of a queue or subscription that is locked for the caller. Its messages are received in
// order. A restore of the store ends all locks, and therefore the session.
type Session struct {
	ID          string
	in          *Receiver
	r           *queue.Receiver
	incarnation uint32 // the incarnation of the store in which it was locked
	closed      atomic.Bool
}

// Session locks the session with this id, even if the session has no messages. It returns ErrConflict if the
// session is already locked.
func (in *Receiver) Session(ctx context.Context, id string) (*Session, error) {
	return in.openSession(ctx, queue.SessionRequest{ID: id})
}

// NextSession waits until a session that is not locked has messages, and locks it. It returns ErrCanceled if
// ctx ends before that.
func (in *Receiver) NextSession(ctx context.Context) (*Session, error) {
	return in.openSession(ctx, queue.SessionRequest{Next: true})
}

func (in *Receiver) openSession(ctx context.Context, which queue.SessionRequest) (*Session, error) {
	s := &Session{in: in}
	err := in.db.retryAfterRestore(ctx, func() (err error) {
		if s.incarnation, err = in.db.db.Incarnation(ctx); err != nil {
			return err
		}
		s.r, err = in.db.queues.OpenReceiver(ctx, in.at, queue.ReceiverOptions{Session: &which})
		return err
	})
	if err != nil {
		return nil, err
	}
	s.ID, _, _ = s.r.Session()
	return s, nil
}

// Close unlocks the session. It can be called more than once.
func (s *Session) Close() {
	s.closed.Store(true)
	s.r.Close()
}

// Receive waits until at least one message of the session is available, and returns up to most messages,
// locked for the caller. It returns ErrLockLost if the lock of the session has ended. Its other errors are
// those of Receiver.Receive.
func (s *Session) Receive(ctx context.Context, most int) ([]*ReceivedMessage, error) {
	return s.receive(ctx, most, s.r.Receive)
}

// TryReceive works like Receive, but does not wait.
func (s *Session) TryReceive(ctx context.Context, most int) ([]*ReceivedMessage, error) {
	return s.receive(ctx, most, s.r.TryReceive)
}

func (s *Session) receive(ctx context.Context, most int,
	how func(context.Context, int) ([]queue.Delivery, error)) ([]*ReceivedMessage, error) {
	list, err := how(ctx, most)
	return s.in.list(ctx, list, s.mapError(ctx, err))
}

// Renew renews the lock of the session, and returns the time at which the lock then ends.
func (s *Session) Renew(ctx context.Context) (until time.Time, err error) {
	if ctx.Err() != nil {
		return until, canceled(ctx)
	}
	until, err = s.r.RenewSession(ctx)
	return until, s.mapError(ctx, err)
}

// State returns the state of the session, or nil if it has none.
func (s *Session) State(ctx context.Context) ([]byte, error) {
	state, err := s.r.SessionState(ctx)
	return state, s.mapError(ctx, err)
}

// SetState sets the state of the session, up to 256 KB. With nil or an empty state, the session has no state
// any more.
func (s *Session) SetState(ctx context.Context, state []byte) error {
	return s.mapError(ctx, s.r.SetSessionState(ctx, state, nil))
}

// mapError translates an error of the session's receiver. If the session was closed, or the store was
// restored after the session had been opened, the error becomes ErrLockLost.
func (s *Session) mapError(ctx context.Context, err error) error {
	err = queueError(err)
	switch {
	case fault.ErrorCode(err) == fault.CodeUnavailable && s.closed.Load():
		return fmt.Errorf("%w: the session was closed: %w", ErrLockLost, err)
	case s.in.db.restored(ctx, s.incarnation, &err):
		return fmt.Errorf("%w: the store was restored: %w", ErrLockLost, err)
	}
	return err
}
