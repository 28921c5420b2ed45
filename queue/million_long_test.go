//go:build long

package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/ttl"
)

// TestMillionScheduled schedules a million messages for the same second, and checks that all of them
// become active at that time, in the order of their sequence numbers, and none before.
func TestMillionScheduled(t *testing.T) {
	t.Parallel()
	const many, batch = 1_000_000, 1000
	w := newTestHost(t, Options{})
	w.queue("q", func(p *entity.Properties) { p.MaxSizeMB = 5120 })
	wall := ttl.SystemClock{}
	began := wall.Now()
	for i := 0; i < many; i += batch {
		list := make([]*message.Message, batch)
		for j := range list {
			list[j] = msg(fmt.Sprint(i+j), due(time.Hour))
		}
		_, err := w.q.Schedule(w.ctx, address("q"), list, nil)
		w.must(err)
	}
	scheduled := wall.Now()
	e, err := w.q.Get(w.ctx, "q")
	w.must(err)
	early := w.take(entity.Address{Entity: "q"}, ReceiverOptions{Mode: ReceiveAndDelete})
	if e.Counts.Scheduled != many || len(early) != 0 {
		t.Fatalf("%+v before they are due", e.Counts)
	}
	w.at(time.Hour)
	r := w.receiver(entity.Address{Entity: "q"}, ReceiverOptions{Mode: ReceiveAndDelete})
	first, last := time.Duration(0), int64(0)
	for n := 0; n < many; {
		list, err := r.Receive(w.ctx, 1000)
		w.must(err)
		if first == 0 {
			first = wall.Now().Sub(scheduled)
		}
		for _, d := range list {
			if d.Broker.SequenceNumber <= last {
				t.Fatalf("%d comes behind %d", d.Broker.SequenceNumber, last)
			}
			last = d.Broker.SequenceNumber
		}
		n += len(list)
	}
	t.Logf(
		"%d scheduled in %v; due at once, the first came after %v, the last after %v",
		many,
		scheduled.Sub(began),
		first,
		wall.Now().Sub(scheduled),
	)
	w.shows("q", "")
}
