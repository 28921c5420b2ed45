package queue

import (
	"bytes"
	"context"
	"testing"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// TestLargeMessages publishes a message of 20 MB to two subscriptions, receives it, dead-letters it and
// receives it again, and checks that its body is unchanged.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	p := entity.Defaults(entity.Topic)
	p.MaxMessageKB = entity.MaxMessageKB
	w.create(entity.Topic, "t", p)
	for _, s := range []string{"a", "b"} {
		w.create(entity.Subscription, "t/Subscriptions/"+s, entity.Defaults(entity.Subscription))
	}
	body := bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16)
	w.must(w.q.Send(w.ctx, address("t"), []*message.Message{message.New(body)}, nil))
	w.must(w.q.Send(w.ctx, address("t"), []*message.Message{message.New(body[:17<<20])}, nil))
	w.sweep()
	whole := func(address string) Delivery {
		t.Helper()
		a, _, err := entity.ParseAddress(address)
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
		a, _, err := entity.ParseAddress("t/Subscriptions/" + s)
		w.must(err)
		w.must(w.q.Settle(w.ctx, a, d.Token, SettlementRequest{Outcome: DeadLetter}, nil))
		whole("t/Subscriptions/" + s + "/$DeadLetterQueue")
	}
	tx, err := w.q.Begin(w.ctx)
	w.must(err)
	w.must(
		w.q.Send(
			w.ctx,
			address("t"),
			[]*message.Message{message.New(make([]byte, 60<<20))},
			tx,
		),
	)
	err = w.q.Send(
		w.ctx,
		address("t"),
		[]*message.Message{message.New(make([]byte, 60<<20))},
		tx,
	)
	if entity.ErrorCodeOf(err) != entity.CodeQuotaExceeded {
		t.Errorf("a transaction of 120 MB: %v", err)
	}
	tx.Rollback()
}

// fakeMemoryLimit is a MemoryLimiter for tests. free is the number of bytes that are available; waited
// counts the calls of TakeLarge.
type fakeMemoryLimit struct{ free, waited int64 }

func (s *fakeMemoryLimit) TryTake(n int64) bool {
	if n > s.free {
		return false
	}
	s.free -= n
	return true
}

func (s *fakeMemoryLimit) Give(n int64) { s.free += n }

// TakeLarge takes n bytes at once, even if fewer are free, and counts the call.
func (s *fakeMemoryLimit) TakeLarge(_ context.Context, n int64) error {
	s.waited++
	s.free -= n
	return nil
}

func (s *fakeMemoryLimit) GiveLarge(n int64) { s.free += n }

// TestReceiveMemoryLimit checks that received messages count against the memory limit of their receiver until
// they are released, that a receive returns only as many messages as fit, and that a message larger than
// the limit is received alone.
func TestReceiveMemoryLimit(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.create(entity.Queue, "q", entity.Defaults(entity.Queue))
	for range 5 {
		w.must(
			w.q.Send(
				w.ctx,
				address("q"),
				[]*message.Message{message.New(make([]byte, 10_000))},
				nil,
			),
		)
	}
	room := &fakeMemoryLimit{free: 35_000}
	r, err := w.q.OpenReceiver(w.ctx, entity.Address{Entity: "q"}, ReceiverOptions{Memory: room})
	w.must(err)
	defer r.Close()
	receive := func(want int) []Delivery {
		t.Helper()
		list, err := r.Receive(w.ctx, 10)
		w.must(err)
		if len(list) != want {
			t.Fatalf("%d messages are received, not %d", len(list), want)
		}
		return list
	}
	first := receive(3)
	if room.free > 5000 {
		t.Errorf("%d bytes are free", room.free)
	}
	second := receive(1)
	if room.waited != 1 {
		t.Errorf("it has waited %d times", room.waited)
	}
	for _, list := range [][]Delivery{first, second} {
		for i := range list {
			list[i].Release()
			list[i].Release()
		}
	}
	if room.free != 35_000 {
		t.Errorf("%d bytes are free, not all", room.free)
	}
	room.free = 10
	last := receive(1)
	last[0].Release()
	if room.free != 10 {
		t.Errorf("%d bytes are free, not 10", room.free)
	}
}
