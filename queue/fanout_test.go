package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// topic creates a topic with this default time to live, and a subscription for each name in the map. The
// function of a name, unless nil, changes the default properties of that subscription.
func (w *testQueueHost) topic(name string, ttl time.Duration,
	subscriptions map[string]func(*entity.Properties)) {
	w.t.Helper()
	p := entity.Defaults(entity.Topic)
	p.DefaultTTL = ttl
	w.create(entity.Topic, name, p)
	for s, change := range subscriptions {
		p := entity.Defaults(entity.Subscription)
		if change != nil {
			change(&p)
		}
		w.create(entity.Subscription, name+"/Subscriptions/"+s, p)
	}
}

func defaultTTL(d time.Duration) func(*entity.Properties) {
	return func(p *entity.Properties) { p.DefaultTTL = d }
}

// TestPublish checks that a copy in a subscription expires after the shortest of three times to live: that
// of the message, and the defaults of the topic and of the subscription.
func TestPublish(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		topic, subscription, own, lives time.Duration
	}{
		{time.Minute, 10 * time.Minute, 0, time.Minute},
		{10 * time.Minute, time.Minute, 0, time.Minute},
		{entity.Forever, time.Minute, 5 * time.Minute, time.Minute},
		{entity.Forever, entity.Forever, 5 * time.Minute, 5 * time.Minute},
		{time.Minute, entity.Forever, 5 * time.Minute, time.Minute},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			w := newTestHost(t, Options{})
			w.topic("t", c.topic, map[string]func(*entity.Properties){"s": defaultTTL(c.subscription)})
			m := msg("A")
			if c.own > 0 {
				lives(c.own)(m)
			}
			w.at(time.Second)
			w.send("t", m)
			w.at(time.Second + c.lives - time.Millisecond)
			w.shows("t/Subscriptions/s", "A")
			w.at(time.Second + c.lives)
			w.expect("t/Subscriptions/s", "")
		})
	}
}

// TestPublishScheduled checks that a scheduled message stays in its topic until its time has come, and
// that its time to live begins then.
func TestPublishScheduled(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.tidy = true
	w.topic("t", entity.Forever, map[string]func(*entity.Properties){"a": nil, "b": nil})
	w.send("t", msg("A", due(time.Minute), lives(time.Minute)))
	if e, err := w.q.Get(w.ctx, "t"); err != nil || e.Counts.Scheduled != 1 {
		t.Errorf("%+v, %v", e.Counts, err)
	}
	w.expect("t/Subscriptions/a", "")
	w.at(2*time.Minute - time.Millisecond)
	for _, s := range []string{"a", "b"} {
		d := w.expect("t/Subscriptions/"+s, "A")
		if b := d[0].Broker; b.EnqueuedTime != start.Add(time.Minute).UnixMilli() || b.SequenceNumber != 1 {
			t.Errorf("%+v", b)
		}
	}
	w.shows("t", "")
}

// TestPublishToChains checks forwarding from a queue to a topic, and from a subscription to a queue.
func TestPublishToChains(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("archive")
	w.topic(
		"t",
		entity.Forever,
		map[string]func(*entity.Properties){"all": nil, "more": forwarding("archive"),
			"sessions": sessions},
	)
	w.queue("q", forwarding("T"))
	w.send("q", msg("0"), msg("A"))
	w.send("t", msg("B", of("s")))
	d := w.expect("t/Subscriptions/all", "0 A B")
	if d[1].Broker.EnqueuedSequenceNumber != 2 || d[2].Broker.EnqueuedSequenceNumber != 0 {
		t.Errorf("%+v, %+v", d[1].Broker, d[2].Broker)
	}
	w.shows("t/Subscriptions/more", "")
	d = w.expect("archive", "0 A B")
	if d[1].Broker.EnqueuedSequenceNumber != 2 || d[2].Broker.EnqueuedSequenceNumber != 3 {
		t.Errorf("%+v, %+v", d[1].Broker, d[2].Broker)
	}
	w.dead("t/Subscriptions/sessions", "0:Session id is null A:Session id is null")
	if list := w.take(entity.Address{Entity: "t/Subscriptions/sessions"}, session("s")); texts(list) != "B" {
		t.Errorf("received %s", texts(list))
	}
}

