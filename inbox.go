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

// Inbox is where messages are received from: a queue, a subscription, or the dead letters of one.
type Inbox struct {
	db *DB
	at entity.Address
}

// DeadLetters is where messages go that expire, fail too often, or are put there.
func (in *Inbox) DeadLetters() *Inbox {
	return &Inbox{in.db, entity.Address{Entity: in.at.Entity, Sub: entity.DeadLetters}}
}

// Receive waits until there is a message, and locks up to most of them for the caller. ErrCanceled: ctx ended
// first. ErrNotFound: the queue is gone. ErrForbidden: it has sessions, is disabled, or forwards.
func (in *Inbox) Receive(ctx context.Context, most int) ([]*Received, error) {
	return in.receive(ctx, most, queue.PeekLock, (*queue.Receiver).Receive)
}

// TryReceive is Receive that does not wait: no messages where there are none.
func (in *Inbox) TryReceive(ctx context.Context, most int) ([]*Received, error) {
	return in.receive(ctx, most, queue.PeekLock, (*queue.Receiver).TryReceive)
}

// Take is Receive of messages that are gone with that: there is nothing to settle.
func (in *Inbox) Take(ctx context.Context, most int) ([]*Received, error) {
	return in.receive(ctx, most, queue.ReceiveAndDelete, (*queue.Receiver).Receive)
}

func (in *Inbox) receive(ctx context.Context, most int, mode queue.Mode,
	how func(*queue.Receiver, context.Context, int) ([]queue.Delivery, error)) ([]*Received, error) {
	var list []queue.Delivery
	err := in.db.asking(ctx, func() error {
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

// list are messages as callers get them; err is this package's.
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

// Handle receives one message after the other until ctx ends, and calls fn with each. It completes those for
// which fn returns nil, and abandons the others, so that they come again until their deliveries are used up.
// A message whose lock ends meanwhile comes again, too, and a restore ends all locks. Handle returns nil when
// ctx ends; else why it cannot go on.
func (in *Inbox) Handle(ctx context.Context, fn func(context.Context, *Received) error) error {
	for {
		list, err := in.Receive(ctx, 1)
		if ctx.Err() != nil && len(list) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		// What was done for the message is not undone by an end of ctx: it is settled all the same.
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

// Peek shows up to most messages from a number on, whatever their state, without locks.
func (in *Inbox) Peek(ctx context.Context, from int64, most int) ([]*Received, error) {
	var list []queue.Delivery
	err := in.db.asking(ctx, func() (err error) {
		list, err = in.db.queues.Peek(ctx, in.at, queue.PeekOptions{From: from, Max: most})
		return err
	})
	return in.list(context.WithoutCancel(ctx), list, err)
}

// Deferred locks messages that were deferred, by their numbers, all or none. ErrNotFound: one of them is not
// there.
func (in *Inbox) Deferred(ctx context.Context, numbers ...int64) ([]*Received, error) {
	var list []queue.Delivery
	err := in.db.asking(ctx, func() (err error) {
		list, err = in.db.queues.ReceiveDeferred(ctx, in.at, numbers, queue.PeekLock, nil)
		return err
	})
	return in.list(context.WithoutCancel(ctx), list, err)
}

// Info is what is known of the queue: its properties, and how many messages it has.
func (in *Inbox) Info(ctx context.Context) (entity.Entity, error) {
	var e entity.Entity
	err := in.db.asking(ctx, func() (err error) {
		e, err = in.db.queues.Get(ctx, in.at.Entity)
		return err
	})
	return e, err
}

// Session is a session of a queue or a subscription, whose lock its holder has. Messages of it come in order.
// A restore of the store ends it, as it ends all locks.
type Session struct {
	ID   string
	in   *Inbox
	r    *queue.Receiver
	born uint32 // the incarnation that has its lock
	over atomic.Bool
}

// Session takes the lock of a session, whether it has messages or not. ErrConflict: somebody has it.
func (in *Inbox) Session(ctx context.Context, id string) (*Session, error) {
	return in.openSession(ctx, queue.SessionRequest{ID: id})
}

// NextSession waits for a session that has messages and that nobody has. ErrCanceled: ctx ended first.
func (in *Inbox) NextSession(ctx context.Context) (*Session, error) {
	return in.openSession(ctx, queue.SessionRequest{Next: true})
}

func (in *Inbox) openSession(ctx context.Context, which queue.SessionRequest) (*Session, error) {
	s := &Session{in: in}
	err := in.db.asking(ctx, func() (err error) {
		if s.born, err = in.db.db.Incarnation(ctx); err != nil {
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

// Close gives the session back, and with it its lock. It may be called more than once.
func (s *Session) Close() {
	s.over.Store(true)
	s.r.Close()
}

// Receive is Inbox.Receive of the session's messages. ErrLockLost: the session's lock has ended.
func (s *Session) Receive(ctx context.Context, most int) ([]*Received, error) {
	return s.receive(ctx, most, s.r.Receive)
}

// TryReceive is Receive that does not wait.
func (s *Session) TryReceive(ctx context.Context, most int) ([]*Received, error) {
	return s.receive(ctx, most, s.r.TryReceive)
}

func (s *Session) receive(ctx context.Context, most int,
	how func(context.Context, int) ([]queue.Delivery, error)) ([]*Received, error) {
	list, err := how(ctx, most)
	return s.in.list(ctx, list, s.told(ctx, err))
}

// Renew lets the session's lock begin anew, and says until when it lasts then.
func (s *Session) Renew(ctx context.Context) (until time.Time, err error) {
	if ctx.Err() != nil {
		return until, canceled(ctx)
	}
	until, err = s.r.RenewSession(ctx)
	return until, s.told(ctx, err)
}

// State is what was kept with the session; nil: nothing.
func (s *Session) State(ctx context.Context) ([]byte, error) {
	state, err := s.r.SessionState(ctx)
	return state, s.told(ctx, err)
}

// SetState keeps up to 256 KB with the session; nil and an empty one: nothing.
func (s *Session) SetState(ctx context.Context, state []byte) error {
	return s.told(ctx, s.r.SetSessionState(ctx, state, nil))
}

// told is an error of the session's receiver as this package's. The receiver belongs to the incarnation that
// the session was opened in, and finds it closed once a restore has replaced it.
func (s *Session) told(ctx context.Context, err error) error {
	err = ofQueue(err)
	switch {
	case fault.ErrorCode(err) == fault.CodeUnavailable && s.over.Load():
		return fmt.Errorf("%w: the session was closed: %w", ErrLockLost, err)
	case s.in.db.restored(ctx, s.born, &err):
		return fmt.Errorf("%w: the store was restored: %w", ErrLockLost, err)
	}
	return err
}
