package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// messageSource is a source of messages: a queue, or a subscription of a topic.
type messageSource struct {
	queue, topic, sub string
	dead              bool // the dead-letter queue of it
}

func (p messageSource) deadLetters() messageSource {
	p.dead = true
	return p
}

// sdkReceiver has the methods of the SDK that receivers with and without a session have in common.
type sdkReceiver interface {
	ReceiveMessages(context.Context, int, *sb.ReceiveMessagesOptions) ([]*sb.ReceivedMessage, error)
	ReceiveDeferredMessages(
		context.Context, []int64, *sb.ReceiveDeferredMessagesOptions) ([]*sb.ReceivedMessage, error)
	PeekMessages(context.Context, int, *sb.PeekMessagesOptions) ([]*sb.ReceivedMessage, error)
	CompleteMessage(context.Context, *sb.ReceivedMessage, *sb.CompleteMessageOptions) error
	AbandonMessage(context.Context, *sb.ReceivedMessage, *sb.AbandonMessageOptions) error
	DeferMessage(context.Context, *sb.ReceivedMessage, *sb.DeferMessageOptions) error
	DeadLetterMessage(context.Context, *sb.ReceivedMessage, *sb.DeadLetterOptions) error
	Close(context.Context) error
}

// ScenarioReceiver is an SDK receiver with methods that end the scenario if something unexpected is
// received.
type ScenarioReceiver struct {
	sdkReceiver
	t *ScenarioRun
}

// queue creates a queue. Its name is that of the scenario, followed by the suffixes.
func (t *ScenarioRun) queue(p admin.QueueProperties, suffix ...string) messageSource {
	name := t.name
	for _, s := range suffix {
		name += "-" + s
	}
	_, err := t.adm.CreateQueue(t.ctx, name, &admin.CreateQueueOptions{Properties: &p})
	t.must(err)
	t.dropQueue(name)
	return messageSource{queue: name}
}

func (t *ScenarioRun) plain() messageSource { return t.queue(admin.QueueProperties{}) }

// dropQueue deletes a queue at the end of the scenario, if it still exists then.
func (t *ScenarioRun) dropQueue(name string) {
	t.after = append(t.after, func() error {
		_, err := t.adm.DeleteQueue(context.Background(), name, nil)
		return unless404(err)
	})
}

// topic creates a topic with the scenario's name, and subscriptions with the given names.
func (t *ScenarioRun) topic(p admin.TopicProperties, subs ...string) []messageSource {
	_, err := t.adm.CreateTopic(t.ctx, t.name, &admin.CreateTopicOptions{Properties: &p})
	t.must(err)
	t.dropTopic(t.name)
	places := []messageSource{}
	for _, s := range subs {
		places = append(places, t.sub(s, admin.SubscriptionProperties{}))
	}
	return places
}

func (t *ScenarioRun) dropTopic(name string) {
	t.after = append(t.after, func() error {
		_, err := t.adm.DeleteTopic(context.Background(), name, nil)
		return unless404(err)
	})
}

// sub creates a subscription of the scenario's topic.
func (t *ScenarioRun) sub(name string, p admin.SubscriptionProperties) messageSource {
	_, err := t.adm.CreateSubscription(t.ctx, t.name, name, &admin.CreateSubscriptionOptions{Properties: &p})
	t.must(err)
	return messageSource{topic: t.name, sub: name}
}

// ruled creates a subscription with the given rule instead of $Default.
func (t *ScenarioRun) ruled(name string, filter admin.RuleFilter, action admin.RuleAction) messageSource {
	rule := admin.RuleProperties{Name: name, Filter: filter, Action: action}
	return t.sub(name, admin.SubscriptionProperties{DefaultRule: &rule})
}

func sql(expression string) admin.RuleFilter { return &admin.SQLFilter{Expression: expression} }

func m(body string) *sb.Message { return &sb.Message{Body: []byte(body)} }

// in returns a message with a session id.
func in(session, body string) *sb.Message {
	return &sb.Message{SessionID: &session, Body: []byte(body)}
}

func (t *ScenarioRun) sender(name string) *sb.Sender {
	s, err := t.client.NewSender(name, nil)
	t.must(err)
	t.after = append(t.after, closing(s))
	return s
}

// closing returns a function that closes c. It ignores the error, because the scenario may have cut the
// connection or made it fail.
func closing(c interface{ Close(context.Context) error }) func() error {
	return func() error {
		_ = c.Close(context.Background())
		return nil
	}
}

// send sends messages one after the other.
func (t *ScenarioRun) send(name string, messages ...*sb.Message) {
	s := t.sender(name)
	for _, m := range messages {
		t.must(s.SendMessage(t.ctx, m, nil))
	}
}

// sendBodies sends a message with each of the bodies, in their order.
func (t *ScenarioRun) sendBodies(name string, bodies ...string) {
	s := t.sender(name)
	for _, b := range bodies {
		t.must(s.SendMessage(t.ctx, m(b), nil))
	}
}

// unless404 returns err, or nil if err says that the entity does not exist.
func unless404(err error) error {
	var r *azcore.ResponseError
	if errors.As(err, &r) && r.StatusCode == http.StatusNotFound {
		return nil
	}
	return err
}

func (t *ScenarioRun) trySend(name string, m *sb.Message) error {
	return t.sender(name).SendMessage(t.ctx, m, nil)
}

