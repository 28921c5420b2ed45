package rest

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/ttl"
)

// The default and maximal time that a receive waits for a message.
const (
	defaultWait = 60 * time.Second
	maxWait     = 120 * time.Second
)

func isToken(text string) bool {
	_, err := uuid.Parse(text)
	return err == nil
}

// timeout returns how long the request waits for a message, from its parameter timeout.
func (c *activeRequest) timeout() (time.Duration, error) {
	text := c.query.Get("timeout")
	if text == "" {
		return defaultWait, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, badRequest("The timeout is no number of seconds.")
	}
	return min(time.Duration(min(n, 1<<20))*time.Second, maxWait), nil
}

// receive waits for a message and returns it. POST locks the message, DELETE deletes it.
func (c *activeRequest) receive(path string) error {
	o := queue.ReceiverOptions{KeepLocks: true, Name: "http"}
	if c.o.Memory != nil {
		o.Memory = c.o.Memory
	}
	switch c.r.Method {
	case http.MethodPost:
	case http.MethodDelete:
		o.Mode = queue.ReceiveAndDelete
	default:
		return c.notAllowed(http.MethodPost, http.MethodDelete)
	}
	a, err := c.store(path, access.Listen)
	if err != nil {
		return err
	}
	wait, err := c.timeout()
	if err != nil {
		return err
	}
	r, err := c.o.Queues.OpenReceiver(c.r.Context(), a, o)
	if err != nil {
		return &messageOperationError{err}
	}
	defer r.Close()
	list, err := c.waitFor(r, wait)
	if err != nil {
		return &messageOperationError{err}
	}
	if len(list) == 0 {
		return c.answer(http.StatusNoContent, "", nil)
	}
	defer list[0].Release()
	return c.deliver(a, &list[0], o.Mode)
}

// waitFor receives one message within a time. It returns none if the client has disconnected.
func (c *activeRequest) waitFor(r *queue.Receiver, wait time.Duration) ([]queue.Delivery, error) {
	ctx, cancel := context.WithCancel(c.r.Context())
	defer cancel()
	if wait == 0 {
		return r.TryReceive(ctx, 1)
	}
	defer ttl.AfterFunc(c.o.Wall, wait, cancel)()
	return r.Receive(ctx, 1)
}

// deliver responds with a message.
func (c *activeRequest) deliver(a entity.Address, d *queue.Delivery, mode queue.ReceiveMode) error {
	header := c.w.Header()
	status, token := http.StatusOK, ""
	if mode == queue.PeekLock {
		status, token = http.StatusCreated, d.Token.String()
		header.Set("Location", c.scheme()+c.r.Host+"/"+strings.ToLower(a.String())+"/messages/"+
			strconv.FormatInt(d.Broker.SequenceNumber, 10)+"/"+token)
	}
	header[brokerProperties] = []string{brokerHeader(d, token)}
	writeProperties(header, d.Message)
	contentType := d.Message.Text(message.ContentType)
	if contentType == "" {
		header["Content-Type"] = nil // otherwise net/http would guess the type
	}
	data, ok := d.Message.Data()
	if !ok {
		data = d.Message.Body // an AMQP value or sequence, in its encoding
	}
	return c.answer(status, contentType, data)
}

// settle completes or abandons a locked message, or renews its lock. id is the message's id or its sequence
// number.
func (c *activeRequest) settle(path, id, lock string) error {
	a, err := c.store(path, access.Listen)
	if err != nil {
		return err
	}
	parsed, err := uuid.Parse(lock)
	if err != nil {
		return badRequest("The lock token is no GUID.")
	}
	token, ctx := message.UUID(parsed), c.r.Context()
	number, own, err := c.o.Queues.Locked(ctx, a, token)
	if err != nil {
		return &messageOperationError{err}
	}
	if id != own && id != strconv.FormatInt(number, 10) {
		return &statusError{http.StatusNotFound, "The lock covers another message."}
	}
	switch c.r.Method {
	case http.MethodDelete:
		err = c.o.Queues.Settle(ctx, a, token, queue.SettlementRequest{Outcome: queue.Complete}, nil)
	case http.MethodPut:
		err = c.o.Queues.Settle(ctx, a, token, queue.SettlementRequest{Outcome: queue.Abandon}, nil)
	case http.MethodPost:
		_, err = c.o.Queues.RenewLocks(ctx, a, []message.UUID{token})
	default:
		return c.notAllowed(http.MethodDelete, http.MethodPut, http.MethodPost)
	}
	if err != nil {
		return &messageOperationError{err}
	}
	return c.answer(http.StatusOK, "", nil)
}