// TestPublishWithoutMatch checks that a topic accepts a message that matches no subscription, and drops it.
func TestPublishWithoutMatch(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.topic("t", entity.Forever, map[string]func(*entity.Properties){"s": nil})
	w.must(w.q.DeleteRule(w.ctx, "t/Subscriptions/s", DefaultRule))
	w.send("t", msg("A"))
	w.shows("t/Subscriptions/s", "")
	w.create(entity.Topic, "empty", entity.Defaults(entity.Topic))
	w.send("empty", msg("A"))
}

// TestTopicFull checks that messages in a topic's subscriptions count against the size limit of the topic.
func TestTopicFull(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.topic("t", entity.Forever, map[string]func(*entity.Properties){"s": nil})
	w.send("t", msg("A"))
	s, err := w.q.store(w.ctx, entity.Address{Entity: "t/Subscriptions/s"})
	w.must(err)
	for _, restart := range []bool{false, true} {
		if restart {
			w.reopen()
			s, err = w.q.store(w.ctx, entity.Address{Entity: "t/Subscriptions/s"})
			w.must(err)
		}
		e, err := w.q.Get(w.ctx, "t/Subscriptions/s")
		if w.must(err); e.Bytes != s.size.Load() || e.Bytes == 0 {
			t.Errorf("%d bytes, not %d", s.size.Load(), e.Bytes)
		}
		s.size.Store(1 << 30)
		w.fails(
			w.q.Send(w.ctx, address("t"), []*message.Message{msg("B")}, nil),
			entity.CodeQuotaExceeded,
		)
	}
}

// TestPublishLarge publishes messages whose copies do not fit into one transaction. Even if the server
// crashes between the transactions, each subscription gets each message exactly once.
func TestPublishLarge(t *testing.T) {
	racetest.Sequential(t)
	clockMovedAfterCrash(t)
	const subscriptions = 60
	w := newTestHost(t, Options{})
	w.create(entity.Topic, "t", entity.Defaults(entity.Topic))
	for i := range subscriptions {
		w.create(entity.Subscription, fmt.Sprint("t/Subscriptions/", i), entity.Defaults(entity.Subscription))
	}
	large := func(id string) *message.Message {
		m := msg(id)
		m.SetBody(make([]byte, 200<<10))
		return m
	}
	w.send("t", large("A"))
	disks := []*testdisk.EngineStorage{w.fs.CrashClone(vfs.CrashCloneCfg{})}
	w.send("t", large("B"), msg("C", due(time.Second)))
	for range 10 {
		disks = append(disks, w.fs.CrashClone(vfs.CrashCloneCfg{}))
	}
	w.at(time.Second)
	w.sweep()
	for i, fs := range append(disks, w.fs.CrashClone(vfs.CrashCloneCfg{})) {
		c := &testQueueHost{t: w.t, ctx: w.ctx, fs: fs, base: w.base, opts: w.opts}
		c.open()
		c.at(time.Second)
		c.sweep()
		want := []string{"A", "ABC"}[min(i, 1)]
		for i := range subscriptions {
			a := entity.Address{Entity: fmt.Sprint("t/Subscriptions/", i)}
			list, err := c.q.Peek(c.ctx, a, PeekOptions{Max: 10, MaxBytes: 1 << 30})
			c.must(err)
			got := ""
			for _, d := range list {
				got += d.Message.Text(message.MessageID)
			}
			if len(got) != len(want) || strings.Trim(want, got) != "" {
				t.Fatalf("%s has %q, not %q", a, got, want)
			}
		}
		c.shows("t", "")
		c.check()
		c.must(c.h.Close())
	}
}
