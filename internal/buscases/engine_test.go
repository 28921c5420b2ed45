package buscases

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/queue/wire"
)

// patience limits the wait for the next available session, in real time. It is long enough for a session
// that is available, even on a busy machine.
const patience = 2 * sec

// goAPIClient runs the test cases through the Go API: it calls package queue directly, without a protocol.
type goAPIClient struct{ b *caseFixture }

func (e *goAPIClient) send(address string, list ...*message.Message) error {
	return e.b.q.Send(e.b.ctx, parse(address), list, nil)
}

func parse(address string) entity.Address {
	a, _, err := entity.ParseAddress(address)
	if err != nil {
		panic(err)
	}
	return a
}

func (e *goAPIClient) receive(address string, mode queue.ReceiveMode, most int) ([]receivedMessage, error) {
	r, err := e.b.q.OpenReceiver(e.b.ctx, parse(address), queue.ReceiverOptions{Mode: mode})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return take(e.b.ctx, r, most)
}

func take(ctx context.Context, r *queue.Receiver, most int) (all []receivedMessage, err error) {
	for len(all) < most {
		list, err := r.TryReceive(ctx, most-len(all))
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			break
		}
		all = append(all, gotten(list)...)
	}
	return all, nil
}

func moment(ms int64) (t time.Time) {
	if ms != message.Absent {
		t = time.UnixMilli(ms).UTC()
	}
	return t
}

func gotten(list []queue.Delivery) (all []receivedMessage) {
	for _, d := range list {
		data, _ := d.Message.Data()
		session, _ := d.Message.SessionID()
		m := receivedMessage{text: string(data), id: d.Message.Text(message.MessageID),
			number:   d.Broker.SequenceNumber,
			original: d.Broker.EnqueuedSequenceNumber, count: int(d.Broker.DeliveryCount),
			enqueued: moment(d.Broker.EnqueuedTime), expires: moment(d.Broker.ExpiresAt),
			until: moment(d.Broker.LockedUntil), state: d.Broker.State, session: session,
			died: d.Broker.DeadLetterSource, values: map[string]string{}, token: d.Token}
		if d.Broker.TTL != message.Absent {
			m.ttl = time.Duration(d.Broker.TTL) * time.Millisecond
		}
		for _, p := range d.Message.Application {
			v, _, _ := wire.Value(p.Value)
			m.set(p.Name, v)
		}
		all = append(all, m)
	}
	return all
}

func (e *goAPIClient) settle(address string, m receivedMessage, s queue.SettlementRequest) error {
	return e.b.q.Settle(e.b.ctx, parse(address), m.token, s, nil)
}

func (e *goAPIClient) renew(address string, m receivedMessage) (time.Time, error) {
	list, err := e.b.q.RenewLocks(e.b.ctx, parse(address), []message.UUID{m.token})
	if err != nil {
		return time.Time{}, err
	}
	return list[0], nil
}

func (*goAPIClient) refused(err error, code entity.ErrorCode) bool {
	return entity.ErrorCodeOf(err) == code
}

func (e *goAPIClient) peek(address string) ([]receivedMessage, error) {
	list, err := e.b.q.Peek(e.b.ctx, parse(address), queue.PeekOptions{Max: 10_000, MaxBytes: 1 << 30})
	return gotten(list), err
}

func (e *goAPIClient) schedule(address string, list ...*message.Message) ([]int64, error) {
	return e.b.q.Schedule(e.b.ctx, parse(address), list, nil)
}

func (e *goAPIClient) cancel(address string, numbers ...int64) error {
	return e.b.q.CancelScheduled(e.b.ctx, parse(address), numbers, nil)
}

func (e *goAPIClient) deferred(address string, mode queue.ReceiveMode,
	numbers ...int64) ([]receivedMessage, error) {
	list, err := e.b.q.ReceiveDeferred(e.b.ctx, parse(address), numbers, mode, nil)
	return gotten(list), err
}

func (e *goAPIClient) accept(address, id string) (lockedSession, error) {
	ctx, cancel := context.WithTimeout(e.b.ctx, patience)
	defer cancel()
	r, err := e.b.q.OpenReceiver(ctx, parse(address),
		queue.ReceiverOptions{Session: &queue.SessionRequest{ID: id, Next: id == ""}})
	if err != nil {
		return nil, err
	}
	e.b.Cleanup(r.Close)
	return &goAPISession{e.b, r}, nil
}

type goAPISession struct {
	b *caseFixture
	r *queue.Receiver
}

func (t *goAPISession) id() string {
	id, _, _ := t.r.Session()
	return id
}

func (t *goAPISession) receive(most int) ([]receivedMessage, error) { return take(t.b.ctx, t.r, most) }

func (t *goAPISession) state() (string, error) {
	state, err := t.r.SessionState(t.b.ctx)
	return string(state), err
}

func (t *goAPISession) setState(text string) error {
	if text == "" {
		return t.r.SetSessionState(t.b.ctx, nil, nil)
	}
	return t.r.SetSessionState(t.b.ctx, []byte(text), nil)
}

func (t *goAPISession) close() { t.r.Close() }

func (e *goAPIClient) create(kind entity.Kind, path string, p entity.Properties) error {
	_, err := e.b.q.Create(e.b.ctx, kind, path, p)
	return err
}

func (e *goAPIClient) update(_ entity.Kind, path string, p entity.Properties) error {
	_, err := e.b.q.Update(e.b.ctx, path, p)
	return err
}

func (e *goAPIClient) get(path string) (entity.Entity, error) { return e.b.q.Get(e.b.ctx, path) }

func (e *goAPIClient) addRule(subscription, name, filter, action string) error {
	f, err := rule.SQL(filter)
	if err != nil {
		return err
	}
	r := entity.Rule{Name: name, Filter: f}
	if action != "" {
		if r.Action, err = rule.NewAction(action); err != nil {
			return err
		}
	}
	_, err = e.b.q.CreateRule(e.b.ctx, subscription, r)
	return err
}

func (e *goAPIClient) list(skip, top int) (names []string, err error) {
	list, err := e.b.q.List(e.b.ctx, entity.Queue, "", skip, top)
	for _, one := range list {
		names = append(names, one.Path)
	}
	return names, err
}

func (e *goAPIClient) batch(address string, list ...*message.Message) error {
	return e.send(address, list...)
}

// listen starts a receiver that waits for messages, and implements receiverStarter.
func (e *goAPIClient) listen(address string) (stop func()) {
	r, err := e.b.q.OpenReceiver(e.b.ctx, parse(address), queue.ReceiverOptions{})
	e.b.must(err)
	ctx, cancel := context.WithCancel(e.b.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if list, err := r.Receive(ctx, 1); err != nil || len(list) > 0 {
			e.b.Errorf("received %d, %v", len(list), err)
		}
	}()
	return func() {
		cancel()
		<-done
		r.Close()
	}
}
