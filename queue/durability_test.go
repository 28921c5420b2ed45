package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// TestAcknowledgedOperationsAfterCrash simulates crashes while senders, receivers of both modes and the
// reaper work, and checks that no acknowledged operation is lost. Syncs of the disk are slow, so that
// operations see changes that are not durable yet.
func TestAcknowledgedOperationsAfterCrash(t *testing.T) {
	mem := testdisk.NewCrashable(t)
	w := newWorldOn(t, slowly(mem), Options{})
	for _, q := range []string{locked, deleted} {
		w.queue(q, lockFor(5*time.Second), attempts(1<<30))
	}
	l := &durabilityExpectations{testQueueHost: w, facts: make(map[string]expectedMessagePresence)}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	seed := metamorphic.FirstSeed()
	for i := range 3 {
		working.Go(func() { l.sendAll(ctx, i) })
		working.Go(func() { l.lockAll(ctx, rand.New(rand.NewPCG(seed, uint64(i)))) })
		working.Go(func() { l.deleteAll(ctx) })
	}
	working.Go(func() {
		for ctx.Err() == nil {
			w.base.Advance(200 * time.Millisecond)
			_, _ = w.h.Instance().SweepNow(ctx)
		}
	})
	crashes := 12
	if testing.Short() {
		crashes = 4
	}
	for range crashes {
		for range 2000 {
			runtime.Gosched()
		}
		l.mu.Lock()
		disk, facts := mem.CrashClone(vfs.CrashCloneCfg{}), make(map[string]expectedMessagePresence)
		for text, f := range l.facts {
			facts[text] = f
		}
		l.mu.Unlock()
		l.verify(disk, facts)
	}
	stop()
	working.Wait()
}

// slowly makes the syncs of a disk slow.
func slowly(fs *testdisk.EngineStorage) *testdisk.EngineStorage {
	return fs.Inject(errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData {
			for range 100 {
				runtime.Gosched()
			}
		}
		return nil
	}))
}

// expectedMessagePresence says whether a message must exist after a crash: there, missing, or unknown while
// an operation on it is in progress.
type expectedMessagePresence uint8

const (
	unknown expectedMessagePresence = iota // what is under way decides it
	there
	missing
)

// durabilityExpectations holds, for each message by its text, whether it must exist after a crash. The mutex
// is held while an expectation is recorded and while the disk is copied.
type durabilityExpectations struct {
	*testQueueHost
	mu    sync.Mutex
	facts map[string]expectedMessagePresence
}

func (l *durabilityExpectations) note(text string, f expectedMessagePresence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.facts[text] = f
}

// isThere records that a message exists, unless something has been recorded about it already.
func (l *durabilityExpectations) isThere(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.facts[text]; !known {
		l.facts[text] = there
	}
}

// The names of the two queues of the test. Messages of the first are received in PeekLock mode, those of
// the second in ReceiveAndDelete mode.
const (
	locked  = "locked"
	deleted = "deleted"
	atOnce  = 4 // messages that one receive asks for
)

// sendAll sends messages to both queues one by one, and records each as existing after Send has returned.
// i is the number of the sender.
func (l *durabilityExpectations) sendAll(ctx context.Context, i int) {
	for n := 0; n < 150 && ctx.Err() == nil; n++ {
		for _, q := range []string{locked, deleted} {
			text := fmt.Sprint(q, " ", i, ".", n)
			m := msg(text)
			if n%4 == 0 {
				m.SetScheduled(l.q.Now().UnixMilli() + 300)
			}
			if err := l.q.Send(context.Background(), address(q), []*message.Message{m}, nil); err != nil {
				l.t.Error(err)
				return
			}
			l.isThere(text)
		}
	}
}

// lockAll receives messages in PeekLock mode until ctx ends, settles them in random ways, and records the
// completed ones as missing.
func (l *durabilityExpectations) lockAll(ctx context.Context, r *rand.Rand) {
	a := entity.Address{Entity: locked}
	rec := l.receiver(a, ReceiverOptions{})
	for ctx.Err() == nil {
		list, err := rec.Receive(ctx, atOnce)
		if err != nil {
			l.t.Error(err)
			return
		}
		for _, d := range list {
			l.isThere(textOf(d))
			how := SettlementRequest{Outcome: SettlementOutcome(r.IntN(3))}
			if how.Outcome == Complete {
				l.note(textOf(d), unknown)
			}
			err := l.q.Settle(context.Background(), a, d.Token, how, nil)
			if how.Outcome == Complete && err == nil {
				l.note(textOf(d), missing)
			}
		}
	}
}

