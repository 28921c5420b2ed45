package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

var sending = []scenario{
	{"send-receive", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "hello")
		r := t.from(q)
		got := r.one("hello")
		t.equal(*got.SequenceNumber, 1)
		t.equal(count(got), 0)
		t.equal(got.State, sb.MessageStateActive)
		t.lasts(got.EnqueuedTime, got.LockedUntil, 60)
		t.check(time.Since(*got.EnqueuedTime).Abs() < time.Minute, "enqueued %v", got.EnqueuedTime)
		r.complete(got)
		t.left(q)
	}},

	{"send-properties", func(t *ScenarioRun) {
		q := t.plain()
		t.send(q.queue, &sb.Message{
			Body: []byte("b"), MessageID: ptr("id-1"), Subject: ptr("greeting"), CorrelationID: ptr("c-1"),
			To: ptr("somebody"), ReplyTo: ptr("answers"), ReplyToSessionID: ptr("rs"),
			ContentType: ptr("text/plain"), PartitionKey: ptr("pk"),
		})
		got := t.from(q).one("b")
		t.equal(got.MessageID, "id-1")
		t.equal(*got.Subject, "greeting")
		t.equal(*got.CorrelationID, "c-1")
		t.equal(*got.To, "somebody")
		t.equal(*got.ReplyTo, "answers")
		t.equal(*got.ReplyToSessionID, "rs")
		t.equal(*got.ContentType, "text/plain")
		t.equal(*got.PartitionKey, "pk")
	}},

	{"send-application-properties", func(t *ScenarioRun) {
		q := t.plain()
		moment := time.UnixMilli(1700000000123).UTC()
		want := map[string]any{
			"text": "ä€😀", "empty": "", "int": int64(1) << 53, "small": int32(-7), "fraction": 0.1,
			"yes": true, "no": false, "moment": moment, "bytes": []byte{0, 255},
			"big": uint64(math.MaxUint64), "a name with blanks": "1", "größe": "2",
		}
		t.send(q.queue, &sb.Message{Body: []byte("b"), ApplicationProperties: want})
		got := t.from(q).one("b").ApplicationProperties
		t.equal(len(got), len(want))
		for name, w := range want {
			switch g := got[name].(type) {
			case []byte:
				t.equal(g, w)
			case time.Time:
				t.check(g.Equal(moment), "%v", g)
			default:
				t.check(g == w, "%s: %T %v is not %T %v", name, g, g, w, w)
			}
		}
	}},

	{"send-empty", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "")
		t.left(q, "")
	}},

	{"send-binary", func(t *ScenarioRun) {
		q := t.plain()
		body := make([]byte, 1024)
		for i := range body {
			body[i] = byte(i)
		}
		t.send(q.queue, &sb.Message{Body: body})
		t.check(bytes.Equal(t.from(q).take(1)[0].Body, body), "another body")
	}},

	{"send-large", func(t *ScenarioRun) {
		q := t.plain()
		body := strings.Repeat("0123456789", 20<<10)
		t.sendBodies(q.queue, body)
		t.left(q, body)
	}},

	{"send-too-large", func(t *ScenarioRun) {
		q := t.plain()
		t.refused(t.trySend(q.queue, m(strings.Repeat("x", 300<<10))), "too large")
		t.left(q)
	}},

	{"send-without-id", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "a", "b")
		got := t.from(q).take(2)
		t.check(got[0].MessageID != "" && got[1].MessageID != "" && got[0].MessageID != got[1].MessageID,
			"ids %q and %q", got[0].MessageID, got[1].MessageID)
	}},

	{"send-concurrent", func(t *ScenarioRun) {
		q := t.plain()
		s := t.sender(q.queue)
		var all sync.WaitGroup
		errs := make([]error, 100)
		want := make([]string, 100)
		for i := range errs {
			want[i] = fmt.Sprintf("m%02d", i)
			all.Go(func() { errs[i] = s.SendMessage(t.ctx, m(want[i]), nil) })
		}
		all.Wait()
		t.must(errors.Join(errs...))
		t.leftInAnyOrder(q, want...)
	}},

	{"send-value-body", func(t *ScenarioRun) {
		q := t.plain()
		s := t.sender(q.queue)
		for _, body := range []sb.AMQPAnnotatedMessageBody{
			{Value: "plain text"}, {Sequence: [][]any{{int64(1), "two", true}}},
		} {
			t.must(s.SendAMQPAnnotatedMessage(t.ctx, &sb.AMQPAnnotatedMessage{Body: body}, nil))
		}
		got := t.from(q).take(2)
		t.equal(got[0].RawAMQPMessage.Body.Value, "plain text")
		t.equal(got[1].RawAMQPMessage.Body.Sequence, [][]any{{1, "two", true}})
	}},

	{"send-annotated", func(t *ScenarioRun) {
		q := t.plain()
		t.must(t.sender(q.queue).SendAMQPAnnotatedMessage(t.ctx, &sb.AMQPAnnotatedMessage{
			Header:              &sb.AMQPAnnotatedMessageHeader{Durable: true, Priority: 7},
			DeliveryAnnotations: map[any]any{"x-opt-hop": "one"},
			MessageAnnotations:  map[any]any{"x-opt-mine": "two"},
			Footer:              map[any]any{"x-opt-sum": "three"},
			Body:                sb.AMQPAnnotatedMessageBody{Data: [][]byte{[]byte("b")}},
		}, nil))
		got := t.from(q).one("b").RawAMQPMessage
		t.check(got.Header.Durable && got.Header.Priority == 7 && !got.Header.FirstAcquirer,
			"the header is %+v", got.Header)
		t.equal(got.DeliveryAnnotations["x-opt-hop"], "one")
		t.check(got.DeliveryAnnotations["x-opt-lock-token"] != nil, "no lock token")
		t.equal(got.MessageAnnotations["x-opt-mine"], "two")
		t.equal(got.Footer["x-opt-sum"], "three")
	}},

	{"send-again", func(t *ScenarioRun) {
		q := t.plain()
		t.send(q.queue, &sb.Message{Body: []byte("b"), MessageID: ptr("id-1"), PartitionKey: ptr("pk"),
			ApplicationProperties: MessageProperties{"step": "one"}})
		r := t.from(q)
		was := r.one("b")
		r.complete(was)
		t.send(q.queue, was.Message())
		got := r.one("b")
		t.equal(got.MessageID, "id-1")
		t.equal(*got.PartitionKey, "pk")
		t.equal(got.ApplicationProperties, MessageProperties{"step": "one"})
		t.equal(*got.SequenceNumber, 2)
	}},

	{"batch-send", func(t *ScenarioRun) {
		q := t.plain()
		s := t.sender(q.queue)
		b, err := s.NewMessageBatch(t.ctx, nil)
		t.must(err)
		want := numbered(20)
		for _, body := range want {
			t.must(b.AddMessage(m(body), nil))
		}
		t.equal(b.NumMessages(), 20)
		t.must(s.SendMessageBatch(t.ctx, b, nil))
		t.left(q, want...)
	}},

	without("batch-list", "no call that sends a list"),

	{"batch-full", func(t *ScenarioRun) {
		q := t.plain()
		s := t.sender(q.queue)
		b, err := s.NewMessageBatch(t.ctx, nil)
		t.must(err)
		body := strings.Repeat("x", 50<<10)
		var added []string
		for err == nil {
			if err = b.AddMessage(m(body), nil); err == nil {
				added = append(added, body)
			}
			t.check(len(added) <= 20, "a batch without an end")
		}
		t.check(errors.Is(err, sb.ErrMessageTooLarge), "%v", err)
		t.check(len(added) >= 4, "%d went in", len(added))
		t.must(s.SendMessageBatch(t.ctx, b, nil))
		t.left(q, added...)
	}},

	{"receive-several", func(t *ScenarioRun) {
		q := t.plain()
		want := numbered(10)
		t.sendBodies(q.queue, want...)
		r := t.from(q)
		var got []*sb.ReceivedMessage
		for len(got) < 10 {
			some, err := r.ReceiveMessages(t.ctx, min(4, 10-len(got)), together)
			t.must(err)
			t.check(len(some) >= 1 && len(some) <= 4, "%d at once", len(some))
			got = append(got, some...)
		}
		t.equal(bodies(got), want)
		for i, m := range got {
			t.equal(*m.SequenceNumber, i+1)
		}
	}},

	{"receive-waits", func(t *ScenarioRun) {
		q := t.plain()
		r := t.from(q)
		done := make(chan error)
		go func() {
			time.Sleep(shortly)
			done <- t.trySend(q.queue, m("late"))
		}()
		got := r.take(1)[0]
		t.must(<-done)
		t.equal(string(got.Body), "late")
	}},

	{"receive-nothing", func(t *ScenarioRun) { t.nothing(t.plain()) }},

	{"receive-and-delete", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "once")
		r := t.deleting(q)
		got := r.one("once")
		t.check(r.CompleteMessage(t.ctx, got, nil) != nil, "completed what is deleted")
		t.left(q)
	}},

	{"receive-competing", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "a", "b")
		first, second := t.from(q), t.from(q)
		first.one("a")
		second.one("b")
		second.none()
	}},

	without("receive-iterate", "no iterator"),
}

// numbered returns n bodies: m00, m01 and so on.
func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("m%02d", i))
	}
	return all
}
