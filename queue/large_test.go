package queue

import (
	"bytes"
	"testing"

	"github.com/mayflydb/mayfly/queue/message"
)

// TestLargeMessages: a message of 20 MB is published to several subscriptions, received, dead-lettered and
// received again, whole.
func TestLargeMessages(t *testing.T) {
	w := newWorld(t, Options{})
	p := Defaults(Topic)
	p.MaxMessageKB = maxMessageKB
	w.create(Topic, "t", p)
	for _, s := range []string{"a", "b"} {
		w.create(Subscription, "t/Subscriptions/"+s, Defaults(Subscription))
	}
	body := bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16)
	w.must(w.q.Send(w.ctx, "t", []*message.Message{message.New(body)}, nil))
	w.must(w.q.Send(w.ctx, "t", []*message.Message{message.New(body[:17<<20])}, nil))
	w.sweep()
	whole := func(address string) Delivery {
		t.Helper()
		a, _, err := ParseAddress(address)
		w.must(err)
		r, err := w.q.OpenReceiver(w.ctx, a, ReceiverOptions{})
		w.must(err)
		defer r.Close()
		list, err := r.TryReceive(w.ctx, 1)
		w.must(err)
		if len(list) != 1 {
			t.Fatalf("%s has no message", address)
		}
		if data, _ := list[0].Message.Data(); !bytes.Equal(data, body) {
			t.Fatalf("%s: %d bytes of %d, or others", address, len(data), len(body))
		}
		return list[0]
	}
	for _, s := range []string{"a", "b"} {
		d := whole("t/Subscriptions/" + s)
		a, _, err := ParseAddress("t/Subscriptions/" + s)
		w.must(err)
		w.must(w.q.Settle(w.ctx, a, d.Token, Settlement{Outcome: DeadLetter}, nil))
		whole("t/Subscriptions/" + s + "/$DeadLetterQueue")
	}
	tx, err := w.q.Begin(w.ctx)
	w.must(err)
	w.must(w.q.Send(w.ctx, "t", []*message.Message{message.New(make([]byte, 60<<20))}, tx))
	err = w.q.Send(w.ctx, "t", []*message.Message{message.New(make([]byte, 60<<20))}, tx)
	if CodeOf(err) != CodeQuotaExceeded {
		t.Errorf("a transaction of 120 MB: %v", err)
	}
	tx.Rollback()
}
