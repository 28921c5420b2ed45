package main

import (
	"time"

	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// brief creates a queue whose locks last 30 seconds.
func (t *ScenarioRun) brief() messageSource {
	return t.queue(admin.QueueProperties{LockDuration: ptr("PT30S")})
}

var locks = []scenario{
	{"lock-renew", func(t *ScenarioRun) {
		q := t.brief()
		t.sendBodies(q.queue, "a")
		r := t.from(q)
		got := r.one("a")
		was := *got.LockedUntil
		t.advance(20)
		t.must(r.sdkReceiver.(*sb.Receiver).RenewMessageLock(t.ctx, got, nil))
		t.lasts(&was, got.LockedUntil, 20)
		t.advance(20)
		r.complete(got)
		t.left(q)
	}},

	{"lock-expires", func(t *ScenarioRun) {
		q := t.brief()
		t.sendBodies(q.queue, "a")
		t.from(q).one("a")
		t.advance(20)
		t.nothing(q)
		t.advance(11)
		t.equal(count(t.from(q).one("a")), 1)
	}},

	{"lock-lost", func(t *ScenarioRun) {
		q := t.brief()
		t.sendBodies(q.queue, numbered(4)...)
		r := t.from(q)
		got := r.take(4)
		t.advance(31)
		t.refused(r.CompleteMessage(t.ctx, got[0], nil), "lock")
		t.refused(r.AbandonMessage(t.ctx, got[1], nil), "lock")
		t.refused(r.DeferMessage(t.ctx, got[2], nil), "lock")
		t.refused(r.DeadLetterMessage(t.ctx, got[3], nil), "lock")
		t.left(q, numbered(4)...)
	}},

	{"lock-lost-renew", func(t *ScenarioRun) {
		q := t.brief()
		t.sendBodies(q.queue, "a")
		r := t.from(q)
		got := r.one("a")
		t.advance(31)
		t.refused(r.sdkReceiver.(*sb.Receiver).RenewMessageLock(t.ctx, got, nil), "lock")
	}},

	{"lock-last-delivery", func(t *ScenarioRun) {
		q := t.queue(admin.QueueProperties{LockDuration: ptr("PT30S"), MaxDeliveryCount: ptr(int32(2))})
		t.sendBodies(q.queue, "a")
		for range 2 {
			t.from(q).one("a")
			t.advance(31)
		}
		t.nothing(q)
		t.equal(*t.from(q.deadLetters()).one("a").DeadLetterReason, "MaxDeliveryCountExceeded")
	}},

	{"lock-updated-queue", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "a")
		r := t.from(q)
		got := r.one("a")
		p, err := t.adm.GetQueue(t.ctx, q.queue, nil)
		t.must(err)
		p.LockDuration = ptr("PT2M")
		_, err = t.adm.UpdateQueue(t.ctx, q.queue, p.QueueProperties, nil)
		t.must(err)
		t.refused(r.CompleteMessage(t.ctx, got, nil), "lock")
		t.left(q, "a")
	}},

	{"lock-closed-receiver", func(t *ScenarioRun) {
		q := t.brief()
		t.sendBodies(q.queue, "a")
		r := t.from(q)
		r.one("a")
		r.close()
		t.nothing(q)
		t.advance(31)
		t.equal(count(t.from(q).one("a")), 1)
	}},
}

// scheduled schedules messages for the given number of seconds from now, and returns their sequence numbers.
func (t *ScenarioRun) scheduled(name string, seconds int, messages ...*sb.Message) []int64 {
	numbers, err := t.sender(name).ScheduleMessages(t.ctx, messages, later(seconds), nil)
	t.must(err)
	t.equal(len(numbers), len(messages))
	return numbers
}

var scheduling = []scenario{
	{"schedule", func(t *ScenarioRun) {
		q := t.plain()
		due := later(300)
		t.scheduled(q.queue, 300, m("a"))
		t.advance(290)
		t.nothing(q)
		t.advance(11)
		got := t.from(q).one("a")
		t.lasts(&due, got.EnqueuedTime, 0)
		t.lasts(&due, got.ScheduledEnqueueTime, 0)
		t.equal(got.State, sb.MessageStateScheduled)
	}},

	{"schedule-property", func(t *ScenarioRun) {
		q := t.plain()
		due := later(300)
		t.send(q.queue, &sb.Message{Body: []byte("a"), ScheduledEnqueueTime: &due})
		t.advance(290)
		t.nothing(q)
		t.advance(11)
		t.lasts(&due, t.from(q).one("a").EnqueuedTime, 0)
	}},

	{"schedule-several", func(t *ScenarioRun) {
		q := t.plain()
		numbers := t.scheduled(q.queue, 300, m("a"), m("b"), m("c"))
		t.check(numbers[0] < numbers[1] && numbers[1] < numbers[2], "%v", numbers)
		t.nothing(q)
		t.advance(301)
		t.left(q, "a", "b", "c")
	}},

	{"schedule-cancel", func(t *ScenarioRun) {
		q := t.plain()
		numbers := t.scheduled(q.queue, 300, m("a"), m("b"))
		t.must(t.sender(q.queue).CancelScheduledMessages(t.ctx, numbers[:1], nil))
		t.advance(301)
		t.left(q, "b")
	}},

	{"schedule-cancel-unknown", func(t *ScenarioRun) {
		err := t.sender(t.plain().queue).CancelScheduledMessages(t.ctx, []int64{4711}, nil)
		t.refused(err, "notfound", "not-found", "404")
	}},

	{"schedule-past", func(t *ScenarioRun) {
		q := t.plain()
		t.scheduled(q.queue, -60, m("a"))
		t.left(q, "a")
	}},

	{"schedule-topic", func(t *ScenarioRun) {
		subs := t.topic(admin.TopicProperties{}, "s1", "s2")
		t.scheduled(t.name, 300, m("a"))
		t.nothing(subs[0])
		t.advance(301)
		t.left(subs[0], "a")
		t.left(subs[1], "a")
	}},
}

