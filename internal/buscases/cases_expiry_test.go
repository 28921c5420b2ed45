package buscases

import (
	"slices"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

const (
	ms     = time.Millisecond
	sec    = time.Second
	minute = time.Minute
	day    = 24 * time.Hour
	year   = 365 * day
)

// expiryCases returns the cases about the time to live of messages.
func expiryCases() []conformanceTestCase {
	return slices.Concat(ownCases(), defaultCases(), lateCases(), topicCases())
}

// ownCases returns the cases about messages with a time to live of their own.
func ownCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 1, title: "a message is there before its time", via: "RA", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A", lives(10*sec)))
			b.at(9999 * ms)
			b.expect("q", "A")
		}},
		{number: 2, title: "a message is gone at its time", via: "RA", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A", lives(10*sec)))
			b.at(10 * sec)
			b.expect("q", "")
		}},
		{number: 3, title: "the time counts from the enqueueing", via: "A", steps: func(b *caseFixture) {
			b.queue("q")
			b.at(5 * sec)
			b.send("q", msg("A", lives(30*sec)))
			m := b.locked("q", "A")
			equal(b, "the expiry", m.expires, after(35*sec))
			equal(b, "the enqueueing", m.enqueued, after(5*sec))
		}},
		{number: 4, title: "the time does not count from the making", via: "A", steps: func(b *caseFixture) {
			b.queue("q")
			m := msg("A", lives(10*sec))
			b.at(8 * sec)
			b.send("q", m)
			b.at(15 * sec)
			b.settle("q", b.locked("q", "A"), queue.Release)
			b.at(18 * sec)
			b.expect("q", "")
		}},
	}
}

// defaultCases returns the cases about the default time to live that an entity gives to its messages.
func defaultCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 5, title: "the default of the queue", via: "RA", steps: func(b *caseFixture) {
			b.queue("q", defaultTTL(minute))
			b.send("q", msg("A"))
			b.at(59 * sec)
			b.settle("q", b.locked("q", "A"), queue.Abandon)
			b.at(minute)
			b.expect("q", "")
		}},
		{number: 6, title: "the default is the ceiling", via: "RA", steps: func(b *caseFixture) {
			b.queue("q", defaultTTL(minute))
			b.send("q", msg("A", lives(10*minute)))
			m := b.locked("q", "A")
			equal(b, "the time to live", m.ttl, minute)
			b.settle("q", m, queue.Abandon)
			b.at(61 * sec)
			b.expect("q", "")
		}},
		{number: 7, title: "a longer time is lowered in silence", via: "RA", steps: func(b *caseFixture) {
			b.queue("q", defaultTTL(minute))
			b.send("q", msg("A", lives(10*minute)))
		}},
		{number: 8, title: "a shorter time stays", via: "A", steps: func(b *caseFixture) {
			b.queue("q", defaultTTL(minute))
			b.send("q", msg("A", lives(5*sec)))
			b.at(6 * sec)
			b.expect("q", "")
		}},
		{number: 9, title: "without any time messages stay", via: "MA", steps: func(b *caseFixture) {
			b.queue("q")
			equal(b, "the default", b.get("q").Properties.DefaultTTL, entity.Forever)
			b.send("q", msg("A"))
			b.at(10 * year)
			m := b.locked("q", "A")
			if !m.expires.IsZero() && m.expires.Year() < 9999 {
				b.Fatalf("it expires at %v", m.expires)
			}
		}},
		{number: 10, title: "the basic tier ends at 14 days", via: "MA", options: queue.Options{Basic: true},
			steps: func(b *caseFixture) {
				b.queue("q")
				equal(b, "the default", b.get("q").Properties.DefaultTTL, 14*day)
				b.send("q", msg("A", lives(30*day)))
				equal(b, "the time to live", b.locked("q", "A").ttl, 14*day)
				err := b.tryCreate(entity.Queue, "r", defaultTTL(15*day))
				b.invalid(err)
			}},
		{number: 11, title: "the other tiers have no end", via: "M", steps: func(b *caseFixture) {
			b.queue("q")
			equal(b, "the default", b.get("q").Properties.DefaultTTL, entity.Forever)
		}},
		{number: 12, title: "a changed default concerns what is there", via: "MA",
			steps: func(b *caseFixture) {
				b.queue("q")
				b.send("q", msg("A"))
				b.at(30 * sec)
				b.update("q", defaultTTL(minute))
				b.at(61 * sec)
				b.expect("q", "")
			}},
		{number: 13, title: "a changed default leaves own times alone", via: "MA",
			steps: func(b *caseFixture) {
				b.queue("q", defaultTTL(minute))
				b.send("q", msg("A", lives(50*sec)))
				b.at(5 * sec)
				b.update("q", defaultTTL(10*sec))
				b.at(45 * sec)
				b.expect("q", "A")
			}},
		{number: 14, title: "a millisecond", via: "A", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A", lives(ms)))
			b.at(sec)
			b.expect("q", "")
		}},
	}
}

