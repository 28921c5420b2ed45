package main

import (
	"context"
	"time"

	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// ScenarioSessionReceiver is an SDK receiver of one session, with methods that end the scenario if
// something unexpected happens.
type ScenarioSessionReceiver struct {
	ScenarioReceiver
	session *sb.SessionReceiver
}

// talks creates a queue that requires sessions and whose locks last 30 seconds.
func (t *ScenarioRun) talks() messageSource {
	return t.queue(admin.QueueProperties{RequiresSession: ptr(true), LockDuration: ptr("PT30S")})
}

// tryAccept accepts the session with an id, or the next available one if id is "".
func (t *ScenarioRun) tryAccept(ctx context.Context, p messageSource, id string) (*sb.SessionReceiver,
	error) {
	switch {
	case p.sub != "" && id == "":
		return t.client.AcceptNextSessionForSubscription(ctx, p.topic, p.sub, nil)
	case p.sub != "":
		return t.client.AcceptSessionForSubscription(ctx, p.topic, p.sub, id, nil)
	case id == "":
		return t.client.AcceptNextSessionForQueue(ctx, p.queue, nil)
	}
	return t.client.AcceptSessionForQueue(ctx, p.queue, id, nil)
}

func (t *ScenarioRun) accept(p messageSource, id string) ScenarioSessionReceiver {
	ctx, cancel := context.WithTimeout(t.ctx, someTime)
	defer cancel()
	r, err := t.tryAccept(ctx, p, id)
	t.must(err)
	t.after = append(t.after, closing(r))
	return ScenarioSessionReceiver{ScenarioReceiver{r, t}, r}
}

var sessions = []scenario{
	{"session-accept", func(t *ScenarioRun) {
		q := t.talks()
		t.send(q.queue, in("x", "x1"), in("y", "y1"), in("x", "x2"), in("y", "y2"))
		s := t.accept(q, "y")
		t.equal(s.session.SessionID(), "y")
		got := s.take(2)
		t.equal(bodies(got), []string{"y1", "y2"})
		t.equal(*got[0].SessionID, "y")
		s.none()
	}},

	{"session-next", func(t *ScenarioRun) {
		q := t.talks()
		t.send(q.queue, in("x", "x1"), in("y", "y1"))
		for range 2 {
			s := t.accept(q, "")
			s.one(s.session.SessionID() + "1")
		}
	}},

	{"session-next-none", func(t *ScenarioRun) {
		q := t.talks()
		ctx, cancel := context.WithTimeout(t.ctx, 2*time.Second)
		defer cancel()
		_, err := t.tryAccept(ctx, q, "")
		t.refused(err, "timeout", "deadline")
	}},

	{"session-locked", func(t *ScenarioRun) {
		q := t.talks()
		t.accept(q, "x")
		_, err := t.tryAccept(t.ctx, q, "x")
		t.refused(err, "session-cannot-be-locked")
	}},

	{"session-state", func(t *ScenarioRun) {
		q := t.talks()
		s := t.accept(q, "x")
		t.must(s.session.SetSessionState(t.ctx, []byte("half"), nil))
		state, err := s.session.GetSessionState(t.ctx, nil)
		t.must(err)
		t.equal(string(state), "half")
		s.close()
		s = t.accept(q, "x")
		state, err = s.session.GetSessionState(t.ctx, nil)
		t.must(err)
		t.equal(string(state), "half")
		t.must(s.session.SetSessionState(t.ctx, nil, nil))
		state, err = s.session.GetSessionState(t.ctx, nil)
		t.must(err)
		t.check(state == nil, "the state that was cleared is %q", state)
	}},

	{"session-renew", func(t *ScenarioRun) {
		q := t.talks()
		t.send(q.queue, in("x", "x1"))
		s := t.accept(q, "x")
		got := s.one("x1")
		was := s.session.LockedUntil()
		t.advance(20)
		t.must(s.session.RenewSessionLock(t.ctx, nil))
		t.lasts(&was, ptr(s.session.LockedUntil()), 20)
		t.advance(20)
		s.complete(got)
		s.none()
	}},

	{"session-lock-lost", func(t *ScenarioRun) {
		q := t.talks()
		t.send(q.queue, in("x", "x1"))
		s := t.accept(q, "x")
		got := s.one("x1")
		t.advance(31)
		t.refused(s.CompleteMessage(t.ctx, got, nil), "lock")
		s.close() // the SDK may have locked the session again by itself
		t.equal(count(t.accept(q, "x").one("x1")), 1)
	}},

	{"session-close", func(t *ScenarioRun) {
		q := t.talks()
		t.send(q.queue, in("x", "x1"))
		s := t.accept(q, "x")
		s.one("x1")
		s.close()
		t.equal(count(t.accept(q, "x").one("x1")), 0)
	}},

	{"session-abandon", func(t *ScenarioRun) {
		q := t.talks()
		t.send(q.queue, in("x", "x1"), in("x", "x2"))
		s := t.accept(q, "x")
		s.abandon(s.one("x1"))
		t.equal(bodies(s.take(2)), []string{"x1", "x2"})
	}},

	{"session-defer", func(t *ScenarioRun) {
		q := t.talks()
		t.send(q.queue, in("x", "x1"))
		s := t.accept(q, "x")
		got := s.one("x1")
		t.must(s.DeferMessage(t.ctx, got, nil))
		s.close()
		s = t.accept(q, "x")
		s.none()
		again := s.deferred(*got.SequenceNumber)[0]
		t.equal(string(again.Body), "x1")
		s.complete(again)
		t.equal(len(s.peek(1)), 0)
	}},

	{"session-schedule", func(t *ScenarioRun) {
		q := t.talks()
		t.scheduled(q.queue, 300, in("x", "x1"))
		t.advance(301)
		t.accept(q, "x").one("x1")
	}},

	{"session-peek", func(t *ScenarioRun) {
		q := t.talks()
		t.send(q.queue, in("x", "x1"), in("y", "y1"), in("x", "x2"))
		t.equal(bodies(t.accept(q, "x").peek(10)), []string{"x1", "x2"})
	}},

	{"session-required", func(t *ScenarioRun) {
		q := t.talks()
		t.refused(t.trySend(q.queue, m("a")), "session")
		_, err := t.from(q).ReceiveMessages(t.ctx, 1, nil)
		t.refused(err, "session")
	}},

	{"session-not-supported", func(t *ScenarioRun) {
		_, err := t.tryAccept(t.ctx, t.plain(), "x")
		t.refused(err, "session")
	}},

	{"session-subscription", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		p := t.sub("s", admin.SubscriptionProperties{RequiresSession: ptr(true)})
		t.send(t.name, in("x", "x1"))
		s := t.accept(p, "")
		t.equal(s.session.SessionID(), "x")
		s.complete(s.one("x1"))
		s.none()
	}},

	{"session-dead-letter", func(t *ScenarioRun) {
		q := t.talks()
		t.send(q.queue, in("x", "x1"))
		s := t.accept(q, "x")
		s.deadLetter(s.one("x1"), "why", "because")
		got := t.from(q.deadLetters()).one("x1")
		t.equal(*got.SessionID, "x")
		t.equal(*got.DeadLetterReason, "why")
	}},

	{"session-list", func(t *ScenarioRun) {
		q := t.talks()
		t.send(q.queue, in("x", "x1"), in("y", "y1"), in("z", "z1"), in("x", "x2"))
		t.must(t.accept(q, "w").session.SetSessionState(t.ctx, []byte("state alone"), nil))
		seen := map[string]int{}
		for p := t.client.NewListSessionsForQueuePager(q.queue, nil); p.More(); {
			page, err := p.NextPage(t.ctx)
			t.must(err)
			for _, id := range page.Sessions {
				seen[id]++
			}
		}
		t.equal(seen, map[string]int{"w": 1, "x": 1, "y": 1, "z": 1})
	}},

	{"session-locked-until", func(t *ScenarioRun) {
		q := t.talks()
		t.send(q.queue, in("x", "x1"))
		s := t.accept(q, "x")
		got := s.one("x1")
		t.check(got.LockedUntil.UTC().Year() >= 9999, "locked until %v", got.LockedUntil)
		t.must(s.DeferMessage(t.ctx, got, nil))
		again := s.deferred(*got.SequenceNumber)[0]
		t.check(again.LockedUntil.UTC().Year() >= 9999, "locked until %v", again.LockedUntil)
		t.advance(20)
		t.must(s.session.RenewSessionLock(t.ctx, nil))
		t.advance(20)
		s.complete(again)
	}},
}
