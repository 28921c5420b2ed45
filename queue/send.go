package queue

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// Send stores messages in a queue or topic, durably, either all or none. Messages with a scheduled time in
// the future become active at that time. tx is the transaction that the send is part of, or nil. Errors:
// CodeEntityNotFound, CodeEntityDisabled, CodeQuotaExceeded, CodeMessageTooLarge, CodeNotAllowed,
// CodeArgument.
func (q *Queues) Send(
	ctx context.Context,
	to entity.Address,
	list []*message.Message,
	tx *Transaction,
) error {
	_, err := q.send(ctx, to, list, tx)
	return err
}

// SendVia sends messages to an entity through a queue (via entity). Messages that the entity does not accept
// are moved to the transfer dead-letter queue of that queue. Errors: see Send, and CodeNotAllowed if via is
// not a queue.
func (q *Queues) SendVia(ctx context.Context, via, to entity.Address, list []*message.Message,
	tx *Transaction) error {
	s, err := q.store(ctx, via)
	if err != nil {
		return err
	}
	if s.e.kind != entity.Queue || s.Sub != entity.Main {
		return s.NotAllowed("Messages are sent to another entity through queues alone.")
	}
	e, arrivals, err := q.acceptSent(ctx, to, list)
	if err != nil || len(arrivals) == 0 {
		return err
	}
	if tx != nil {
		return tx.add(len(arrivals), bodyBytes(arrivals), &sendViaStep{s.e, e, arrivals})
	}
	alone, err := q.Begin(ctx)
	if err != nil {
		return err
	}
	if err := alone.add(len(arrivals), bodyBytes(arrivals), &sendViaStep{s.e, e, arrivals}); err != nil {
		alone.Rollback()
		return err
	}
	return alone.Commit(ctx)
}

// Put stores messages of the server itself in a queue or topic. It does not apply the size limits for
// clients. Its errors are those of Send.
func (q *Queues) Put(ctx context.Context, address string, list []*message.Message) error {
	to, err := entity.ParseDestination(address)
	if err != nil {
		return err
	}
	e, arrivals, err := q.accept(ctx, to, list)
	if err == nil && len(arrivals) > 0 {
		_, err = q.arrive(ctx, e, arrivals)
	}
	return err
}

// Schedule stores messages that have a scheduled time, and returns the sequence numbers by which they can be
// canceled. It may be part of a transaction; the numbers are then valid after the commit.
func (q *Queues) Schedule(ctx context.Context, to entity.Address, list []*message.Message,
	tx *Transaction) ([]int64, error) {
	for _, m := range list {
		if m.Scheduled() == message.Absent {
			return nil, &entity.Error{Code: entity.CodeArgument, Entity: to.String(),
				Message: "A message that is to be scheduled has no scheduled enqueue time."}
		}
	}
	if tx == nil {
		return q.send(ctx, to, list, nil)
	}
	e, arrivals, err := q.acceptSent(ctx, to, list)
	if err != nil || len(arrivals) == 0 {
		return nil, err
	}
	numbers, err := e.stores[entity.Main].reserve(ctx, arrivals)
	if err != nil {
		return nil, err
	}
	return numbers, tx.add(len(arrivals), bodyBytes(arrivals), &sendTransactionStep{e, arrivals})
}

func (q *Queues) send(ctx context.Context, to entity.Address, list []*message.Message,
	tx *Transaction) ([]int64, error) {
	e, arrivals, err := q.acceptSent(ctx, to, list)
	if err != nil || len(arrivals) == 0 {
		return nil, err
	}
	if tx != nil {
		return nil, tx.add(len(arrivals), bodyBytes(arrivals), &sendTransactionStep{e, arrivals})
	}
	return q.arrive(ctx, e, arrivals)
}

// acceptSent validates the messages of a client, also against the entity's size limit, and encodes them for
// storage. The limit applies to the sender's encoding of the list, which is not known here. It is therefore
// compared with the shortest encoding, so that a batch that fits a link, which checks the exact size, is not
// refused afterwards.
func (q *Queues) acceptSent(ctx context.Context, to entity.Address,
	list []*message.Message) (*entityState, []validatedMessage, error) {
	e, arrivals, err := q.accept(ctx, to, list)
	if err != nil || len(arrivals) == 0 {
		return nil, nil, err
	}
	size := 0
	for _, m := range list {
		size += m.MinSize()
	}
	if size > int(e.properties.Load().MaxMessageKB)<<10 {
		return nil, nil, e.stores[entity.Main].TooLarge()
	}
	return e, arrivals, nil
}