func (t *ScenarioRun) open(c *sb.Client, p messageSource, mode sb.ReceiveMode) ScenarioReceiver {
	o := &sb.ReceiverOptions{ReceiveMode: mode}
	if p.dead {
		o.SubQueue = sb.SubQueueDeadLetter
	}
	var r *sb.Receiver
	var err error
	if p.queue != "" {
		r, err = c.NewReceiverForQueue(p.queue, o)
	} else {
		r, err = c.NewReceiverForSubscription(p.topic, p.sub, o)
	}
	t.must(err)
	t.after = append(t.after, closing(r))
	return ScenarioReceiver{r, t}
}

// from returns a receiver in peek-lock mode.
func (t *ScenarioRun) from(p messageSource) ScenarioReceiver {
	return t.open(t.client, p, sb.ReceiveModePeekLock)
}

// deleting returns a receiver in receive-and-delete mode.
func (t *ScenarioRun) deleting(p messageSource) ScenarioReceiver {
	return t.open(t.client, p, sb.ReceiveModeReceiveAndDelete)
}

// together makes a receive wait until it has all messages that it asks for. By default it returns 20 ms after
// the first message, and releases messages that arrive later, so that their order may change.
var together = &sb.ReceiveMessagesOptions{TimeAfterFirstMessage: someTime}

// take receives n messages.
func (r ScenarioReceiver) take(n int) []*sb.ReceivedMessage {
	ctx, cancel := context.WithTimeout(r.t.ctx, someTime)
	defer cancel()
	var all []*sb.ReceivedMessage
	for len(all) < n {
		some, err := r.ReceiveMessages(ctx, n-len(all), together)
		if err != nil {
			r.t.fatalf("received %d of %d: %v", len(all), n, err)
		}
		all = append(all, some...)
	}
	return all
}

// one receives a message and ends the scenario unless it has this body.
func (r ScenarioReceiver) one(body string) *sb.ReceivedMessage {
	got := r.take(1)[0]
	r.t.equal(string(got.Body), body)
	return got
}

// none ends the scenario if a message arrives.
func (r ScenarioReceiver) none() {
	ctx, cancel := context.WithTimeout(r.t.ctx, shortly)
	defer cancel()
	got, err := r.ReceiveMessages(ctx, 1, nil)
	if err == nil {
		r.t.fatalf("there is %v", bodies(got))
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		r.t.fatalf("%v", err)
	}
}

func (r ScenarioReceiver) close() { r.t.must(r.Close(r.t.ctx)) }

func (r ScenarioReceiver) complete(m *sb.ReceivedMessage) {
	r.t.must(r.CompleteMessage(r.t.ctx, m, nil))
}

func (r ScenarioReceiver) abandon(m *sb.ReceivedMessage) { r.t.must(r.AbandonMessage(r.t.ctx, m, nil)) }

func (r ScenarioReceiver) deferred(numbers ...int64) []*sb.ReceivedMessage {
	got, err := r.ReceiveDeferredMessages(r.t.ctx, numbers, nil)
	r.t.must(err)
	r.t.equal(len(got), len(numbers))
	return got
}

func (r ScenarioReceiver) deadLetter(m *sb.ReceivedMessage, reason, description string) {
	why := &sb.DeadLetterOptions{Reason: &reason, ErrorDescription: &description}
	r.t.must(r.DeadLetterMessage(r.t.ctx, m, why))
}

func (r ScenarioReceiver) peek(n int) []*sb.ReceivedMessage {
	got, err := r.PeekMessages(r.t.ctx, n, nil)
	r.t.must(err)
	return got
}

// nothing ends the scenario if a new receiver gets a message from p.
func (t *ScenarioRun) nothing(p messageSource) {
	r := t.from(p)
	r.none()
	r.close()
}

// left receives and deletes all messages of p, and ends the scenario unless they have the bodies want, in
// this order.
func (t *ScenarioRun) left(p messageSource, want ...string) {
	r := t.deleting(p)
	if len(want) > 0 {
		t.equal(bodies(r.take(len(want))), want)
	}
	r.none()
	r.close()
}

// leftInAnyOrder receives and deletes all messages of p, and ends the scenario unless they have the bodies
// want, in any order.
func (t *ScenarioRun) leftInAnyOrder(p messageSource, want ...string) {
	r := t.deleting(p)
	t.equal(slices.Sorted(slices.Values(bodies(r.take(len(want))))), slices.Sorted(slices.Values(want)))
	r.none()
	r.close()
}

func bodies(messages []*sb.ReceivedMessage) []string {
	all := []string{}
	for _, m := range messages {
		all = append(all, string(m.Body))
	}
	return all
}

// count returns how many deliveries of a message have failed.
func count(m *sb.ReceivedMessage) int { return int(m.DeliveryCount) - 1 }

// later returns a future time by the machine's clock. The server's clock agrees with that when a scenario
// begins.
func later(seconds int) time.Time { return time.Now().Add(time.Duration(seconds) * time.Second) }

// lasts fails the scenario unless the time to is the given number of seconds after the time from. It allows 8
// seconds more or less, for the real time that the calls between the two take.
func (t *ScenarioRun) lasts(from, to *time.Time, seconds int) {
	t.check(from != nil && to != nil, "a moment is missing")
	d := to.Sub(*from) - time.Duration(seconds)*time.Second
	t.check(d.Abs() < 8*time.Second, "%v is not %d s after %v", to, seconds, from)
}
