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

// Faults on demand are package inject's. Here is where requests about messages meet them. There are no links
// over HTTP: what detaches one drops the connection.

// settleOperations are what rules call the methods on a lock.
var settleOperations = map[string]inject.Operation{http.MethodDelete: inject.Complete,
	http.MethodPut: inject.Abandon, http.MethodPost: inject.RenewLock}

// withFaults runs a request for the messages of an entity, with the fault that it meets before or behind it.
// lock is the token of the request's lock; empty: it has none.
func (c *call) withFaults(op inject.Operation, path, lock string, run func() error) error {
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
	hit, ctx := c.o.Faults.Meet(inject.Target{Operation: op, Entity: path}), c.r.Context()
	c.faultRule = hit.Rule
	now, err := hit.Before(ctx, c.o.Wall)
	if err != nil {
		return nil // nobody listens
	}
	if now {
		if hit.Fault == inject.LockLost {
			c.loseLock(path, lock)
		}
		return suffer(&hit, path)
	}
	if hit.Fault == inject.None {
		if err = run(); err == nil {
			_, err = hit.Behind(ctx, c.o.Wall)
		}
		return err
	}
	wire := c.w
	c.w = &unsent{head: make(http.Header)}
	err = run()
	c.w = wire
	if _, late := hit.Behind(ctx, c.o.Wall); late != nil || err != nil {
		return err
	}
	c.status, c.answered = 0, nil // nobody gets it
	return suffer(&hit, path)
}

// suffer makes the fault what becomes of a request.
func suffer(hit *inject.Hit, path string) error {
	if hit.Fault != inject.LockLost {
		panic(http.ErrAbortHandler)
	}
	return &runtimeError{&entity.Error{Code: entity.CodeMessageLockLost, Entity: path,
		Message: "The lock supplied is invalid. This is a fault on demand, by the rule '" + hit.Rule +
			"' of /_mayfly/faults."}}
}

// loseLock makes a message available again, as the end of its lock does: the delivery is counted.
func (c *call) loseLock(path, lock string) {
	a, _, err := entity.ParseAddress(path)
	token, malformed := uuid.Parse(lock)
	if err == nil && malformed == nil {
		// Where that fails the lock is lost already.
		_ = c.o.Queues.Settle(c.r.Context(), a, message.UUID(token),
			queue.Settlement{Outcome: queue.Abandon}, nil)
	}
}

// unsent is an answer that nobody gets.
type unsent struct{ head http.Header }

func (u *unsent) Header() http.Header { return u.head }

func (u *unsent) WriteHeader(int) {}

func (u *unsent) Write(b []byte) (int, error) { return len(b), nil }