// deleteAll receives messages in ReceiveAndDelete mode until ctx ends, and records them as missing.
func (l *durabilityExpectations) deleteAll(ctx context.Context) {
	rec := l.receiver(entity.Address{Entity: deleted}, ReceiverOptions{Mode: ReceiveAndDelete})
	for ctx.Err() == nil {
		list, err := rec.Receive(ctx, atOnce)
		if err != nil {
			l.t.Error(err)
			return
		}
		for _, d := range list {
			l.note(textOf(d), missing)
		}
	}
}

// verify opens the disk of a crashed server and compares the messages on it with facts, which says for
// each message whether it must exist.
func (l *durabilityExpectations) verify(disk *testdisk.EngineStorage,
	facts map[string]expectedMessagePresence) {
	c := &testQueueHost{t: l.t, ctx: l.ctx, fs: disk, base: l.base, opts: l.opts}
	c.openOn(disk)
	defer func() { c.must(c.h.Close()) }()
	stored := make(map[string]int)
	for _, q := range []string{locked, deleted} {
		list, err := c.q.Peek(c.ctx, entity.Address{Entity: q}, PeekOptions{Max: 1 << 20, MaxBytes: 1 << 30})
		c.must(err)
		for _, d := range list {
			stored[textOf(d)]++
		}
	}
	underWay := 0
	for text, f := range facts {
		n := stored[text]
		if f == there && n == 0 && strings.HasPrefix(text, deleted) {
			underWay++
			continue
		}
		if n > 1 || f == there && n == 0 || f == missing && n > 0 {
			l.t.Errorf("%s is there %d times, and known to be in state %d", text, n, f)
		}
	}
	if underWay > 3*atOnce {
		l.t.Errorf("%d messages were deleted and given to nobody", underWay)
	}
	c.check()
}

// TestReceiveOfUndurableMessage checks that a receive or a peek does not return a message before the message
// is durable.
func TestReceiveOfUndurableMessage(t *testing.T) {
	testdisk.Pebble(t, "a sync of a file is held up")
	a := entity.Address{Entity: "q"}
	for name, look := range map[string]func(w *testQueueHost) ([]Delivery, error){
		"receive": func(w *testQueueHost) ([]Delivery, error) {
			return w.receiver(a, ReceiverOptions{}).TryReceive(w.ctx, 1)
		},
		"receive and delete": func(w *testQueueHost) ([]Delivery, error) {
			return w.receiver(a, ReceiverOptions{Mode: ReceiveAndDelete}).TryReceive(w.ctx, 1)
		},
		"peek": func(w *testQueueHost) ([]Delivery, error) { return w.q.Peek(w.ctx, a, PeekOptions{Max: 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestHost(t, Options{})
			w.must(w.h.Close())
			var disk sync.RWMutex // held by who holds syncs up
			w.openOn(testdisk.NewCrashable(t).Inject(errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData {
					disk.RLock()
					defer disk.RUnlock()
				}
				return nil
			})))
			w.queue("q")
			s, err := w.q.store(w.ctx, a)
			w.must(err)
			w.send("q", msg("first")) // the scope's first transaction waits for the disk by itself
			w.take(a, ReceiverOptions{Mode: ReceiveAndDelete})
			disk.Lock()
			sent, told := make(chan error, 1), make(chan error, 1)
			go func() { sent <- w.q.Send(w.ctx, address("q"), []*message.Message{msg("A")}, nil) }()
			for visible := false; !visible; {
				w.must(s.e.m.in.Engine().View(w.ctx, func(r engine.Reader) error {
					_, visible, err = s.Header(r, 2)
					return err
				}))
			}
			go func() {
				list, err := look(w)
				if err == nil && texts(list) != "A" {
					err = fmt.Errorf("got %s", texts(list))
				}
				told <- err
			}()
			for range 10_000 {
				runtime.Gosched()
			}
			select {
			case err := <-told:
				t.Errorf("told before it is durable: %v", err)
				told <- err
			default:
			}
			disk.Unlock()
			w.must(<-told)
			w.must(<-sent)
		})
	}
}
