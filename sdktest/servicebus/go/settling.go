package main

import (
	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

var peeking = []scenario{
	{"peek-order", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, numbered(5)...)
		r := t.from(q)
		t.equal(bodies(r.peek(5)), numbered(5))
		for _, m := range r.take(5) {
			t.equal(count(m), 0)
		}
	}},

	{"peek-from", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, numbered(5)...)
		third := &sb.PeekMessagesOptions{FromSequenceNumber: ptr(int64(3))}
		got, err := t.from(q).PeekMessages(t.ctx, 10, third)
		t.must(err)
		t.equal(bodies(got), numbered(5)[2:])
	}},

	{"peek-continues", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, numbered(30)...)
		r := t.from(q)
		var all []*sb.ReceivedMessage
		for range 30 {
			some := r.peek(10)
			if len(some) == 0 {
				break
			}
			all = append(all, some...)
		}
		t.equal(bodies(all), numbered(30))
		t.equal(len(r.peek(10)), 0)
	}},

	{"peek-states", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "deferred", "locked", "active")
		r := t.from(q)
		t.must(r.DeferMessage(t.ctx, r.one("deferred"), nil))
		r.one("locked")
		_, err := t.sender(q.queue).ScheduleMessages(t.ctx, []*sb.Message{m("scheduled")}, later(300), nil)
		t.must(err)
		states := map[string]sb.MessageState{}
		for _, m := range t.from(q).peek(10) {
			states[string(m.Body)] = m.State
		}
		t.equal(states, map[string]sb.MessageState{
			"deferred": sb.MessageStateDeferred, "locked": sb.MessageStateActive,
			"active": sb.MessageStateActive, "scheduled": sb.MessageStateScheduled,
		})
	}},

	{"peek-nothing", func(t *ScenarioRun) { t.equal(len(t.from(t.plain()).peek(5)), 0) }},

	{"peek-dead-letters", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "bad")
		r := t.from(q)
		r.deadLetter(r.one("bad"), "why", "because")
		got := t.from(q.deadLetters()).peek(1)[0]
		t.equal(*got.DeadLetterReason, "why")
		t.equal(*got.DeadLetterErrorDescription, "because")
	}},
}

