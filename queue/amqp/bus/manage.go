package bus

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// managementEndpoint is the AMQP node "$management" of a queue, topic, subscription or dead-letter queue. It
// receives the requests that a client sends to it.
type managementEndpoint struct {
	c    *conn
	link *amqp.Link
	at   entity.Address
}

// Detached is called when the link has ended, and removes the link from the connection. It implements
// amqp.MessageSink.
func (n *managementEndpoint) Detached() { n.c.forget(n.link) }

// Transfer carries out management requests, sends their responses, and returns the outcome of each request
// message. It implements amqp.MessageSink.
func (n *managementEndpoint) Transfer(ctx context.Context,
	list []amqp.IncomingMessage) []frame.DeliveryState {
	states := make([]frame.DeliveryState, len(list))
	for i, in := range list {
		done, err := n.take(ctx, in)
		switch {
		case err != nil:
			states[i] = &frame.Rejected{Error: n.c.asError(err, n.at.String())}
		case done:
			states[i] = joined(in.State, &frame.Accepted{})
		default: // the request succeeded, but not as part of its transaction
			states[i] = &frame.Accepted{}
		}
	}
	return states
}

// managementRequest is one message that a client has sent to a $management node, such as a peek or the
// renewal of a lock.
type managementRequest struct {
	*managementEndpoint
	ctx   context.Context
	m     *message.Message
	body  wire.Map
	state frame.DeliveryState // state of the transaction; nil: none

	rule           string // id of the fault rule that applied; "": none
	faultOperation inject.OperationKind
}

// managementResponse is the response to a management request, such as renew-lock. The zero Status stands for
// 200.
type managementResponse struct {
	status int32
	body   wire.Map
}

// take runs a request and sends the response. done reports whether the request succeeded. take fails if there
// is no link for the response, or too many responses wait on it.
func (n *managementEndpoint) take(ctx context.Context, in amqp.IncomingMessage) (done bool, err error) {
	m, err := message.Parse(in.Payload)
	if err != nil {
		return false, err
	}
	to, err := n.c.replyTo(n.link, managementNode(n.at), m.Text(message.ReplyTo))
	if err != nil {
		return false, err
	}
	if wait, ok := serverTimeout(m); ok {
		limited, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		ctx = limited
	}
	r := &managementRequest{managementEndpoint: n, ctx: ctx, m: m, state: in.State}
	operation, _ := wire.Text(m.Get("operation"))
	e := n.c.recording(managementFrame, strings.TrimPrefix(operation, vendor), n.at.String())
	result, failed := r.run()
	reply, err := n.respond(m, result, failed)
	r.record(e, in.Payload, reply, failed)
	if err == nil && !to.push(reply) {
		err = &entity.Error{Code: entity.CodeServerBusy, Message: "Too many answers wait to be received."}
	}
	return failed == nil, err
}

// record adds the request to the log of requests.
func (r *managementRequest) record(e *requestlog.Entry, payload, reply []byte, failed error) {
	if e == nil {
		return
	}
	e.RequestBody, e.ResponseBody, e.Rule = payload, reply, r.rule
	if e.FaultOperation = r.faultOperation.String(); failed == nil {
		r.c.record(e, nil)
		return
	}
	r.c.record(e, &frame.Error{Condition: failureOf(entity.ErrorCodeOf(failed)).condition})
}

// vendor is the prefix of the names of Service Bus's management operations.
const vendor = "com.microsoft:"

// respond encodes the response to a request.
func (n *managementEndpoint) respond(m *message.Message, done managementResponse, err error) ([]byte, error) {
	properties := wire.Map{{Key: "statusCode", Value: int32(http.StatusOK)},
		{Key: "statusDescription", Value: "OK"}}
	if done.status != 0 {
		properties[0].Value, properties[1].Value = done.status, http.StatusText(int(done.status))
	}
	if err != nil {
		own, tracking := n.c.toQueueError(err)
		f := failureOf(own.Code)
		properties = wire.Map{{Key: "statusCode", Value: f.status},
			{Key: "statusDescription", Value: n.c.track(own.Message, n.at.String(), tracking)},
			{Key: "errorCondition", Value: f.condition}, {Key: "error-condition", Value: f.condition}}
		done.body = nil
	}
	operation, _ := wire.Text(m.Get("operation"))
	n.c.bus.o.Logger.Debug("a request to $management", "operation", operation, "entity", n.at.String(),
		"status", properties[0].Value, "description", properties[1].Value)
	if tracking := m.Get("com.microsoft:tracking-id"); tracking != nil {
		if id, ok := wire.Text(tracking); ok {
			properties = append(properties, wire.MapEntry{Key: "com.microsoft:tracking-id", Value: id})
		}
	}
	if done.body == nil {
		done.body = wire.Map{}
	}
	return answer(m, properties, done.body)
}

