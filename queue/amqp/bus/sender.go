package bus

import (
	"context"

	"github.com/mayflydb/mayfly/inject"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// sender stores what a client sends to a queue or topic.
type sender struct {
	c       *conn
	link    *amqp.Link
	address string
}

// send makes the node of a link on which a client sends.
func (c *conn) send(l *amqp.Link, at queue.Address, e queue.Entity) (answer amqp.Answer, err error) {
	switch {
	case at.Sub != queue.Main || e.Kind == queue.Subscription:
		return answer, &queue.Error{Code: queue.CodeNotAllowed, Entity: at.String(),
			Message: "Messages cannot be sent to '" + at.String() + "' directly."}
	case e.Properties.Status == queue.Disabled || e.Properties.Status == queue.SendDisabled:
		return answer, &queue.Error{Code: queue.CodeEntityDisabled, Entity: at.String(),
			Message: "The messaging entity '" + at.String() + "' is disabled for sending."}
	}
	size := uint64(e.Properties.MaxMessageKB) << 10
	s := &sender{c: c, link: l, address: at.String()}
	return amqp.Answer{Sink: s, MaxMessageSize: size, TooLarge: s.tooLarge, NoRoom: s.noRoom,
		Properties: wire.Map{{Key: wire.Symbol("com.microsoft:max-message-batch-size"), Value: size}}}, nil
}

// tooLarge is the refusal of a message that nobody has read to its end; it can be tracked like any other one.
func (s *sender) tooLarge() *frame.Error {
	return s.c.asError(&queue.Error{Code: queue.CodeMessageTooLarge,
		Message: "The message is larger than the entity allows."}, s.address)
}

// noRoom is the refusal of a message for which there is no memory: clients send it again.
func (s *sender) noRoom() *frame.Error {
	return s.c.asError(&queue.Error{Code: queue.CodeServerBusy,
		Message: "The messages of other clients take all the memory that there is for them."}, s.address)
}

// Detached implements amqp.Sink.
func (s *sender) Detached() { s.c.forget(s.link) }

// Transfer implements amqp.Sink. All that has come is stored in one transaction; where that fails each
// transfer has its own, so that one does not suffer for another.
func (s *sender) Transfer(ctx context.Context, list []amqp.Incoming) (states []frame.State) {
	end := s.c.observing("send", s.address, len(list))
	defer func() { end(states) }()
	if !s.c.bus.o.Faults.Armed() {
		return s.transfer(ctx, list)
	}
	states = make([]frame.State, len(list))
	for i := range list { // one by one, so that each meets its own
		states[i] = s.c.withFaults(inject.Send, s.link, s.address, func() frame.State {
			return s.transfer(ctx, list[i:i+1])[0]
		}, func() {})
	}
	return states
}

// transfer is Transfer where nothing fails on demand.
func (s *sender) transfer(ctx context.Context, list []amqp.Incoming) []frame.State {
	states := make([]frame.State, len(list))
	parsed := make([][]*message.Message, len(list))
	var all []*message.Message
	together := len(list) > 1
	for i, in := range list {
		messages, err := parse(in)
		if err != nil {
			states[i] = s.rejected(err)
			continue
		}
		parsed[i] = messages
		all = append(all, messages...)
		together = together && in.State == nil
	}
	if together && len(all) > 0 && s.c.queues.Send(ctx, s.address, all, nil) == nil {
		for i := range list {
			if states[i] == nil {
				states[i] = &frame.Accepted{}
			}
		}
		return states
	}
	for i, in := range list {
		if states[i] == nil {
			states[i] = s.store(ctx, parsed[i], in.State)
		}
	}
	return states
}

// parse reads a message, or a batch of them.
func parse(in amqp.Incoming) ([]*message.Message, error) {
	if in.Format == message.BatchFormat {
		return message.ParseBatch(in.Payload)
	}
	m, err := message.Parse(in.Payload)
	return []*message.Message{m}, err
}

// store stores the messages of one transfer.
func (s *sender) store(ctx context.Context, list []*message.Message, state frame.State) frame.State {
	part, inTransaction := state.(*frame.Transactional)
	var tx *queue.Transaction
	if inTransaction {
		var err error
		if tx, err = s.c.transaction(part.TxnID); err != nil {
			return s.rejected(err)
		}
	}
	if err := s.c.queues.Send(ctx, s.address, list, tx); err != nil {
		if queue.CodeOf(err) == queue.CodeEntityNotFound {
			s.link.Detach(s.c.asError(err, s.address))
		}
		return s.rejected(err)
	}
	if inTransaction {
		return &frame.Transactional{TxnID: part.TxnID, Outcome: &frame.Accepted{}}
	}
	return &frame.Accepted{}
}

func (s *sender) rejected(err error) frame.State {
	return &frame.Rejected{Error: s.c.asError(err, s.address)}
}
