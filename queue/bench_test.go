package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// fill sends n messages to a queue, up to 500 per call of Send. The functions in set change each message.
func (w *testQueueHost) fill(queue string, n int, set ...func(*message.Message)) {
	w.t.Helper()
	const some = 500
	for sent := 0; sent < n; sent += some {
		var list []*message.Message
		for i := range min(some, n-sent) {
			list = append(list, msg(fmt.Sprint(sent+i), set...))
		}
		w.send(queue, list...)
	}
}

// TestMemoryOfLargeQueue receives from a queue with many messages, and checks that the numbers of claims and
// timers in memory stay small.
func TestMemoryOfLargeQueue(t *testing.T) {
	t.Parallel()
	const many = metamorphic.QueueMessages
	w := newTestHost(t, Options{})
	w.queue("q", lockFor(10*time.Second), func(p *entity.Properties) { p.MaxMessageKB = 1024 })
	w.fill("q", many, lives(time.Hour))
	r := w.receiver(entity.Address{Entity: "q"}, ReceiverOptions{})
	s, err := w.q.store(w.ctx, entity.Address{Entity: "q"})
	w.must(err)
	for range many / 250 {
		list, err := r.TryReceive(w.ctx, 250)
		w.must(err)
		for _, d := range list[:len(list)/2] {
			w.settle("q", d, SettlementRequest{Outcome: Release})
		}
		w.base.Advance(10 * time.Second)
		s.mu.Lock()
		claims, due := len(s.claims), len(s.due)
		s.mu.Unlock()
		if claims > 300 || due > 300 {
			t.Fatal(claims, due)
		}
	}
}

func BenchmarkSend(b *testing.B) {
	w := newWorldOn(b, testdisk.NewCrashable(b), Options{})
	w.queue("q")
	for i := range b.N {
		w.send("q", msg(fmt.Sprint(i)))
	}
}

func BenchmarkSendParallel(b *testing.B) {
	w := newWorldOn(b, testdisk.NewCrashable(b), Options{})
	w.queue("q")
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := w.q.Send(w.ctx, address("q"), []*message.Message{msg("A")}, nil); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkReceive measures receiving and completing one message at a time from a queue with 1,000 or
// 100,000 messages, half of which another receiver has locked.
func BenchmarkReceive(b *testing.B) {
	for _, many := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			w := newWorldOn(b, testdisk.NewCrashable(b), Options{})
			w.queue("q", lockFor(5*time.Minute))
			w.fill("q", many+b.N)
			a := entity.Address{Entity: "q"}
			other := w.receiver(a, ReceiverOptions{})
			for got := 0; got < many/2; {
				list, err := other.TryReceive(w.ctx, 250)
				w.must(err)
				got += len(list)
			}
			r := w.receiver(a, ReceiverOptions{})
			b.ResetTimer()
			for range b.N {
				list, err := r.TryReceive(w.ctx, 1)
				if err != nil || len(list) != 1 {
					b.Fatal(len(list), err)
				}
				w.settle("q", list[0], SettlementRequest{Outcome: Complete})
			}
		})
	}
}
