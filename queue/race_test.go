package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// TestCompeting lets receivers compete for messages while senders send and locks lapse, and checks that
// each message is completed exactly once.
func TestCompeting(t *testing.T) {
	t.Parallel()
	const senders, each = 3, 60
	w := newTestHost(t, Options{})
	w.queue("q", lockFor(10*time.Second), attempts(1<<30))
	ctx, done := context.WithCancel(t.Context())
	defer done()
	var sending, receiving sync.WaitGroup
	for i := range senders {
		sending.Go(func() {
			for n := range each {
				m := msg(fmt.Sprint(i, ".", n))
				if n%5 == 0 {
					due(time.Duration(n) * 100 * time.Millisecond)(m)
				}
				if err := w.q.Send(ctx, address("q"), []*message.Message{m}, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	c := &competingConsumers{testQueueHost: w, completed: map[string]int{}, left: senders * each, done: done}
	seed := metamorphic.FirstSeed()
	for i := range 6 {
		receiving.Go(func() { c.receive(ctx, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	receiving.Go(func() {
		for at := time.Duration(0); ctx.Err() == nil; at += 500 * time.Millisecond {
			to := start.Add(at)
			w.base.Set(to)
			if at%(5*time.Second) == 0 {
				_, _ = w.h.Instance().SweepNow(ctx)
			}
		}
	})
	sending.Wait()
	receiving.Wait()
	for text, n := range c.completed {
		if n != 1 {
			t.Errorf("%s was completed %d times", text, n)
		}
	}
	w.shows("q", "")
}

type competingConsumers struct {
	*testQueueHost
	mu        sync.Mutex
	completed map[string]int
	left      int
	done      func()
}

// receive receives messages until ctx ends, and settles them in random ways. Some it does not settle, so
// that their locks lapse.
func (c *competingConsumers) receive(ctx context.Context, r *rand.Rand) {
	a := entity.Address{Entity: "q"}
	rec, err := c.q.OpenReceiver(ctx, a, ReceiverOptions{})
	if err != nil {
		c.t.Error(err)
		return
	}
	defer rec.Close()
	for ctx.Err() == nil {
		list, err := rec.Receive(ctx, 1+r.IntN(4))
		if err != nil {
			c.t.Error(err)
			return
		}
		for _, d := range list {
			how := SettlementRequest{Outcome: SettlementOutcome(r.IntN(3))}
			if r.IntN(10) == 0 {
				continue
			}
			err := c.q.Settle(context.Background(), a, d.Token, how, nil)
			if err != nil && entity.ErrorCodeOf(err) != entity.CodeMessageLockLost {
				c.t.Error(err)
			}
			if err == nil && how.Outcome == Complete {
				c.complete(textOf(d))
			}
		}
	}
}

func (c *competingConsumers) complete(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.completed[text]++
	if c.left--; c.left == 0 {
		c.done()
	}
}

// TestIdleReceivers lets 10,000 receivers wait for one message each, sends 50 messages, and checks that
// exactly 50 receivers get one.
func TestIdleReceivers(t *testing.T) {
	t.Parallel()
	receivers := 10_000
	if testing.Short() {
		receivers = 1000
	}
	w := newTestHost(t, Options{})
	w.queue("q")
	ctx, cancel := context.WithCancel(t.Context())
	var got atomic.Int64
	var running sync.WaitGroup
	for range receivers {
		running.Go(func() {
			r, err := w.q.OpenReceiver(
				ctx,
				entity.Address{Entity: "q"},
				ReceiverOptions{Mode: ReceiveAndDelete},
			)
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			list, err := r.Receive(ctx, 1)
			if err != nil {
				t.Error(err)
			}
			if got.Add(int64(len(list))) == 50 {
				cancel()
			}
		})
	}
	waitUntil(w, entity.Address{Entity: "q"})
	for i := range 50 {
		w.send("q", msg(fmt.Sprint(i)))
	}
	running.Wait()
	cancel()
	if got.Load() != 50 {
		t.Fatal(got.Load())
	}
}

// TestOutOfOrderDeadLetters dead-letters messages in random order while other receivers receive and abandon
// dead letters, and checks that these receivers get every dead letter.
func TestOutOfOrderDeadLetters(t *testing.T) {
	t.Parallel()
	const messages, workers = 300, 4
	w := newTestHost(t, Options{})
	w.queue("q", attempts(1))
	w.fill("q", messages)
	dead := entity.Address{Entity: "q", Sub: entity.DeadLetters}
	seed := metamorphic.FirstSeed()
	var working sync.WaitGroup
	for i := range workers {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		working.Go(func() { // kills them out of order
			rec := w.receiver(entity.Address{Entity: "q"}, ReceiverOptions{})
			for {
				list, err := rec.TryReceive(w.ctx, 10)
				if err != nil || len(list) == 0 {
					return
				}
				r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
				for _, d := range list {
					w.settle("q", d, SettlementRequest{Outcome: Abandon})
				}
			}
		})
	}
	var left atomic.Int64
	left.Store(messages)
	ctx, done := context.WithCancel(t.Context())
	for i := range workers {
		r := rand.New(rand.NewPCG(seed, uint64(workers+i)))
		working.Go(func() {
			rec := w.receiver(dead, ReceiverOptions{})
			for ctx.Err() == nil {
				list, err := rec.Receive(ctx, 1+r.IntN(5))
				if err != nil {
					t.Error(err)
					return
				}
				for _, d := range list {
					how := SettlementRequest{Outcome: SettlementOutcome(r.IntN(3))}
					if err := w.q.Settle(w.ctx, dead, d.Token, how, nil); err != nil {
						t.Error(err)
					}
					if how.Outcome == Complete && left.Add(-1) == 0 {
						done()
					}
				}
			}
		})
	}
	working.Wait()
	done()
}
