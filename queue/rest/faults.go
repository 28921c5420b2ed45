package rest

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// Package inject implements fault rules; this file applies them to requests for messages. HTTP has no links,
// so a fault that detaches a link drops the connection instead.

// settleOperations maps the HTTP method of a request for a locked message to the name of the operation in
// fault rules.
var settleOperations = map[string]inject.OperationKind{http.MethodDelete: inject.Complete,
	http.MethodPut: inject.Abandon, http.MethodPost: inject.RenewLock}

// withFaults runs a request for messages of an entity, with the fault that applies before or after it. lock
// is the lock token in the request, or "".
func (c *activeRequest) withFaults(op inject.OperationKind, path, lock string, run func() error) error {
	if op != 0 {
		c.operation = op.String()
	}
	if !c.o.Faults.Armed() || op == 0 {
		return run()
	}
	need := access.Listen
	if op == inject.Send {
		need = access.Send
	}
	if err := c.allow(path, need); err != nil {
		return err
	}
	hit, ctx := c.o.Faults.Match(inject.IncomingOperation{Operation: op, Entity: path}), c.r.Context()
	c.faultRule = hit.Rule
	now, err := hit.BeforeOperation(ctx, c.o.Wall)
	if err != nil {
		return nil // the client has gone
	}
	if now {
		if hit.Fault == inject.LockLost {
			c.loseLock(path, lock)
		}
		return applyFault(&hit, path)
	}
	if hit.Fault == inject.None {
		if err = run(); err == nil {
			_, err = hit.AfterOperation(ctx, c.o.Wall)
		}
		return err
	}
	wire := c.w
	c.w = &discardWriter{head: make(http.Header)}
	err = run()
	c.w = wire
	if _, late := hit.AfterOperation(ctx, c.o.Wall); late != nil || err != nil {
		return err
	}
	c.status, c.answered = 0, nil // the response was not sent
	return applyFault(&hit, path)
}

// applyFault applies a fault: it drops the connection, or returns the error for the client.
func applyFault(hit *inject.MatchedFault, path string) error {
	if hit.Fault != inject.LockLost {
		panic(http.ErrAbortHandler)
	}
	return &messageOperationError{&entity.Error{Code: entity.CodeMessageLockLost, Entity: path,
		Message: "The lock supplied is invalid. This is a fault on demand, by the rule '" + hit.Rule +
			"' of /_mayfly/faults."}}
}

// loseLock makes a message available again and counts a delivery, as when a lock lapses.
func (c *activeRequest) loseLock(path, lock string) {
	a, _, err := entity.ParseAddress(path)
	token, malformed := uuid.Parse(lock)
	if err == nil && malformed == nil {
		// If Settle fails, the lock has been lost already.
		_ = c.o.Queues.Settle(c.r.Context(), a, message.UUID(token),
			queue.SettlementRequest{Outcome: queue.Abandon}, nil)
	}
}

// discardWriter is a ResponseWriter that discards the response.
type discardWriter struct{ head http.Header }

func (u *discardWriter) Header() http.Header { return u.head }

func (u *discardWriter) WriteHeader(int) {}

func (u *discardWriter) Write(b []byte) (int, error) { return len(b), nil }