var settling = []scenario{
	{"complete", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "a", "b", "c")
		r := t.from(q)
		got := r.take(3)
		r.complete(got[1])
		r.abandon(got[0])
		r.abandon(got[2])
		t.left(q, "a", "c")
	}},

	without("complete-twice", "takes a settled message as settled again, without asking"),

	{"abandon", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "a", "b")
		r := t.from(q)
		r.abandon(r.one("a"))
		t.equal(count(r.one("a")), 1)
	}},

	{"abandon-properties", func(t *ScenarioRun) {
		q := t.plain()
		t.send(q.queue, props("a", MessageProperties{"x": "old", "z": "kept"}))
		r := t.from(q)
		t.must(r.AbandonMessage(t.ctx, r.one("a"), &sb.AbandonMessageOptions{
			PropertiesToModify: map[string]any{"x": "new", "y": 5}}))
		t.equal(r.one("a").ApplicationProperties, map[string]any{"x": "new", "y": 5, "z": "kept"})
	}},

	{"abandon-last", func(t *ScenarioRun) {
		q := t.queue(admin.QueueProperties{MaxDeliveryCount: ptr(int32(3))})
		t.sendBodies(q.queue, "a")
		r := t.from(q)
		for i := range 3 {
			got := r.one("a")
			t.equal(count(got), i)
			r.abandon(got)
		}
		t.nothing(q)
		t.equal(*t.from(q.deadLetters()).one("a").DeadLetterReason, "MaxDeliveryCountExceeded")
	}},

	{"defer", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "a")
		r := t.from(q)
		got := r.one("a")
		t.must(r.DeferMessage(t.ctx, got, nil))
		t.nothing(q)
		t.equal(r.peek(1)[0].State, sb.MessageStateDeferred)
		again := r.deferred(*got.SequenceNumber)[0]
		t.equal(string(again.Body), "a")
		t.equal(count(again), 1)
		t.equal(again.State, sb.MessageStateDeferred)
		r.complete(again)
		t.equal(len(t.from(q).peek(1)), 0)
	}},

	{"defer-properties", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "a")
		r := t.from(q)
		got := r.one("a")
		step := MessageProperties{"step": "one"}
		t.must(r.DeferMessage(t.ctx, got, &sb.DeferMessageOptions{PropertiesToModify: step}))
		t.equal(r.deferred(*got.SequenceNumber)[0].ApplicationProperties, step)
	}},

	{"defer-abandon", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "a")
		r := t.from(q)
		got := r.one("a")
		t.must(r.DeferMessage(t.ctx, got, nil))
		r.abandon(r.deferred(*got.SequenceNumber)[0])
		t.nothing(q)
		t.equal(count(r.deferred(*got.SequenceNumber)[0]), 2)
	}},

	{"defer-last", func(t *ScenarioRun) {
		q := t.queue(admin.QueueProperties{MaxDeliveryCount: ptr(int32(1))})
		t.sendBodies(q.queue, "a")
		r := t.from(q)
		t.must(r.DeferMessage(t.ctx, r.one("a"), nil))
		t.equal(len(r.peek(1)), 0)
		t.equal(*t.from(q.deadLetters()).one("a").DeadLetterReason, "MaxDeliveryCountExceeded")
	}},

	{"defer-deleted", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "a")
		r := t.from(q)
		got := r.one("a")
		t.must(r.DeferMessage(t.ctx, got, nil))
		t.equal(bodies(t.deleting(q).deferred(*got.SequenceNumber)), []string{"a"})
		t.equal(len(t.from(q).peek(1)), 0)
	}},

	{"defer-unknown", func(t *ScenarioRun) {
		_, err := t.from(t.plain()).ReceiveDeferredMessages(t.ctx, []int64{4711}, nil)
		t.refused(err, "notfound", "not-found", "404")
	}},

	{"dead-letter", func(t *ScenarioRun) {
		q := t.plain()
		t.send(q.queue, &sb.Message{Body: []byte("bad"), MessageID: ptr("id-1")})
		r := t.from(q)
		was := r.one("bad")
		r.deadLetter(was, "why", "because")
		t.left(q)
		got := t.from(q.deadLetters()).one("bad")
		t.equal(*got.DeadLetterReason, "why")
		t.equal(*got.DeadLetterErrorDescription, "because")
		t.equal(got.MessageID, "id-1")
		t.equal(*got.SequenceNumber, *was.SequenceNumber)
	}},

	{"dead-letter-properties", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "bad")
		r := t.from(q)
		t.must(r.DeadLetterMessage(t.ctx, r.one("bad"), &sb.DeadLetterOptions{
			Reason: ptr("why"), PropertiesToModify: map[string]any{"seen": "yes"}}))
		t.equal(t.from(q.deadLetters()).one("bad").ApplicationProperties["seen"], "yes")
	}},

	{"dead-letter-plain", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "bad")
		r := t.from(q)
		t.must(r.DeadLetterMessage(t.ctx, r.one("bad"), nil))
		got := t.from(q.deadLetters()).one("bad")
		reason := got.DeadLetterReason
		t.check(reason == nil || *reason == "", "a reason: %v", reason)
	}},

	{"dead-letter-abandon", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "bad")
		r := t.from(q)
		r.deadLetter(r.one("bad"), "why", "because")
		dead := t.from(q.deadLetters())
		for range 12 {
			dead.abandon(dead.one("bad"))
		}
		t.left(q.deadLetters(), "bad")
	}},

	{"dead-letter-resubmit", func(t *ScenarioRun) {
		q := t.plain()
		t.send(q.queue, &sb.Message{Body: []byte("retry"), MessageID: ptr("id-1")})
		r := t.from(q)
		r.deadLetter(r.one("retry"), "why", "because")
		dead := t.from(q.deadLetters())
		got := dead.one("retry")
		t.send(q.queue, got.Message())
		dead.complete(got)
		t.equal(r.one("retry").MessageID, "id-1")
		t.left(q.deadLetters())
	}},

	{"dead-letter-subscription", func(t *ScenarioRun) {
		s := t.topic(admin.TopicProperties{}, "s")[0]
		t.sendBodies(t.name, "bad")
		r := t.from(s)
		r.deadLetter(r.one("bad"), "why", "because")
		t.equal(*t.from(s.deadLetters()).one("bad").DeadLetterReason, "why")
	}},
}
