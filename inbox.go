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

// Inbox receives messages from a queue, a subscription, or the dead letters of either.
type Inbox struct {
	db *DB
	at entity.Address
}

// DeadLetters returns the Inbox of messages that expired, failed too often, or were dead-lettered by a
// receiver.
func (in *Inbox) DeadLetters() *Inbox {
	return &Inbox{in.db, entity.Address{Entity: in.at.Entity, Sub: entity.DeadLetters}}
}

// Receive waits for messages and locks up to most of them for the caller. It returns ErrCanceled if ctx ends
// first, ErrNotFound if the queue has been deleted, and ErrForbidden if it has sessions, is disabled, or
// forwards.
func (in *Inbox) Receive(ctx context.Context, most int) ([]*Received, error) {
	return in.receive(ctx, most, queue.PeekLock, (*queue.Receiver).Receive)
}

// TryReceive is Receive without waiting: it returns no messages if there are none.
func (in *Inbox) TryReceive(ctx context.Context, most int) ([]*Received, error) {
	return in.receive(ctx, most, queue.PeekLock, (*queue.Receiver).TryReceive)
}

// Take receives messages and removes them at once: there is nothing to settle.
func (in *Inbox) Take(ctx context.Context, most int) ([]*Received, error) {
	return in.receive(ctx, most, queue.ReceiveAndDelete, (*queue.Receiver).Receive)
}

func (in *Inbox) receive(ctx context.Context, most int, mode queue.Mode,
	how func(*queue.Receiver, context.Context, int) ([]queue.Delivery, error)) ([]*Received, error) {
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
func (in *Inbox) list(ctx context.Context, list []queue.Delivery, err error) ([]*Received, error) {
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && ctx.Err() != nil {
		return nil, canceled(ctx)
	}
	out := make([]*Received, len(list))
	for i := range list {
		out[i] = in.received(&list[i])
	}
	return out, nil
}

// Handle receives messages one after the other until ctx ends, and calls fn with each. It completes a message
// if fn returns nil and otherwise abandons it, so that it is delivered again until its deliveries are used
// up. A message whose lock ends while fn runs is delivered again, too; a restore ends all locks. Handle
// returns nil when ctx ends, and otherwise the error that stopped it.
func (in *Inbox) Handle(ctx context.Context, fn func(context.Context, *Received) error) error {
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

// Peek returns up to most messages from a sequence number on, in any state, without locking them.
func (in *Inbox) Peek(ctx context.Context, from int64, most int) ([]*Received, error) {
	var list []queue.Delivery
	err := in.db.retryAfterRestore(ctx, func() (err error) {
		list, err = in.db.queues.Peek(ctx, in.at, queue.PeekOptions{From: from, Max: most})
		return err
	})
	return in.list(context.WithoutCancel(ctx), list, err)
}

// Deferred locks deferred messages by their numbers, all or none. It returns ErrNotFound if one does not
// exist.
func (in *Inbox) Deferred(ctx context.Context, numbers ...int64) ([]*Received, error) {
	var list []queue.Delivery
	err := in.db.retryAfterRestore(ctx, func() (err error) {
		list, err = in.db.queues.ReceiveDeferred(ctx, in.at, numbers, queue.PeekLock, nil)
		return err
	})
	return in.list(context.WithoutCancel(ctx), list, err)
}

// Info returns the queue's properties and its number of messages.
func (in *Inbox) Info(ctx context.Context) (entity.Entity, error) {
	var e entity.Entity
	err := in.db.retryAfterRestore(ctx, func() (err error) {
		e, err = in.db.queues.Get(ctx, in.at.Entity)
		return err
	})
	return e, err
}

// Session is a locked session of a queue or a subscription. Its messages are received in order. A restore of
// the store ends the session, as it ends all locks.
type Session struct {
	ID          string
	in          *Inbox
	r           *queue.Receiver
	incarnation uint32 // the incarnation of the store in which it was locked
	closed      atomic.Bool
}

// Session locks a session, whether it has messages or not. It returns ErrConflict if it is locked already.
func (in *Inbox) Session(ctx context.Context, id string) (*Session, error) {
	return in.openSession(ctx, queue.SessionRequest{ID: id})
}

// NextSession waits for an unlocked session that has messages and locks it. It returns ErrCanceled if ctx
// ends first.
func (in *Inbox) NextSession(ctx context.Context) (*Session, error) {
	return in.openSession(ctx, queue.SessionRequest{Next: true})
}

func (in *Inbox) openSession(ctx context.Context, which queue.SessionRequest) (*Session, error) {
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

// Close unlocks the session. It may be called more than once.
func (s *Session) Close() {
	s.closed.Store(true)
	s.r.Close()
}

// Receive is Inbox.Receive for the session's messages. It returns ErrLockLost if the session's lock has
// ended.
func (s *Session) Receive(ctx context.Context, most int) ([]*Received, error) {
	return s.receive(ctx, most, s.r.Receive)
}

// TryReceive is Receive without waiting.
func (s *Session) TryReceive(ctx context.Context, most int) ([]*Received, error) {
	return s.receive(ctx, most, s.r.TryReceive)
}

func (s *Session) receive(ctx context.Context, most int,
	how func(context.Context, int) ([]queue.Delivery, error)) ([]*Received, error) {
	list, err := how(ctx, most)
	return s.in.list(ctx, list, s.mapError(ctx, err))
}

// Renew renews the session's lock, and returns the time at which it now ends.
func (s *Session) Renew(ctx context.Context) (until time.Time, err error) {
	if ctx.Err() != nil {
		return until, canceled(ctx)
	}
	until, err = s.r.RenewSession(ctx)
	return until, s.mapError(ctx, err)
}

// State returns the state that is stored with the session, nil if there is none.
func (s *Session) State(ctx context.Context) ([]byte, error) {
	state, err := s.r.SessionState(ctx)
	return state, s.mapError(ctx, err)
}

// SetState stores up to 256 KB with the session. A nil or empty state removes it.
func (s *Session) SetState(ctx context.Context, state []byte) error {
	return s.mapError(ctx, s.r.SetSessionState(ctx, state, nil))
}

// mapError translates an error of the session's receiver. The receiver belongs to the incarnation in which
// the session was opened. It is closed when a restore has replaced that incarnation.
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
