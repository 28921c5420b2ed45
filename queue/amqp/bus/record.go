package bus

import (
	"errors"
	"net/http"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/wire"
)

// The names of AMQP frames in the log of requests.
const (
	attachFrame      = "attach"
	transferFrame    = "transfer"
	dispositionFrame = "disposition"
	managementFrame  = "management" // a transfer to or from a $management or $cbs node
)

// recording starts an entry of the log of requests. It returns nil if there is no log.
func (c *conn) recording(frame, operation, path string) *requestlog.Entry {
	if c.bus.o.Requests == nil {
		return nil
	}
	return &requestlog.Entry{Began: c.bus.o.Wall.Now(), Protocol: requestlog.AMQP, Method: frame,
		Operation: operation,
		URI:       path, Entity: path, Client: c.client, Status: http.StatusOK}
}

// record completes an entry of the log of requests and adds it to the log. failed is the operation's error,
// or nil.
func (c *conn) record(e *requestlog.Entry, failed *frame.Error) {
	if e == nil {
		return
	}
	e.Took, e.DataTime = c.bus.o.Wall.Now().Sub(e.Began), c.queues.Now()
	if failed != nil {
		e.Status, e.Condition = statusOf(failed.Condition), string(failed.Condition)
	}
	e.In, e.Out = max(e.In, int64(len(e.RequestBody))), max(e.Out, int64(len(e.ResponseBody)))
	c.bus.o.Requests.Add(e)
}

// recordEach adds one entry to the log of requests for each delivery state, that is, for each message of an
// operation. For the i-th state it sets *e to the original entry and calls complete(i, e) to fill in the
// rest. It does nothing if e is nil. The log keeps no reference to e.
func (c *conn) recordEach(e *requestlog.Entry, states []frame.DeliveryState, complete func(i int,
	e *requestlog.Entry)) {
	if e == nil {
		return
	}
	common := *e
	for i, state := range states {
		*e = common
		complete(i, e)
		c.record(e, refusalOf(state))
	}
}

// refusalOf returns the error of a rejected state, or nil for other states.
func refusalOf(state frame.DeliveryState) *frame.Error {
	if r, ok := state.(*frame.Rejected); ok {
		return r.Error
	}
	return nil
}

// statusOf returns the HTTP status that corresponds to an AMQP error condition, for the log of requests; 500
// if there is none.
func statusOf(condition wire.Symbol) int {
	switch condition {
	case frame.CondDetachForced:
		return http.StatusGone
	}
	for code := entity.CodeInternal; code <= entity.CodeStorage; code++ {
		if f := failureOf(code); f.condition == condition {
			return int(f.status)
		}
	}
	return http.StatusInternalServerError
}

// recordAttach adds an entry for an attach to the log of requests.
func (c *conn) recordAttach(e *requestlog.Entry, err error) {
	if e == nil {
		return
	}
	var failed *frame.Error
	if err != nil && !errors.As(err, &failed) {
		failed = &frame.Error{Condition: frame.CondInternal}
	}
	c.record(e, failed)
}

// recordReceived adds the received messages to the log, and the fault that came after them, if any.
func (n *entityMessageSource) recordReceived(list []amqp.OutgoingMessage, hit *inject.MatchedFault,
	failed *frame.Error) {
	e := n.c.recording(transferFrame, "receive", n.at.String())
	if e == nil {
		return
	}
	e.FaultOperation = inject.Receive.String()
	common := *e
	for i := range list {
		*e = common
		e.ResponseBody = list[i].Payload
		n.c.record(e, nil)
	}
	if *e = common; failed != nil {
		e.Rule = hit.Rule
		n.c.record(e, failed)
	}
}

// clientOf returns the name of the client from its connection properties, or else its container id.
func clientOf(p *amqp.ClientInfo) string {
	text := func(name string) string {
		v, _ := p.Properties.Get(name)
		s, _ := nameOf(v)
		return s
	}
	if agent := text("user-agent"); agent != "" {
		return agent
	}
	product := text("product")
	if version := text("version"); product != "" && version != "" {
		return product + "/" + version
	}
	if product != "" {
		return product
	}
	return p.Container
}

// settleName returns the name that a settlement has in the log of requests, and its operation in fault rules.
func settleName(state frame.DeliveryState) (name string, op inject.OperationKind) {
	if part, inTransaction := state.(*frame.Transactional); inTransaction {
		state = part.Outcome
	}
	wanted, _, err := settlementOf(state)
	if err != nil {
		return "settle", 0
	}
	op = settleOperations[wanted.Outcome]
	return op.String(), op
}
