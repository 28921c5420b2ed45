package sdktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

const (
	busSenders   = 8
	busReceivers = 4
)

// modelMessage is what the clients of the test know about one message, from the responses of the server.
type modelMessage struct {
	acked     bool // its sender was told that it is stored
	ending    bool // a receiver has asked to complete it
	completed bool // and was told that it is
	holder    int  // the receiver that has its lock since the last start; 0: none
}

// messageObservations is what the clients of the test know about all messages, from the responses of the
// server.
type messageObservations struct {
	mu       sync.Mutex
	messages map[string]*modelMessage
	acks     atomic.Int64
	faults   []string
}

func (l *messageObservations) of(id string) *modelMessage {
	if l.messages[id] == nil {
		l.messages[id] = &modelMessage{}
	}
	return l.messages[id]
}

func (l *messageObservations) change(id string, fn func(*modelMessage)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn(l.of(id))
}

func (l *messageObservations) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// received records that the receiver with number by has received a message. It records a fault if the
// message was completed before, or if another receiver has its lock.
func (l *messageObservations) received(id string, by int) {
	l.change(id, func(m *modelMessage) {
		switch {
		case m.completed:
			l.fault("%s comes back after it was completed", id)
		case m.holder != 0:
			l.fault("%s has come to %d while %d has its lock", id, by, m.holder)
		}
		m.holder = by
	})
}

// TestServiceBusKill9 repeatedly kills the server while clients send and receive. No acknowledged message
// may be lost, no completed one may be received again, and no two receivers may have the lock of one
// message.
func TestServiceBusKill9(t *testing.T) {
	dir := t.TempDir()
	b := startBus(t, "--data", dir)
	b.create(t, "q")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	l := &messageObservations{messages: map[string]*modelMessage{}}
	for round := range busKills {
		b.workAndKill(t, l, round, int64(20+rng.IntN(400)))
		check(t, dir)
		must(t, b.Start(t.Context()))
		for _, m := range l.messages {
			m.holder = 0 // locks do not survive
		}
		if len(l.faults) > 0 {
			t.Fatalf("round %d: %v", round+1, l.faults)
		}
	}
	left := b.drain(t, "q")
	acked, completed := 0, 0
	for id, m := range l.messages {
		n := left[id]
		delete(left, id)
		switch {
		case m.completed && n > 0:
			t.Errorf("%s is there after it was completed", id)
		case m.acked && !m.ending && n != 1, n > 1:
			t.Errorf("%s is there %d times: %+v", id, n, *m)
		}
		if m.acked {
			acked++
		}
		if m.completed {
			completed++
		}
	}
	if len(left) > 0 {
		t.Errorf("nobody sent %v", left)
	}
	t.Logf("%d messages acknowledged, %d completed in %d rounds", acked, completed, busKills)
	must(t, b.Stop())
	check(t, dir)
}

// client returns an SDK client that does not retry failed operations.
func (b serviceBusServer) client(t *testing.T) *sb.Client {
	t.Helper()
	c, err := sb.NewClientFromConnectionString(b.connection(),
		&sb.ClientOptions{RetryOptions: sb.RetryOptions{MaxRetries: -1}})
	must(t, err)
	return c
}

// workAndKill lets clients send, receive and complete messages, and kills the server after the given
// number of acknowledged operations.
func (b serviceBusServer) workAndKill(t *testing.T, l *messageObservations, round int, after int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l.acks.Store(0)
	var killed sync.Once
	var killErr error
	acknowledged := func() {
		if l.acks.Add(1) >= after {
			killed.Do(func() {
				killErr = b.Kill()
				cancel()
			})
		}
	}
	var all sync.WaitGroup
	for i := range busSenders {
		all.Go(func() { b.sendUntilKilled(ctx, t, l, fmt.Sprintf("%d-%d", round, i), acknowledged) })
	}
	for i := range busReceivers {
		all.Go(func() { b.receiveUntilKilled(ctx, t, l, i+1, acknowledged) })
	}
	all.Wait()
	must(t, killErr)
	if b.Running() {
		t.Fatal("the clients ended before the server did")
	}
}

func (b serviceBusServer) sendUntilKilled(ctx context.Context, t *testing.T, l *messageObservations,
	name string,
	acknowledged func()) {
	c := b.client(t)
	defer c.Close(context.WithoutCancel(ctx))
	s, err := c.NewSender("q", nil)
	if err != nil {
		t.Error(err)
		return
	}
	for n := 0; ; n++ {
		id := fmt.Sprintf("%s-%d", name, n)
		l.change(id, func(*modelMessage) {})
		if err := s.SendMessage(ctx, &sb.Message{MessageID: &id, Body: make([]byte, 1024)}, nil); err != nil {
			return
		}
		l.change(id, func(m *modelMessage) { m.acked = true })
		acknowledged()
	}
}

func (b serviceBusServer) receiveUntilKilled(ctx context.Context, t *testing.T, l *messageObservations,
	number int,
	acknowledged func()) {
	c := b.client(t)
	defer c.Close(context.WithoutCancel(ctx))
	r, err := c.NewReceiverForQueue("q", nil)
	if err != nil {
		t.Error(err)
		return
	}
	for {
		list, err := r.ReceiveMessages(ctx, 10, nil)
		for _, m := range list {
			l.received(m.MessageID, number)
		}
		if err != nil {
			return
		}
		for i, m := range list {
			if i%3 == 2 {
				continue // it keeps the lock until the kill
			}
			l.change(m.MessageID, func(m *modelMessage) { m.ending = true })
			if err := r.CompleteMessage(ctx, m, nil); err != nil {
				return
			}
			l.change(m.MessageID, func(m *modelMessage) { m.completed, m.holder = true, 0 })
			acknowledged()
		}
	}
}

// drain receives and deletes all messages of a queue, and returns how often each message id occurred. It
// gets the number of messages from the queue's properties, since a receive that returns nothing may only
// mean that the machine is busy.
func (b serviceBusServer) drain(t *testing.T, queue string) map[string]int {
	t.Helper()
	c := b.client(t)
	defer c.Close(t.Context())
	r, err := c.NewReceiverForQueue(queue, &sb.ReceiverOptions{ReceiveMode: sb.ReceiveModeReceiveAndDelete})
	must(t, err)
	p, err := b.administrator(t).GetQueueRuntimeProperties(t.Context(), queue, nil)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	left := map[string]int{}
	for n := int(p.ActiveMessageCount); n > 0; {
		list, err := r.ReceiveMessages(ctx, min(n, 500), nil)
		must(t, err)
		n -= len(list)
		if !slices.IsSortedFunc(list, func(a, b *sb.ReceivedMessage) int { return int(*a.SequenceNumber - *b.SequenceNumber) }) {
			t.Error("messages come out of order")
		}
		for _, m := range list {
			left[m.MessageID]++
		}
	}
	return left
}