// aged returns a message with a time to live in seconds.
func aged(body string, seconds int) *sb.Message {
	return &sb.Message{Body: []byte(body), TimeToLive: ptr(time.Duration(seconds) * time.Second)}
}

var ttl = []scenario{
	{"ttl-message", func(t *ScenarioRun) {
		q := t.plain()
		t.send(q.queue, aged("a", 100), aged("b", 100))
		t.advance(90)
		t.deleting(q).one("a")
		t.advance(10)
		t.left(q)
	}},

	{"ttl-default", func(t *ScenarioRun) {
		q := t.queue(admin.QueueProperties{DefaultMessageTimeToLive: ptr("PT100S")})
		t.sendBodies(q.queue, "a", "b")
		t.advance(90)
		t.deleting(q).one("a")
		t.advance(10)
		t.left(q)
	}},

	{"ttl-ceiling", func(t *ScenarioRun) {
		q := t.queue(admin.QueueProperties{DefaultMessageTimeToLive: ptr("PT100S")})
		t.send(q.queue, aged("a", 1000), aged("b", 1000))
		t.equal(*t.deleting(q).one("a").TimeToLive, 100*time.Second)
		t.advance(100)
		t.left(q)
	}},

	{"ttl-expires-at", func(t *ScenarioRun) {
		q := t.plain()
		t.send(q.queue, aged("a", 100))
		r := t.from(q)
		for _, got := range []*sb.ReceivedMessage{r.peek(1)[0], r.one("a")} {
			t.lasts(got.EnqueuedTime, got.ExpiresAt, 100)
		}
	}},

	{"ttl-dead-letter", func(t *ScenarioRun) {
		q := t.queue(admin.QueueProperties{DeadLetteringOnMessageExpiration: ptr(true)})
		t.send(q.queue, aged("a", 100))
		t.advance(101)
		t.nothing(q)
		t.equal(*t.from(q.deadLetters()).one("a").DeadLetterReason, "TTLExpiredException")
	}},

	{"ttl-locked", func(t *ScenarioRun) {
		q := t.queue(admin.QueueProperties{DeadLetteringOnMessageExpiration: ptr(true)})
		t.send(q.queue, aged("a", 20))
		r := t.from(q)
		got := r.one("a")
		t.advance(40)
		r.complete(got)
		t.left(q)
		t.left(q.deadLetters())
	}},

	{"ttl-abandon", func(t *ScenarioRun) {
		q := t.queue(admin.QueueProperties{DeadLetteringOnMessageExpiration: ptr(true)})
		t.send(q.queue, aged("a", 20))
		r := t.from(q)
		got := r.one("a")
		t.advance(40)
		r.abandon(got)
		t.nothing(q)
		t.equal(*t.from(q.deadLetters()).one("a").DeadLetterReason, "TTLExpiredException")
	}},

	{"ttl-scheduled", func(t *ScenarioRun) {
		q := t.plain()
		t.scheduled(q.queue, 300, aged("a", 100), aged("b", 100))
		t.advance(301)
		t.advance(90)
		t.deleting(q).one("a")
		t.advance(11)
		t.left(q)
	}},

	{"ttl-default-changes", func(t *ScenarioRun) {
		q := t.plain()
		t.send(q.queue, m("none"), aged("own", 200))
		p, err := t.adm.GetQueue(t.ctx, q.queue, nil)
		t.must(err)
		p.DefaultMessageTimeToLive = ptr("PT100S")
		_, err = t.adm.UpdateQueue(t.ctx, q.queue, p.QueueProperties, nil)
		t.must(err)
		t.advance(101)
		t.left(q, "own")
	}},

	{"ttl-subscription", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{DefaultMessageTimeToLive: ptr("PT100S")})
		short := t.sub("short", admin.SubscriptionProperties{DefaultMessageTimeToLive: ptr("PT50S")})
		long := t.sub("long", admin.SubscriptionProperties{})
		t.sendBodies(t.name, "a", "b")
		t.advance(51)
		t.left(short)
		t.deleting(long).one("a")
		t.advance(50)
		t.left(long)
	}},

	{"ttl-deferred", func(t *ScenarioRun) {
		q := t.plain()
		t.send(q.queue, aged("a", 100))
		r := t.from(q)
		got := r.one("a")
		t.must(r.DeferMessage(t.ctx, got, nil))
		t.advance(200)
		t.equal(bodies(r.deferred(*got.SequenceNumber)), []string{"a"})
	}},

	{"ttl-dead-letter-stays", func(t *ScenarioRun) {
		q := t.plain()
		t.send(q.queue, aged("a", 100))
		r := t.from(q)
		r.deadLetter(r.one("a"), "why", "because")
		t.advance(365 * 24 * 3600)
		t.left(q.deadLetters(), "a")
	}},
}
