package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	raw "github.com/cockroachdb/pebble/v2"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/store"
)

// benchQueue is the name of the queue that the section uses.
const benchQueue = "q"

// mayflyQueue is Mayfly's side of the comparisons of measureQueue: a store with a queue, and a receiver
// of the queue.
type mayflyQueue struct {
	db     *store.DB
	queues *queue.Queues
	from   *queue.Receiver
}

func (b *BenchmarkRun) openQueue(ctx context.Context, o storeOpenOptions) (s mayflyQueue, err error) {
	s.queues = queue.New(queue.Options{})
	o.queues = s.queues
	if s.db, _, err = b.open(ctx, o); err != nil {
		return s, err
	}
	p := s.queues.Completed(entity.Queue, entity.Properties{})
	if _, err = s.queues.Create(ctx, entity.Queue, benchQueue, p); err == nil {
		s.from, err = s.queues.OpenReceiver(ctx, entity.Address{Entity: benchQueue}, queue.ReceiverOptions{})
	}
	if err != nil {
		return s, errors.Join(err, s.db.Close())
	}
	return s, nil
}

// pingPong sends a message, receives one and completes it.
func (s *mayflyQueue) pingPong(ctx context.Context, text []byte) error {
	a := entity.Address{Entity: benchQueue}
	if err := s.queues.Send(ctx, a, []*message.Message{message.New(text)}, nil); err != nil {
		return err
	}
	list, err := s.from.Receive(ctx, 1)
	if err != nil {
		return err
	}
	for _, d := range list {
		done := queue.SettlementRequest{Outcome: queue.Complete}
		if err := s.queues.Settle(ctx, a, d.Token, done, nil); err != nil {
			return err
		}
	}
	return nil
}

// measureQueue compares sending, receiving and completing messages with the same durable batches in bare
// Pebble.
func (b *BenchmarkRun) measureQueue(ctx context.Context) error {
	b.report.begin("queue", fmt.Sprintf(
		"messages of %d bytes: send, receive with a lock, complete, each durable; "+
			"against batches of the same keys", benchDocBytes),
		"raw batches")
	for _, clients := range []int{1, 16, 64} {
		if err := b.measurePingPong(ctx, clients); err != nil {
			return err
		}
	}
	return nil
}

func (b *BenchmarkRun) measurePingPong(ctx context.Context, clients int) (err error) {
	dir, bareDir := b.path("queue"), b.path("queue-raw")
	defer drop(dir, bareDir)
	ours, err := b.openQueue(ctx, storeOpenOptions{engine: pebble.Options{Dir: dir}})
	if err != nil {
		return err
	}
	defer closing(ours.db, &err)
	var rec *recordingEngine
	twin, err := b.openQueue(ctx, storeOpenOptions{engine: pebble.Options{Memory: true},
		wrap: func(e *pebble.Engine) engine.Engine {
			rec = &recordingEngine{Engine: e}
			return rec
		}})
	if err != nil {
		return err
	}
	defer closing(twin.db, &err)
	bare, err := newRaw(ctx, bareDir)
	if err != nil {
		return err
	}
	defer closing(bare, &err)
	p := &sendReceiveComparison{b: b, clients: clients, size: 4 * clients, ours: &ours, bare: bare,
		text: newDocument(0).json()}
	rec.take()
	const recorded = 64
	for range recorded {
		if err := twin.pingPong(ctx, p.text); err != nil {
			return err
		}
	}
	p.txns = rec.take()
	p.each = max(len(p.txns)/recorded, 1)
	d, err := b.compare(ctx, fmt.Sprintf("messages: %d clients", clients),
		func() (int, time.Duration, error) { return p.runMayfly(ctx) },
		func() (int, time.Duration, error) { return p.runBaseline(ctx) })
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d clients", clients)
	if clients == 1 {
		name = "1 client"
	}
	b.report.add(d.rate(name, nil).with(d.costs().with(p.took)))
	return nil
}

// sendReceiveComparison is the state of one comparison of sending, receiving and completing messages in
// Mayfly with the same durable batches in bare Pebble. In a ping-pong, a message is sent, received and
// completed.
type sendReceiveComparison struct {
	b       *BenchmarkRun
	clients int
	size    int // messages of a slice
	ours    *mayflyQueue
	bare    *raw.DB
	text    []byte
	txns    [][]byte // transactions of recorded messages; each message has the same number of them
	each    int
	took    latencies
}

// runMayfly sends, receives and completes the messages of one slice, a short part of the measurement. It
// returns the number of messages and the time that they took together.
func (p *sendReceiveComparison) runMayfly(ctx context.Context) (int, time.Duration, error) {
	times := make(latencies, p.size)
	began := p.b.clock.Now()
	err := workers(ctx, p.clients, 0, p.size, func(i int) error {
		from := p.b.clock.Now()
		err := p.ours.pingPong(ctx, p.text)
		times[i] = p.b.clock.Now().Sub(from)
		return err
	})
	took := p.b.clock.Now().Sub(began)
	p.took = append(p.took, times...)
	return p.size, took, err
}

// runBaseline writes to bare Pebble the transactions that Mayfly's store writes for the messages of one
// slice. From the time that this took, it computes the number of messages of the next slice.
func (p *sendReceiveComparison) runBaseline(ctx context.Context) (int, time.Duration, error) {
	began := p.b.clock.Now()
	err := workers(ctx, p.clients, 0, p.size, func(i int) error {
		for k := range p.each {
			if err := replay(p.bare, p.txns[(i*p.each+k)%len(p.txns)], raw.Sync); err != nil {
				return err
			}
		}
		return nil
	})
	took := p.b.clock.Now().Sub(began)
	done := p.size
	fitting := float64(p.size) * p.b.sliceTime().Seconds() / max(took.Seconds(), 1e-6)
	p.size = min(max(int(fitting), 4*p.clients), 20_000)
	return done, took, err
}
