package main

import (
	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

var restarts = []scenario{
	{"restart-sender", func(t *ScenarioRun) {
		q := t.plain()
		s := t.sender(q.queue)
		t.must(s.SendMessage(t.ctx, m("a"), nil))
		t.restart("kill")
		t.must(s.SendMessage(t.ctx, m("b"), nil))
		t.left(q, "a", "b")
	}},

	{"restart-receiver", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "a", "b")
		r := t.from(q)
		r.complete(r.one("a"))
		t.restart("kill")
		r.complete(r.again("b"))
		t.left(q)
	}},

	{"restart-durable", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, numbered(50)...)
		r := t.from(q)
		for _, m := range r.take(20) {
			r.complete(m)
		}
		t.restart("kill")
		t.left(q, numbered(50)[20:]...)
	}},

	{"restart-locks", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "a")
		r := t.from(q)
		got := r.one("a")
		t.restart("kill")
		t.check(r.CompleteMessage(t.ctx, got, nil) != nil, "completed by a lock from before")
		t.left(q, "a")
	}},

	{"restart-session", func(t *ScenarioRun) {
		q := t.talks()
		t.send(q.queue, in("x", "x1"))
		t.must(t.accept(q, "x").session.SetSessionState(t.ctx, []byte("half"), nil))
		t.restart("kill")
		s := t.acceptAgain(q, "x")
		state, err := s.session.GetSessionState(t.ctx, nil)
		t.must(err)
		t.equal(string(state), "half")
		s.one("x1")
	}},

	{"restart-scheduled", func(t *ScenarioRun) {
		q := t.plain()
		t.scheduled(q.queue, 300, m("a"))
		t.restart("kill")
		t.nothing(q)
		t.advance(301)
		t.left(q, "a")
	}},

	{"restart-entities", func(t *ScenarioRun) {
		q := t.queue(admin.QueueProperties{LockDuration: ptr("PT42S")})
		name := t.name
		t.name += "-topic"
		t.topic(admin.TopicProperties{})
		t.ruled("s", sql("color = 'blue'"), nil)
		t.restart("stop")
		got, err := t.adm.GetQueue(t.ctx, name, nil)
		t.must(err)
		t.equal(*got.LockDuration, "PT42S")
		r, err := t.adm.GetRule(t.ctx, t.name, "s", "s", nil)
		t.must(err)
		t.equal(r.Filter.(*admin.SQLFilter).Expression, "color = 'blue'")
		t.sendBodies(q.queue, "a")
		t.left(q, "a")
	}},

	without("restart-processor", "no processor"),
}

// acceptAgain accepts a session on a connection that was lost. The SDK may report the loss at first; then
// acceptAgain tries once more.
func (t *ScenarioRun) acceptAgain(p messageSource, id string) ScenarioSessionReceiver {
	r, err := t.tryAccept(t.ctx, p, id)
	if err != nil {
		t.refused(err, "connlost")
		return t.accept(p, id)
	}
	t.after = append(t.after, closing(r))
	return ScenarioSessionReceiver{ScenarioReceiver{r, t}, r}
}

// again receives a message with this body by a receiver that has lost its connection. The SDK may report the
// loss first, or return no message; again then repeats the call, up to five times in all.
func (r ScenarioReceiver) again(body string) *sb.ReceivedMessage {
	for range 5 {
		got, err := r.ReceiveMessages(r.t.ctx, 1, nil)
		if err == nil && len(got) == 0 {
			continue // the SDK has connected again, and reports this by an empty result
		}
		if err == nil {
			r.t.equal(bodies(got), []string{body})
			return got[0]
		}
		r.t.refused(err, "connlost")
	}
	r.t.fatalf("no connection again")
	return nil
}
