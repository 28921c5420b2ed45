package queue

import (
	"bytes"
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// PeekOptions selects the messages that Peek returns.
type PeekOptions struct {
	From int64 // the first sequence number
	Max  int   // the maximal number of messages
	// maximal size in bytes of all messages together; 0: 1 MiB. At least one message is returned
	MaxBytes int
	Session  *string // only messages of this session
	Locks    bool    // set LockedUntil of locked messages, which Service Bus does not do
}

// Peek returns messages in the order of their sequence numbers without locking them. Active, locked,
// deferred and scheduled messages are included.
func (q *Queues) Peek(ctx context.Context, a entity.Address, o PeekOptions) ([]Delivery, error) {
	s, err := q.store(ctx, a)
	if err != nil {
		return nil, err
	}
	if err := s.readable(); err != nil {
		return nil, err
	}
	if o.Max < 1 {
		return nil, s.OutOfRange("At least one message must be asked for.")
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 20
	}
	s.e.m.in.Enter()
	defer s.e.m.in.Leave()
	s.e.recordUse(s.now())
	list, err := s.browse(ctx, &o)
	if err == nil {
		err = s.e.m.in.Engine().Settle(ctx, s.e.scope, 0)
	}
	if err != nil {
		return nil, wrap(err)
	}
	out := make([]Delivery, len(list))
	for i := range list {
		if out[i], err = s.shown(&list[i]); err != nil {
			return nil, wrap(err)
		}
	}
	if o.Locks {
		err = s.setLockTimes(ctx, out)
	}
	return out, wrap(err)
}

// setLockTimes sets LockedUntil of the messages that are locked.
func (s *inMemoryMessageStoreState) setLockTimes(ctx context.Context, list []Delivery) error {
	now := s.now()
	numbers := make([]int64, len(list))
	for i := range list {
		numbers[i] = list[i].Broker.SequenceNumber
	}
	return s.e.m.in.Engine().View(ctx, func(r engine.Reader) error {
		locked, err := s.table.inspect(r, nil, numbers)
		for i := range list {
			if until, ok := locked.Messages[numbers[i]]; ok && until > now {
				list[i].Broker.LockedUntil = until
			}
		}
		return err
	})
}

// browse reads messages without locking them, whether others have locked them or not, in the order of their
// sequence numbers. o selects the messages.
func (s *inMemoryMessageStoreState) browse(ctx context.Context,
	o *PeekOptions) (list []storedMessage, err error) {
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) error {
		room := o.MaxBytes
		return s.EachHeader(ctx, r, o.From, func(seq int64, h layout.MessageHeader) (bool, error) {
			if o.Session != nil && h.Session != *o.Session {
				return true, nil
			}
			if room -= int(h.Size); room < 0 && len(list) > 0 {
				return false, nil
			}
			body, err := r.Get(s.Keys.Key(layout.FamilyBody, seq))
			if err == nil {
				list = append(list, storedMessage{seq: seq, MessageHeader: h, body: bytes.Clone(body)})
			}
			return len(list) < o.Max, err
		})
	})
	return list, err
}

// maxDeleted is the maximal number of messages that one call of DeleteMessages deletes.
const maxDeleted = 4000

// DeleteMessages deletes the oldest messages that were enqueued before a time, at most most, and returns how
// many it deleted. It skips locked, scheduled and expired messages.
func (q *Queues) DeleteMessages(ctx context.Context, a entity.Address, before time.Time, most int,
	session *string) (n int, err error) {
	s, err := q.store(ctx, a)
	if err != nil {
		return 0, err
	}
	if err := s.readable(); err != nil {
		return 0, err
	}
	if most < 1 || most > maxDeleted {
		return 0, s.OutOfRange("From 1 to 4000 messages can be deleted together.")
	}
	s.e.m.in.Enter()
	defer s.e.m.in.Leave()
	s.e.recordUse(s.now())
	if err := s.catchUp(ctx); err != nil {
		return 0, err
	}
	now := s.now()
	var claims []*inMemoryMessageClaim
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) error {
		locked, err := s.LockedNumbers(r)
		if err != nil {
			return err
		}
		return s.EachHeader(ctx, r, 0, func(seq int64, h layout.MessageHeader) (bool, error) {
			if locked[seq] || h.State == layout.Scheduled || s.expired(&h, now) ||
				!moment(h.Enqueued).Before(before) ||
				session != nil && h.Session != *session {
				return true, nil
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if c := s.claim(seq, nil); c != nil {
				c.group = h.Session
				claims = append(claims, c)
			}
			return len(claims) < most, nil
		})
	})
	if err == nil {
		n, err = s.deleteClaimed(ctx, claims)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range claims {
		if err != nil {
			s.unclaim(c)
		} else {
			s.forget(c)
		}
	}
	return n, wrap(err)
}

// deleteClaimed deletes messages that the caller has claimed (reserved in memory), and returns how many of
// them still existed.
func (s *inMemoryMessageStoreState) deleteClaimed(ctx context.Context,
	claims []*inMemoryMessageClaim) (n int, err error) {
	if len(claims) == 0 {
		return 0, nil
	}
	err = s.e.m.update(ctx, [][]byte{s.e.scope}, func(w *messageTx) error {
		n = 0
		p, err := w.partOf(s)
		if err != nil {
			return err
		}
		for _, c := range claims {
			h, ok, err := s.Header(w, c.seq)
			if err == nil && ok {
				ok, err = w.isFree(s, c.seq)
			}
			if err == nil && ok {
				n++
				err = w.take(p, c.seq, &h)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}
