package bus

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// cbsTokenNode is the $cbs node to which clients send their tokens (claims-based security).
type cbsTokenNode struct {
	c    *conn
	link *amqp.Link
}

// Detached does nothing when the link has ended. It implements amqp.MessageSink.
func (*cbsTokenNode) Detached() {}

// Transfer processes put-token requests and sends their responses. It rejects a message that is not a
// valid request. It implements amqp.MessageSink.
func (t *cbsTokenNode) Transfer(ctx context.Context, list []amqp.IncomingMessage) []frame.DeliveryState {
	states := make([]frame.DeliveryState, len(list))
	for i, in := range list {
		states[i] = &frame.Accepted{}
		e := t.c.recording(managementFrame, "put-token", cbsNode)
		if err := t.take(ctx, in.Payload, e); err != nil {
			states[i] = &frame.Rejected{Error: t.c.asError(err, cbsNode)}
		}
	}
	return states
}

// take processes a put-token request and sends the response. If the token is refused, the response says so.
// The log of requests gets neither the token nor the response.
func (t *cbsTokenNode) take(ctx context.Context, payload []byte, e *requestlog.Entry) error {
	m, err := message.Parse(payload)
	if err != nil {
		return err
	}
	to, err := t.c.replyTo(t.link, cbsNode, m.Text(message.ReplyTo))
	if err != nil {
		return err
	}
	status, text := int32(http.StatusAccepted), "Accepted"
	audience, _ := wire.Text(m.Get("name"))
	if err := t.put(ctx, m, audience); err != nil {
		own, tracking := t.c.toQueueError(err)
		path := own.Entity
		if path == "" {
			path = cbsNode
		}
		status, text = failureOf(own.Code).status, t.c.track(own.Message, path, tracking)
	}
	if e != nil {
		e.URI, e.Status = audience, int(status)
		t.c.record(e, nil)
	}
	t.c.bus.o.Logger.Debug("a put-token request was answered", "audience", audience, "status", status,
		"description", text)
	// The response has no error-condition, not even an empty one, since some clients treat its presence as a
	// failure.
	reply, err := answer(m, wire.Map{{Key: "status-code", Value: status},
		{Key: "status-description", Value: text}}, nil)
	if err == nil && !to.push(reply) {
		err = &entity.Error{Code: entity.CodeServerBusy, Message: "Too many answers wait to be received."}
	}
	return err
}

// put verifies a token and records its grant. audience is the address of the entity, a URI. put refuses a
// token for an entity that does not exist.
func (t *cbsTokenNode) put(ctx context.Context, m *message.Message, audience string) error {
	if operation, _ := wire.Text(m.Get("operation")); operation != "put-token" {
		return &entity.Error{Code: entity.CodeNotImplemented, Message: "The operation '" + operation +
			"' is not supported."}
	}
	token, ok := m.Data()
	if !ok {
		return &entity.Error{Code: entity.CodeArgument, Message: "The body of put-token is no token."}
	}
	grant, err := t.c.bus.o.Guard.Token(string(token))
	if err != nil {
		return &entity.Error{Code: entity.CodeUnauthorized, Message: err.Error(), Err: err}
	}
	if err := t.c.mustExist(ctx, audience); err != nil {
		return err
	}
	t.c.grant(grant)
	return nil
}

// mustExist fails with CodeEntityNotFound if an audience names an entity that does not exist. It accepts the
// namespace, other nodes, and texts that are not addresses, because the rights are checked when a link is
// attached.
func (c *conn) mustExist(ctx context.Context, audience string) error {
	_, rest, absolute := strings.Cut(audience, "://")
	_, path, _ := strings.Cut(rest, "/")
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	path = strings.Trim(path, "/")
	at, _, err := entity.ParseAddress(path)
	if !absolute || err != nil || strings.HasPrefix(path, "$") {
		return nil
	}
	e, err := c.queues.Get(ctx, at.Entity)
	topicsSub := err == nil && e.Kind == entity.Topic && at.Sub != entity.Main
	if topicsSub || entity.ErrorCodeOf(err) == entity.CodeEntityNotFound {
		return &entity.Error{
			Code:   entity.CodeEntityNotFound,
			Entity: path,
			Message: "The messaging entity '" +
				c.resource(path) + "' could not be found. " +
				"To know more visit https://aka.ms/sbResourceMgrExceptions.",
		}
	}
	return err
}

// resource returns the address of an entity as error texts of Service Bus contain it: "sb://namespace/path".
func (c *conn) resource(path string) string { return "sb://" + c.namespace + "/" + path }