// serverTimeout returns the time limit that the client has set for a request. ok is false if it has set none
// that can be used.
func serverTimeout(m *message.Message) (d time.Duration, ok bool) {
	for _, name := range []string{"com.microsoft:server-timeout", "server-timeout"} {
		if ms, ok := wire.Integer(m.Get(name)); ok && ms > 0 && ms < int64(maxPatience/time.Millisecond) {
			return time.Duration(ms) * time.Millisecond, true
		}
	}
	return 0, false
}

// run carries out the management operation that the request names and returns its response.
func (r *managementRequest) run() (managementResponse, error) {
	operation, _ := wire.Text(r.m.Get("operation"))
	name, _ := strings.CutPrefix(operation, vendor)
	op, ok := operations(name)
	if !ok {
		return managementResponse{}, &entity.Error{Code: entity.CodeNotImplemented, Entity: r.at.String(),
			Message: "The operation '" + operation + "' is not supported."}
	}
	if err := r.c.allows(r.at.String(), op.need); err != nil {
		return managementResponse{}, err
	}
	_, _, value, _, err := wire.SplitDescribed(r.m.Body)
	if err != nil {
		return managementResponse{}, err
	}
	v, _, err := wire.Value(value)
	if err != nil {
		return managementResponse{}, err
	}
	if r.body, ok = v.(wire.Map); !ok {
		return managementResponse{}, r.argument("The body of a request is a map.")
	}
	if _, inTransaction := r.state.(*frame.Transactional); inTransaction && op.alone {
		return managementResponse{}, &entity.Error{Code: entity.CodeNotAllowed, Entity: r.at.String(),
			Message: "The operation '" + operation + "' cannot be part of a transaction."}
	}
	end := r.c.observing(name, r.at.String(), 0)
	done, err := op.do(r)
	var states []frame.DeliveryState
	if err != nil {
		states = []frame.DeliveryState{&frame.Rejected{Error: &frame.Error{
			Condition: failureOf(entity.ErrorCodeOf(err)).condition}}}
	}
	end(states)
	return done, err
}

// managementOperation says how a $management node carries out one operation, and the right that it needs.
type managementOperation struct {
	do    func(*managementRequest) (managementResponse, error)
	need  access.Rights
	alone bool // cannot be part of a transaction
}

func operations(name string) (op managementOperation, ok bool) {
	switch name {
	case "renew-lock":
		op = managementOperation{do: (*managementRequest).renewLock, need: access.Listen}
	case "peek-message":
		op = managementOperation{do: (*managementRequest).peek, need: access.Listen}
	case "schedule-message":
		op = managementOperation{do: (*managementRequest).schedule, need: access.Send}
	case "cancel-scheduled-message":
		op = managementOperation{do: (*managementRequest).cancelScheduled, need: access.Send}
	case "receive-by-sequence-number":
		op = managementOperation{do: (*managementRequest).receiveDeferred, need: access.Listen}
	case "update-disposition":
		op = managementOperation{do: (*managementRequest).updateDisposition, need: access.Listen}
	case "batch-delete-messages":
		op = managementOperation{do: (*managementRequest).deleteMessages, need: access.Listen, alone: true}
	case "renew-session-lock":
		op = managementOperation{do: (*managementRequest).renewSession, need: access.Listen}
	case "get-session-state":
		op = managementOperation{do: (*managementRequest).sessionState, need: access.Listen}
	case "set-session-state":
		op = managementOperation{do: (*managementRequest).setSessionState, need: access.Listen}
	case "get-message-sessions":
		op = managementOperation{do: (*managementRequest).sessions, need: access.Listen}
	case "add-rule":
		op = managementOperation{do: (*managementRequest).addRule, need: access.Listen, alone: true}
	case "remove-rule":
		op = managementOperation{do: (*managementRequest).removeRule, need: access.Listen, alone: true}
	case "enumerate-rules":
		op = managementOperation{do: (*managementRequest).rules, need: access.Listen}
	}
	return op, op.do != nil
}

// join returns the transaction that the request belongs to, or nil if it belongs to none. sends says whether
// the request sends messages; partition returns the partition key of the request's messages.
func (r *managementRequest) join(sends bool, partition func() (string, error)) (*queue.Transaction, error) {
	return r.c.join(r.state,
		transactionalOperation{link: r.link, at: r.at, sends: sends, partition: partition})
}

func noPartition() (string, error) { return "", nil }

func (r *managementRequest) argument(text string) error {
	return &entity.Error{Code: entity.CodeArgument, Entity: r.at.String(), Message: text}
}