// arrive stores accepted messages in a transaction of its own.
func (q *Queues) arrive(ctx context.Context, e *entityState,
	arrivals []validatedMessage) (numbers []int64, err error) {
	e.m.in.Enter()
	defer e.m.in.Leave()
	err = e.m.update(ctx, [][]byte{e.scope}, func(w *messageTx) (err error) {
		numbers, err = w.enqueueAll(e, arrivals)
		return err
	}, e.counterKeys()...)
	if err != nil {
		return nil, err
	}
	e.recordUse(e.m.in.Clock().Millis())
	return numbers, nil
}

// counterKeys returns the keys that a send reads, if reading them may need a round trip to another machine.
func (e *entityState) counterKeys() (keys [][]byte) {
	if !e.m.shared {
		return nil
	}
	for _, s := range e.stores {
		if s != nil {
			keys = append(keys, s.Keys.Family(layout.FamilyCounters))
		}
	}
	return keys
}

// accept validates messages and encodes them for storage.
func (q *Queues) accept(ctx context.Context, to entity.Address,
	list []*message.Message) (*entityState, []validatedMessage, error) {
	s, err := q.store(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	if s.Sub != entity.Main || s.e.kind == entity.Subscription {
		return nil, nil, s.NotAllowed("Messages can be sent to queues and topics alone.")
	}
	if no := s.sendError(); no != nil {
		return nil, nil, no
	}
	arrivals := make([]validatedMessage, len(list))
	for i, m := range list {
		if arrivals[i], err = s.arrivalOf(m); err != nil {
			return nil, nil, err
		}
	}
	return s.e, arrivals, nil
}

// enqueueAll stores the messages of a send in an entity, in their order, and returns their sequence numbers.
func (w *messageTx) enqueueAll(e *entityState, arrivals []validatedMessage) (numbers []int64, err error) {
	if no := e.stores[entity.Main].sendError(); no != nil && w.m.shared {
		return nil, no // another server has disabled the entity
	}
	numbers = make([]int64, len(arrivals))
	for i := range arrivals {
		if numbers[i], err = w.enqueue(e, &arrivals[i]); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

// CancelScheduled deletes scheduled messages. If one of them does not exist, it fails with
// CodeMessageNotFound and deletes none. It may be part of a transaction.
func (q *Queues) CancelScheduled(ctx context.Context, at entity.Address, numbers []int64,
	tx *Transaction) error {
	s, err := q.store(ctx, at)
	if err != nil {
		return err
	}
	if tx != nil {
		err := s.e.m.in.Engine().View(ctx, func(r engine.Reader) error {
			for _, seq := range numbers {
				if _, err := s.cancellable(r, seq, s.now()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return wrap(err)
		}
		return tx.add(len(numbers), 0, &cancelScheduledStep{s, numbers})
	}
	err = s.e.m.update(ctx, [][]byte{s.e.scope},
		func(w *messageTx) error { return w.cancelScheduled(s, numbers) })
	if err == nil {
		s.e.recordUse(s.now())
		err = s.cancelled(ctx)
	}
	return err
}

// cancelled updates the time at which the next scheduled message is due, after scheduled messages have been
// canceled. If several servers share the engine, that time is stored, and may be too early.
func (s *inMemoryMessageStoreState) cancelled(ctx context.Context) error {
	if s.e.m.shared {
		return nil
	}
	return s.activate(ctx)
}

// cancellable reads the header of a scheduled message that is not due yet, or returns CodeMessageNotFound.
func (s *inMemoryMessageStoreState) cancellable(r engine.Reader,
	seq, now int64) (layout.MessageHeader, error) {
	h, ok, err := s.Header(r, seq)
	// a message that is due is delivered
	if err == nil && (!ok || h.State != layout.Scheduled || h.Due <= now) {
		err = s.MessageNotFound(seq)
	}
	return h, err
}

// cancelScheduled deletes scheduled messages, or fails and deletes none.
func (w *messageTx) cancelScheduled(s *inMemoryMessageStoreState, numbers []int64) error {
	p, err := w.partOf(s)
	if err != nil {
		return err
	}
	for _, seq := range numbers {
		h, err := s.cancellable(w, seq, w.now)
		if err != nil {
			return err
		}
		if err := w.take(p, seq, &h); err != nil {
			return err
		}
	}
	return nil
}
