package main

import (
	"fmt"

	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// named returns a message with an id.
func named(id, body string) *sb.Message { return &sb.Message{MessageID: &id, Body: []byte(body)} }

// unique creates a queue that drops a message whose id was used within the time window, an XML Schema
// duration.
func (t *ScenarioRun) unique(window string) messageSource {
	return t.queue(admin.QueueProperties{
		RequiresDuplicateDetection: ptr(true), DuplicateDetectionHistoryTimeWindow: &window})
}

// queueThere reports whether a queue exists.
func (t *ScenarioRun) queueThere(name string) bool {
	q, err := t.adm.GetQueue(t.ctx, name, nil)
	t.must(err)
	return q != nil
}

var forwarding = []scenario{
	{"forward-queue", func(t *ScenarioRun) {
		target := t.queue(admin.QueueProperties{}, "target")
		q := t.queue(admin.QueueProperties{ForwardTo: &target.queue})
		t.send(q.queue, named("id-1", "a"))
		t.equal(t.deleting(target).one("a").MessageID, "id-1")
	}},

	{"forward-subscription", func(t *ScenarioRun) {
		target := t.queue(admin.QueueProperties{}, "target")
		t.topic(admin.TopicProperties{})
		rule := admin.RuleProperties{Name: "blue", Filter: sql("color = 'blue'")}
		t.sub("s", admin.SubscriptionProperties{ForwardTo: &target.queue, DefaultRule: &rule})
		t.send(t.name, props("a", MessageProperties{"color": "blue"}), props("b", MessageProperties{"color": "red"}))
		t.left(target, "a")
	}},

	{"forward-hops", func(t *ScenarioRun) {
		next := t.queue(admin.QueueProperties{}, "6")
		for i := 5; i >= 1; i-- {
			next = t.queue(admin.QueueProperties{ForwardTo: ptr(next.queue)}, fmt.Sprint(i))
		}
		t.sendBodies(next.queue, "a")
		dead := messageSource{queue: t.name + "-5", dead: true}
		t.equal(*t.from(dead).one("a").DeadLetterReason, "MaxTransferHopCountExceeded")
		t.left(messageSource{queue: t.name + "-6"})
	}},

	{"forward-dead-letters", func(t *ScenarioRun) {
		target := t.queue(admin.QueueProperties{}, "target")
		q := t.queue(admin.QueueProperties{ForwardDeadLetteredMessagesTo: &target.queue})
		t.sendBodies(q.queue, "a")
		r := t.from(q)
		r.deadLetter(r.one("a"), "why", "because")
		got := t.from(target).one("a")
		t.equal(*got.DeadLetterReason, "why")
		t.equal(*got.DeadLetterSource, q.queue)
	}},

	{"duplicate-dropped", func(t *ScenarioRun) {
		q := t.unique("PT10M")
		t.send(q.queue, named("1", "a"), named("1", "b"), named("2", "c"))
		t.left(q, "a", "c")
		t.send(q.queue, named("1", "d"))
		t.left(q)
	}},

	{"duplicate-window", func(t *ScenarioRun) {
		q := t.unique("PT60S")
		t.send(q.queue, named("1", "a"))
		t.advance(61)
		t.send(q.queue, named("1", "b"))
		t.left(q, "a", "b")
	}},

	{"duplicate-batch", func(t *ScenarioRun) {
		q := t.unique("PT10M")
		s := t.sender(q.queue)
		b, err := s.NewMessageBatch(t.ctx, nil)
		t.must(err)
		t.must(b.AddMessage(named("1", "a"), nil))
		t.must(b.AddMessage(named("1", "b"), nil))
		t.must(s.SendMessageBatch(t.ctx, b, nil))
		t.left(q, "a")
	}},

	{"duplicate-scheduled", func(t *ScenarioRun) {
		q := t.unique("PT10M")
		t.scheduled(q.queue, 300, named("1", "a"))
		t.send(q.queue, named("1", "b"))
		t.nothing(q)
		t.advance(301)
		t.left(q, "a")
	}},

	{"idle-queue", func(t *ScenarioRun) {
		q := t.queue(admin.QueueProperties{AutoDeleteOnIdle: ptr("PT5M")})
		t.sendBodies(q.queue, "a")
		t.advance(290)
		t.check(t.queueThere(q.queue), "gone too soon")
		t.advance(15)
		t.check(!t.queueThere(q.queue), "still there")
	}},

	{"idle-activity", func(t *ScenarioRun) {
		q := t.queue(admin.QueueProperties{AutoDeleteOnIdle: ptr("PT5M")})
		t.advance(200)
		t.sendBodies(q.queue, "a")
		t.advance(200)
		r := t.from(q)
		r.peek(1)
		t.advance(200)
		r.complete(r.one("a"))
		r.close()
		t.advance(290)
		t.check(t.queueThere(q.queue), "gone too soon")
		t.advance(15)
		t.check(!t.queueThere(q.queue), "still there")
	}},

	{"idle-subscription", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		t.sub("s", admin.SubscriptionProperties{AutoDeleteOnIdle: ptr("PT5M")})
		t.advance(200)
		t.sendBodies(t.name, "a")
		t.advance(105)
		s, err := t.adm.GetSubscription(t.ctx, t.name, "s", nil)
		t.must(err)
		t.check(s == nil, "still there")
		topic, err := t.adm.GetTopic(t.ctx, t.name, nil)
		t.must(err)
		t.check(topic != nil, "the topic is gone as well")
	}},
}
