package main

import (
	"context"
	"errors"
	"net"
	"net/http"

	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
	"github.com/coder/websocket"
)

// setStatus changes a queue's status.
func (t *ScenarioRun) setStatus(q messageSource, s admin.EntityStatus) {
	p, err := t.adm.GetQueue(t.ctx, q.queue, nil)
	t.must(err)
	p.Status = &s
	_, err = t.adm.UpdateQueue(t.ctx, q.queue, p.QueueProperties, nil)
	t.must(err)
}

// tryReceive returns the error of a new receiver's first receive.
func (t *ScenarioRun) tryReceive(p messageSource) error {
	ctx, cancel := context.WithTimeout(t.ctx, someTime)
	defer cancel()
	r := t.from(p)
	_, err := r.ReceiveMessages(ctx, 1, nil)
	r.close()
	return err
}

// secure sends, peeks, receives and completes a message with a client that uses TLS and the options o.
func (t *ScenarioRun) secure(o *sb.ClientOptions) {
	q := t.plain()
	c := t.connect(connection(t.tls, sasKey), o)
	s, err := c.NewSender(q.queue, nil)
	t.must(err)
	t.must(s.SendMessage(t.ctx, m("a"), nil))
	r := t.open(c, q, sb.ReceiveModePeekLock)
	t.equal(bodies(r.peek(1)), []string{"a"})
	r.complete(r.one("a"))
	t.left(q)
}

var failing = []scenario{
	{"error-missing", func(t *ScenarioRun) {
		for _, err := range []error{t.trySend("not-there", m("a")), t.tryReceive(messageSource{queue: "not-there"})} {
			t.refused(err, "could not be found. to know more visit")
			var known *sb.Error
			t.check(errors.As(err, &known) && known.Code == sb.CodeNotFound, "%v", err)
		}
	}},

	{"error-disabled", func(t *ScenarioRun) {
		q := t.plain()
		t.setStatus(q, admin.EntityStatusDisabled)
		t.refused(t.trySend(q.queue, m("a")), "disabled")
		t.refused(t.tryReceive(q), "disabled")
		t.setStatus(q, admin.EntityStatusActive)
		t.sendBodies(q.queue, "b")
		t.left(q, "b")
	}},

	{"error-send-disabled", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "a")
		t.setStatus(q, admin.EntityStatusSendDisabled)
		t.refused(t.trySend(q.queue, m("b")), "disabled")
		t.left(q, "a")
	}},

	{"error-receive-disabled", func(t *ScenarioRun) {
		q := t.plain()
		t.setStatus(q, admin.EntityStatusReceiveDisabled)
		t.sendBodies(q.queue, "a")
		t.refused(t.tryReceive(q), "disabled")
	}},

	{"error-wrong-key", func(t *ScenarioRun) {
		q := t.plain()
		s, err := t.connect(t.amqpString("another"), nil).NewSender(q.queue, nil)
		t.must(err)
		t.refused(s.SendMessage(t.ctx, m("a"), nil), "unauthorized", "401")
		_, err = t.administrator("another").GetQueue(t.ctx, q.queue, nil)
		t.refused(err, "401")
	}},

	{"error-deleted-queue", func(t *ScenarioRun) {
		q := t.plain()
		s := t.sender(q.queue)
		t.must(s.SendMessage(t.ctx, m("a"), nil))
		_, err := t.adm.DeleteQueue(t.ctx, q.queue, nil)
		t.must(err)
		t.refused(s.SendMessage(t.ctx, m("b"), nil), "not-found", "notfound")
	}},

	{"over-tls", func(t *ScenarioRun) {
		c := t.trust()
		c.ServerName, _, _ = net.SplitHostPort(t.tls) // otherwise the SDK would include the port in the name
		t.secure(&sb.ClientOptions{TLSConfig: c})
	}},

	{"over-websocket", func(t *ScenarioRun) {
		transport := &http.Transport{TLSClientConfig: t.trust()}
		t.secure(&sb.ClientOptions{
			NewWebSocketConn: func(ctx context.Context, args sb.NewWebSocketConnArgs) (net.Conn, error) {
				c, _, err := websocket.Dial(ctx, args.Host, &websocket.DialOptions{
					Subprotocols: []string{"amqp"}, HTTPClient: &http.Client{Transport: transport}})
				if err != nil {
					return nil, err
				}
				return websocket.NetConn(context.Background(), c, websocket.MessageBinary), nil
			}})
	}},
}