// lateCases returns the cases about messages that have expired and are not purged yet.
func lateCases() []conformanceTestCase {
	lazy := queue.Options{LazyExpiry: true}
	return []conformanceTestCase{
		{number: 15, title: "nobody listens", via: "AM", options: lazy, steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A", lives(sec)))
			b.swept(10 * minute)
			b.shows("q", "A")
			equal(b, "the count", b.get("q").Counts.Active, 1)
		}},
		{number: 16, title: "a receiver has it go", via: "AM", options: lazy, steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A", lives(sec)))
			b.swept(10 * minute)
			b.expect("q", "")
			b.shows("q", "")
			equal(b, "the count", b.get("q").Counts.Active, 0)
		}},
		{number: 17, title: "the reaper needs nobody", via: "M", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A", lives(sec)))
			b.swept(sec)
			equal(b, "the count", b.get("q").Counts.Active, 0)
			b.shows("q", "")
		}},
		{number: 18, title: "the reaper may be late", via: "AM", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A", lives(sec)))
			b.at(sec)
			if n := b.get("q").Counts.Active; n > 1 {
				b.Fatalf("%d are there", n)
			}
			list, err := b.look.peek("q")
			if b.must(err); len(list) > 1 {
				b.Fatalf("a peek shows %q", texts(list))
			}
			b.expect("q", "")
		}},
		{number: 19, title: "the live one among the expired", via: "A", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A", lives(sec)), msg("B"), msg("C", lives(sec)))
			b.at(2 * sec)
			b.expectOf("q", queue.PeekLock, 3, "B")
		}},
		{number: 20, title: "a peek does not tell inherited times", via: "A", steps: func(b *caseFixture) {
			b.queue("q", defaultTTL(minute))
			b.send("q", msg("A"))
			if m := b.shows("q", "A")[0]; !m.expires.IsZero() || m.ttl != 0 {
				b.Fatalf("a peek tells %v, %v", m.expires, m.ttl)
			}
			equal(b, "the expiry", b.locked("q", "A").expires, after(minute))
		}},
		{number: 21, title: "a peek tells own times", via: "A", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A", lives(2*minute)))
			equal(b, "the expiry", b.shows("q", "A")[0].expires, after(2*minute))
		}},
	}
}

// topicCases returns the cases about the times to live of topics and of their subscriptions.
func topicCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 22, title: "a shorter time of the topic", via: "A", steps: func(b *caseFixture) {
			b.create(entity.Topic, "t", defaultTTL(minute))
			s := b.subscription("s", defaultTTL(10*minute))
			b.send("t", msg("A"))
			b.at(61 * sec)
			b.expect(s, "")
		}},
		{number: 23, title: "a shorter time of the subscription", via: "A", steps: func(b *caseFixture) {
			b.create(entity.Topic, "t", defaultTTL(10*minute))
			s := b.subscription("s", defaultTTL(minute))
			b.send("t", msg("A"))
			b.at(61 * sec)
			b.expect(s, "")
		}},
		{number: 24, title: "each subscription by its own", via: "A", steps: func(b *caseFixture) {
			b.create(entity.Topic, "t")
			one, two := b.subscription("s1", defaultTTL(minute)), b.subscription("s2")
			b.send("t", msg("A", lives(5*minute)))
			b.at(2 * minute)
			b.expect(one, "")
			b.expect(two, "A")
		}},
		{number: 25, title: "the body says nothing", via: "A", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg(`{"ExpiresAt":"2026-07-02T01:00:01Z"}`))
			b.at(year)
			b.expect("q", `{"ExpiresAt":"2026-07-02T01:00:01Z"}`)
		}},
	}
}

// scheduledCases returns the cases about messages that are scheduled for a later time.
func scheduledCases() []conformanceTestCase {
	later := func(b *caseFixture, ttl time.Duration) {
		b.queue("q")
		b.send("q", msg("A", due(5*minute), lives(ttl)))
	}
	return []conformanceTestCase{
		{number: 26, title: "scheduled", via: "AR", steps: func(b *caseFixture) {
			later(b, 10*minute)
			b.at(4*minute + 59*sec)
			b.expect("q", "")
			equal(b, "the state", b.shows("q", "A")[0].state, message.Scheduled)
		}},
		{number: 27, title: "scheduled and due", via: "AR", steps: func(b *caseFixture) {
			later(b, 10*minute)
			b.at(5 * minute)
			equal(b, "the enqueueing", b.locked("q", "A").enqueued, after(5*minute))
		}},
		{number: 28, title: "scheduled and expired", via: "AR", steps: func(b *caseFixture) {
			later(b, 10*minute)
			b.at(14*minute + 59*sec)
			b.settle("q", b.locked("q", "A"), queue.Abandon)
			b.at(15 * minute)
			b.expect("q", "")
		}},
		{number: 29, title: "scheduled for longer than it lives", via: "A", steps: func(b *caseFixture) {
			later(b, minute)
			b.at(5*minute + 30*sec)
			b.expect("q", "A")
		}},
		{number: 30, title: "cancelled", via: "A", steps: func(b *caseFixture) {
			b.queue("q")
			n, err := b.plan.schedule("q", msg("A", due(5*minute)))
			b.must(err)
			b.must(b.plan.cancel("q", n...))
			b.at(6 * minute)
			b.expect("q", "")
			b.refuses(b.plan.cancel("q", n...), entity.CodeMessageNotFound)
		}},
		{number: 31, title: "scheduled under a ceiling", via: "A", steps: func(b *caseFixture) {
			b.queue("q", defaultTTL(minute))
			b.send("q", msg("A", due(5*minute), lives(10*minute)))
			b.at(5*minute + 59*sec)
			b.settle("q", b.locked("q", "A"), queue.Release)
			b.at(6 * minute)
			b.expect("q", "")
		}},
		{number: 32, title: "scheduled on a topic", via: "A", steps: func(b *caseFixture) {
			b.create(entity.Topic, "t")
			one, two := b.subscription("s1"), b.subscription("s2")
			b.send("t", msg("A", due(5*minute), lives(minute)))
			b.at(4 * minute)
			b.expect(one, "")
			b.swept(5 * minute)
			for _, s := range []string{one, two} {
				m := b.locked(s, "A")
				equal(b, "the expiry", m.expires, after(6*minute))
				b.settle(s, m, queue.Release)
			}
			b.at(6 * minute)
			b.expect(one, "")
			b.expect(two, "")
		}},
	}
}
