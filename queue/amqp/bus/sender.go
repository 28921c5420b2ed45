package bus

import (
	"context"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// entityMessageSink is the sink that stores the messages sent to a queue or topic.
type entityMessageSink struct {
	c       *conn
	link    *amqp.Link
	at      entity.Address
	address string          // at as a string
	via     *entity.Address // the entity through which messages are sent (via entity); nil: none
}

// send prepares a link on which a client sends messages to the entity at the address at, and returns what the
// server accepts for the link, including the sink that stores the messages.
func (c *conn) send(ctx context.Context, l *amqp.Link, a *frame.Attach, at entity.Address, e entity.Entity) (
	answer amqp.AcceptedLink, err error) {
	var via *entity.Address
	if value, ok := a.Properties.Get(transferDestination); ok && value != nil {
		through := at
		via = &through
		if at, e, err = c.destination(ctx, value); err != nil {
			return answer, err
		}
	}
	switch {
	case at.Sub != entity.Main || e.Kind == entity.Subscription:
		return answer, &entity.Error{Code: entity.CodeNotAllowed, Entity: at.String(),
			Message: "Messages cannot be sent to '" + at.String() + "' directly."}
	case e.Properties.Status == entity.Disabled || e.Properties.Status == entity.SendDisabled:
		return answer, &entity.Error{Code: entity.CodeEntityDisabled, Entity: at.String(),
			Message: "The messaging entity '" + at.String() + "' is disabled for sending."}
	}
	size := uint64(e.Properties.MaxMessageKB) << 10
	s := &entityMessageSink{c: c, link: l, at: at, address: at.String(), via: via}
	return amqp.AcceptedLink{Sink: s, MaxMessageSize: size, TooLarge: s.tooLarge, NoRoom: s.noRoom,
		Properties: wire.Map{{Key: wire.Symbol("com.microsoft:max-message-batch-size"), Value: size}}}, nil
}

// transferDestination is the link property with the address of the entity to which messages are sent through
// the link's entity.
const transferDestination = "com.microsoft:transfer-destination-address"

// destination returns the entity named by a transferDestination property.
func (c *conn) destination(ctx context.Context, value any) (at entity.Address, e entity.Entity, err error) {
	address, ok := value.(string)
	if !ok {
		return at, e, &entity.Error{Code: entity.CodeArgument,
			Message: "The transfer destination is no string."}
	}
	at, management, err := entity.ParseAddress(address)
	if err != nil {
		return at, e, err
	}
	if management {
		return at, e, &entity.Error{Code: entity.CodeNotAllowed, Entity: at.String(),
			Message: "Messages cannot be transferred to a management node."}
	}
	if err := c.allows(at.String(), access.Send); err != nil {
		return at, e, err
	}
	e, err = c.queues.Get(ctx, at.Entity)
	return at, e, err
}

// tooLarge returns the error, with a tracking id, for a message that exceeds the size limit before it has
// arrived completely.
func (s *entityMessageSink) tooLarge() *frame.Error {
	return s.c.asError(&entity.Error{Code: entity.CodeMessageTooLarge,
		Message: "The message is larger than the entity allows."}, s.address)
}

// noRoom returns the error for a message that is refused for lack of memory. Clients send the message again
// after this error.
func (s *entityMessageSink) noRoom() *frame.Error {
	return s.c.asError(&entity.Error{Code: entity.CodeServerBusy,
		Message: "The messages of other clients take all the memory that there is for them."}, s.address)
}

// Detached is called when the link has ended, and removes the link from the connection. It implements
// amqp.MessageSink.
func (s *entityMessageSink) Detached() { s.c.forget(s.link) }

// Transfer implements amqp.MessageSink. It stores all messages in one transaction. If one of them is refused,
// it stores each transfer in a transaction of its own, so that one failure does not affect the others.
func (s *entityMessageSink) Transfer(ctx context.Context,
	list []amqp.IncomingMessage) (states []frame.DeliveryState) {
	end := s.c.observing("send", s.address, len(list))
	rules := make([]string, len(list))
	e := s.c.recording(transferFrame, "send", s.address)
	defer func() {
		end(states)
		s.c.recordEach(e, states, func(i int, one *requestlog.Entry) {
			one.RequestBody, one.Rule, one.FaultOperation = list[i].Payload, rules[i], inject.Send.String()
		})
	}()
	if !s.c.bus.o.Faults.Armed() {
		return s.transfer(ctx, list)
	}
	states = make([]frame.DeliveryState, len(list))
	for i := range list { // one by one, so that a fault rule applies to each message separately
		states[i], rules[i] = s.c.withFaults(inject.Send, s.link, s.address, func() frame.DeliveryState {
			return s.transfer(ctx, list[i:i+1])[0]
		}, func() {})
	}
	return states
}

// transfer stores all messages in one transaction. If one of them is refused, it stores each transfer in a
// transaction of its own. It ignores fault rules.
func (s *entityMessageSink) transfer(ctx context.Context, list []amqp.IncomingMessage) []frame.DeliveryState {
	states := make([]frame.DeliveryState, len(list))
	parsed := make([][]*message.Message, len(list))
	var all []*message.Message
	together := len(list) > 1
	for i, in := range list {
		messages, err := s.parse(in)
		if err != nil {
			states[i] = s.rejected(err)
			continue
		}
		parsed[i] = messages
		all = append(all, messages...)
		together = together && in.State == nil
	}
	if together && s.via == nil && len(all) > 0 {
		err := s.c.queues.Send(ctx, s.at, all, nil)
		if err == nil || mayBeStored(err) {
			for i := range list {
				if states[i] == nil {
					states[i] = s.stateAfter(err)
				}
			}
			return states
		}
	}
	for i, in := range list {
		if states[i] == nil {
			states[i] = s.store(ctx, parsed[i], in.State)
		}
	}
	return states
}

// mayBeStored reports whether messages may have been stored although the send failed. The server must then
// not try again.
func mayBeStored(err error) bool {
	code := entity.ErrorCodeOf(err)
	return code == entity.CodeStorage || code == entity.CodeCancelled
}

// stateAfter returns the delivery state with which the server answers a message: accepted, or rejected if the
// message could not be stored because of err.
func (s *entityMessageSink) stateAfter(err error) frame.DeliveryState {
	if err != nil {
		return s.rejected(err)
	}
	return &frame.Accepted{}
}

// parse decodes a message, or a batch of messages, which must belong to one partition.
func (s *entityMessageSink) parse(in amqp.IncomingMessage) ([]*message.Message, error) {
	if in.Format == message.BatchFormat {
		list, err := message.ParseBatch(in.Payload)
		if err == nil {
			_, err = s.c.queues.PartitionOf(s.at, list)
		}
		return list, err
	}
	m, err := message.Parse(in.Payload)
	return []*message.Message{m}, err
}

// store stores the messages of one transfer.
func (s *entityMessageSink) store(ctx context.Context, list []*message.Message,
	state frame.DeliveryState) frame.DeliveryState {
	tx, err := s.c.join(state, s.participant(list))
	if err != nil {
		return s.rejected(err)
	}
	if s.via != nil {
		err = s.c.queues.SendVia(ctx, *s.via, s.at, list, tx)
	} else {
		err = s.c.queues.Send(ctx, s.at, list, tx)
	}
	if err != nil {
		if entity.ErrorCodeOf(err) == entity.CodeEntityNotFound {
			s.link.Detach(s.c.asError(err, s.address))
		}
		return s.rejected(err)
	}
	return joined(state, &frame.Accepted{})
}

// participant returns the sending of messages as a participant of a transaction.
func (s *entityMessageSink) participant(list []*message.Message) transactionalOperation {
	p := transactionalOperation{link: s.link, at: s.at, sends: true,
		partition: func() (string, error) { return s.c.queues.PartitionOf(s.at, list) }}
	if s.via != nil {
		p.at = *s.via
		p.partition = func() (key string, err error) {
			if len(list) > 0 {
				key = list[0].ViaPartitionKey()
			}
			return key, nil
		}
	}
	return p
}

func (s *entityMessageSink) rejected(err error) frame.DeliveryState {
	return &frame.Rejected{Error: s.c.asError(err, s.address)}
}
