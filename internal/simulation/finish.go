package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/store"
)

// Time limits for the work of servers without disturbances.
const (
	recoverTime = 90 * time.Second // after the last disturbance
	drainTime   = 3 * lockDuration
	wakeTime    = 2 * time.Second // a waiting receiver gets a message
	sessionWait = 3 * time.Second // a receiver of any session waits for one
)

// finish ends all disturbances and checks that nothing was lost.
func (w *RunningSimulation) finish(ctx context.Context, rng *rand.Rand) {
	w.data.Thaw()
	w.data.Recover()
	w.data.Calm()
	for _, s := range w.servers.all() {
		w.setPaused(s, false)
	}
	c := &client{w: w, name: "inspector", rng: rng}
	for range 20 {
		if err := w.grow(ctx, 2, rng); err == nil {
			break
		}
		c.think(ctx, time.Second)
	}
	if len(w.servers.all()) < 2 {
		w.violate("no server could be started")
		return
	}
	w.sleep(recoverTime)
	w.docs.checkAll(c)
	w.queues.probe(ctx)
	w.queues.drain(ctx)
	w.topics.check(ctx, w.servers.all()[0])
	for _, s := range w.servers.all()[:2] {
		w.check(ctx, s)
	}
}

func (w *RunningSimulation) sleep(d time.Duration) {
	alarm, stop := w.clock.After(d)
	defer stop()
	<-alarm
}

// check runs the checks of package store and queue on everything that is stored.
func (w *RunningSimulation) check(ctx context.Context, s *simulatedMayflyServer) {
	report := func(err error) bool {
		w.violate("%s finds: %v", s.name, err)
		return true
	}
	err := errors.Join(s.db.Check(ctx, report), s.queues.Check(ctx, report))
	if err != nil {
		w.violate("the check fails: %v", err)
	}
}

// checkAll checks every document by reads, by queries and in the change feeds.
func (d *documentHistories) checkAll(c *client) {
	for _, container := range containers {
		for n := range partitions {
			partition := partitionName(n)
			d.query(c, container, partition)
			for _, key := range d.keysOf(container, partition) {
				d.get(c, d.of[key])
			}
		}
		d.finishFeeds(c, container)
		d.checkFeed(container)
	}
}

// checkFeed reads the whole change feed of a container: it must contain each existing document once, with
// its last version.
func (d *documentHistories) checkFeed(container string) {
	ctx := context.Background()
	s := d.w.servers.all()[0]
	con, err := s.container(ctx, container)
	if err != nil {
		d.w.violate("container %s is lost: %v", container, err)
		return
	}
	start := d.w.now()
	found := make(map[docKey]int)
	req := store.ChangesRequest{MaxItems: 200}
	for {
		page, _, err := con.Changes(ctx, req)
		if err != nil {
			d.w.violate("the feed of %s fails: %v", container, err)
			return
		}
		for i := range page.Changes {
			d.feedItem(container, page.Changes[i].Item, found)
		}
		if req.Start.After = page.Position; len(page.Changes) == 0 && !page.More {
			break
		}
	}
	for n := range partitions {
		for _, key := range d.keysOf(container, partitionName(n)) {
			d.observe(key, found[key], start)
		}
	}
	d.checkFeeds(container, found)
}

// probe checks for each server that a waiting receiver gets a message which was sent to another server.
func (m *messageHistories) probe(ctx context.Context) {
	list := m.w.servers.all()
	for i, s := range list[:min(len(list), 4)] {
		other := list[(i+1)%len(list)]
		o := queue.ReceiverOptions{Mode: queue.ReceiveAndDelete}
		r, err := s.queues.OpenReceiver(ctx, address(probeQueue), o)
		if err != nil {
			m.w.violate("%s cannot receive: %v", s.name, err)
			continue
		}
		got := make(chan int, 1)
		wait, cancel := context.WithTimeout(ctx, time.Minute)
		go func() {
			list, err := r.Receive(wait, 1)
			m.w.trace("the probe of %s: %d, %v", s.name, len(list), err)
			got <- len(list)
		}()
		m.w.sleep(2 * time.Second)
		msg := message.New([]byte("probe"))
		if err := other.queues.Send(ctx, address(probeQueue), []*message.Message{msg}, nil); err != nil {
			m.w.violate("%s cannot send: %v", other.name, err)
		}
		m.w.sleep(wakeTime)
		select {
		case n := <-got:
			if got <- n; n != 1 {
				m.w.violate("a receiver at %s got %d messages", s.name, n)
			}
		default:
			m.w.violate("a receiver at %s waits for what %s has sent", s.name, other.name)
		}
		cancel()
		<-got
		r.Close()
	}
}

// drain receives all messages that are left, and checks that none was lost.
func (m *messageHistories) drain(ctx context.Context) {
	s := m.w.servers.all()[0]
	until := m.w.now().Add(drainTime)
	for m.w.now().Before(until) {
		m.drainFrom(ctx, s, address(plainQueue), nil)
		m.drainFrom(ctx, s, entity.Address{Entity: plainQueue, Sub: entity.DeadLetters}, nil)
		m.drainFrom(ctx, s, address(sessionQueue), &queue.SessionRequest{Next: true})
		m.w.sleep(time.Second)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := make([]string, 0, len(m.of))
	for id := range m.of {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if l := m.of[id]; l.sent && l.done.IsZero() && !l.attempted {
			m.w.violate("%s is lost: it was sent, but never received", id)
		}
	}
}

// drainFrom receives and completes the available messages of a queue.
func (m *messageHistories) drainFrom(ctx context.Context, s *simulatedMayflyServer, a entity.Address,
	session *queue.SessionRequest) {
	for {
		short, cancel := context.WithTimeout(ctx, sessionWait)
		r, err := s.queues.OpenReceiver(short, a, queue.ReceiverOptions{Session: session, KeepLocks: true})
		cancel()
		if err != nil {
			return // no session has messages
		}
		start := m.w.now()
		list, err := r.TryReceive(ctx, 100)
		if err != nil {
			m.w.violate("a receive fails at the end: %v", err)
		}
		for i := range list {
			m.drained(ctx, s, a, &list[i], start)
		}
		r.Close()
		if len(list) == 0 {
			return
		}
	}
}

func (m *messageHistories) drained(ctx context.Context, s *simulatedMayflyServer, a entity.Address,
	d *queue.Delivery,
	start time.Time) {
	body, _ := d.Message.Data()
	m.mu.Lock()
	l := m.of[string(body)]
	switch dead := a.Sub == entity.DeadLetters; {
	case l == nil:
		m.w.violate("a message %q was received, which nobody has sent", body)
	case dead && !l.dead:
		m.w.violate("%s is a dead letter, but nobody has dead-lettered it", l.id)
	case !dead && !l.done.IsZero() && l.done.Before(start):
		m.w.violate("%s was received after it was completed", l.id)
	case l.refused:
		m.w.violate("%s was received, but its send was refused", l.id)
	}
	m.mu.Unlock()
	err := s.queues.Settle(ctx, a, d.Token, queue.SettlementRequest{}, nil)
	if err != nil {
		m.w.violate("a message cannot be completed at the end: %v", err)
	}
	if l != nil {
		m.mu.Lock()
		l.done = m.w.now()
		m.mu.Unlock()
	}
}
