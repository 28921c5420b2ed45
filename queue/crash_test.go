package queue

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// TestCrashWhileExpiring simulates crashes while messages expire, are activated and are abandoned. After
// each crash every message must exist exactly once, in the queue or in its dead-letter queue.
func TestCrashWhileExpiring(t *testing.T) {
	t.Parallel()
	const messages = 200
	w := newTestHost(t, Options{})
	w.queue("q", flagged, attempts(1))
	var list []*message.Message
	for i := range messages {
		switch i % 3 {
		case 0:
			list = append(list, msg(fmt.Sprint(i), lives(time.Second)))
		case 1:
			list = append(list, msg(fmt.Sprint(i), due(time.Second), lives(time.Second)))
		default:
			list = append(list, msg(fmt.Sprint(i)))
		}
	}
	w.send("q", list...)
	r := w.receiver(entity.Address{Entity: "q"}, ReceiverOptions{})
	var working sync.WaitGroup
	working.Go(func() {
		for at := range 4 {
			w.base.Set(start.Add(time.Duration(at) * time.Second))
			if _, err := w.h.Instance().SweepNow(w.ctx); err != nil {
				t.Error(err)
			}
		}
	})
	working.Go(func() {
		for range 20 {
			got, err := r.TryReceive(w.ctx, 3)
			if err != nil {
				t.Error(err)
			}
			for _, d := range got {
				err := w.q.Settle(
					w.ctx,
					entity.Address{Entity: "q"},
					d.Token,
					SettlementRequest{Outcome: Abandon},
					nil,
				)
				if err != nil {
					t.Error(err)
				}
			}
		}
	})
	var disks []*testdisk.EngineStorage
	for range 20 {
		disks = append(disks, w.fs.CrashClone(vfs.CrashCloneCfg{}))
		w.expectNothingLost(disks[len(disks)-1], messages)
	}
	working.Wait()
	w.expectNothingLost(w.fs.CrashClone(vfs.CrashCloneCfg{}), messages)
}

// expectNothingLost opens the disk of a crashed server, and checks that each of the messages exists
// exactly once, in the queue or in its dead-letter queue, before and after a run of the reaper.
func (w *testQueueHost) expectNothingLost(fs *testdisk.EngineStorage, messages int) {
	w.t.Helper()
	c := &testQueueHost{t: w.t, ctx: w.ctx, fs: fs, base: w.base, opts: w.opts}
	c.open()
	defer func() { c.must(c.h.Close()) }()
	for range 2 {
		there := make(map[string]int)
		for _, sub := range []entity.SubQueue{entity.Main, entity.DeadLetters} {
			list, err := c.q.Peek(
				c.ctx,
				entity.Address{Entity: "q", Sub: sub},
				PeekOptions{Max: messages, MaxBytes: 1 << 30},
			)
			c.must(err)
			for _, d := range list {
				there[textOf(d)]++
			}
		}
		if len(there) != messages {
			w.t.Errorf("%d of %d messages are there", len(there), messages)
		}
		for text, n := range there {
			if n != 1 {
				w.t.Errorf("%s is there %d times", text, n)
			}
		}
		c.sweep()
	}
	c.check()
}

// TestLockAfterFailedSettlement checks that the holder of a message keeps its lock if the engine fails to
// store a settlement, unless the lock has lapsed in the meantime.
func TestLockAfterFailedSettlement(t *testing.T) {
	t.Parallel()
	volatile(t)
	w := newTestHost(t, Options{})
	w.queue("q", lockFor(10*time.Second))
	w.send("q", msg("A"), msg("B"))
	d := w.expect("q", "A B")
	of, err := w.q.store(w.ctx, entity.Address{Entity: "q"})
	w.must(err)
	s := inMemoryLockManager{of}
	c, err := beginSettle(s, d[0].Token)
	w.must(err)
	endSettle(s, c)
	w.settle("q", d[0], SettlementRequest{Outcome: Complete})
	c, err = beginSettle(s, d[1].Token)
	w.must(err)
	w.at(10 * time.Second) // the lock lapses while the settlement is under way
	endSettle(s, c)
	w.expect("q", "B+1")
}

func beginSettle(s inMemoryLockManager, token message.UUID) (*inMemoryMessageClaim, error) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beginSettle(token, now)
}

// endSettle ends a settlement with the error that the disk is full.
func endSettle(s inMemoryLockManager, c *inMemoryMessageClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endSettle(c, messageRemoved, wrap(engine.ErrDiskFull))
}
