package bus

import (
	"context"
	"net/http"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// tokens is the node where clients put their tokens (claims-based security).
type tokens struct {
	c    *conn
	link *amqp.Link
}

// Detached implements amqp.Sink.
func (*tokens) Detached() {}

// Transfer implements amqp.Sink.
func (t *tokens) Transfer(_ context.Context, list []amqp.Incoming) []frame.State {
	states := make([]frame.State, len(list))
	for i, in := range list {
		states[i] = &frame.Accepted{}
		if err := t.take(in.Payload); err != nil {
			states[i] = &frame.Rejected{Error: t.c.asError(err, cbsNode)}
		}
	}
	return states
}

// take takes a token in and answers. What is wrong with the token is told in the answer.
func (t *tokens) take(payload []byte) error {
	m, err := message.Parse(payload)
	if err != nil {
		return err
	}
	to, err := t.c.replyTo(t.link, cbsNode, m.Text(message.ReplyTo))
	if err != nil {
		return err
	}
	status, text := int32(http.StatusAccepted), "Accepted"
	if err := t.put(m); err != nil {
		own, tracking := t.c.own(err)
		status, text = failureOf(own.Code).status, t.c.track(own.Message, cbsNode, tracking)
	}
	// No error-condition, not even an empty one: its presence is a failure to some clients.
	reply, err := answer(m, wire.Map{{Key: "status-code", Value: status},
		{Key: "status-description", Value: text}}, nil)
	if err == nil && !to.push(reply) {
		err = &queue.Error{Code: queue.CodeServerBusy, Message: "Too many answers wait to be received."}
	}
	return err
}

// put checks a token and keeps what it grants.
func (t *tokens) put(m *message.Message) error {
	if operation, _ := wire.Text(m.Get("operation")); operation != "put-token" {
		return &queue.Error{Code: queue.CodeNotImplemented, Message: "The operation '" + operation +
			"' is not supported."}
	}
	token, ok := m.Data()
	if !ok {
		return &queue.Error{Code: queue.CodeArgument, Message: "The body of put-token is no token."}
	}
	grant, err := t.c.bus.o.Guard.Token(string(token))
	if err != nil {
		return &queue.Error{Code: queue.CodeUnauthorized, Message: err.Error(), Err: err}
	}
	t.c.grant(grant)
	return nil
}
