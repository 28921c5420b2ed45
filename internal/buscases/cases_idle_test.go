package buscases

import (
	"runtime"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
)

// used returns the steps of a case about a queue that deletes itself after 5 idle minutes. The steps call
// use, which uses the queue, at minute 4. They then check that the queue exists until minute 9, and not any
// more at minute 9.
func used(use func(b *caseFixture)) func(b *caseFixture) {
	return func(b *caseFixture) {
		b.queue("q", idle(5*minute))
		b.at(4 * minute)
		use(b)
		b.at(9*minute - sec)
		b.exists("q", true)
		b.swept(9 * minute)
		b.exists("q", false)
	}
}

// usedBelow returns the steps of a test case for a subscription that deletes itself after 5 idle minutes. The
// function use uses it in minute 4; s is its path. The steps check that the subscription exists until minute
// 9 and is then deleted.
func usedBelow(use func(b *caseFixture, s string)) func(b *caseFixture) {
	return func(b *caseFixture) {
		b.create(entity.Topic, "t")
		s := b.subscription("s", idle(5*minute))
		b.at(4 * minute)
		use(b, s)
		b.at(9*minute - sec)
		b.exists(s, true)
		b.swept(9 * minute)
		b.exists(s, false)
	}
}

// idleCases returns the cases about entities that delete themselves when they have not been used for some
// time.
func idleCases() []conformanceTestCase {
	return slices.Concat(unusedCases(), usedCases(), lastingCases())
}

func unusedCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 73, title: "unused for five minutes", via: "MA", steps: func(b *caseFixture) {
			b.queue("q", idle(5*minute))
			b.at(5*minute - sec)
			b.exists("q", true)
			b.swept(5 * minute)
			b.exists("q", false)
			b.refuses(b.messages.send("q", msg("A")), entity.CodeEntityNotFound)
		}},
		{number: 74, title: "less than five minutes", via: "M", steps: func(b *caseFixture) {
			err := b.tryCreate(entity.Queue, "q", idle(5*minute-sec))
			b.invalid(err)
		}},
		{number: 75, title: "messages do not keep it", via: "M", steps: func(b *caseFixture) {
			b.queue("q", idle(5*minute))
			for range 10 {
				b.send("q", msg("A"))
			}
			b.swept(5 * minute)
			b.exists("q", false)
			b.queue("q")
			b.expect("q", "")
		}},
	}
}

func usedCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 76, title: "used by a send", via: "MR", steps: used(func(b *caseFixture) {
			b.send("q", msg("A"))
		})},
		{number: 77, title: "used by a receive", via: "MR", steps: used(func(b *caseFixture) {
			b.expect("q", "")
		})},
		{number: 78, title: "used by a receiver that waits", via: "A", steps: func(b *caseFixture) {
			b.queue("q", idle(5*minute))
			stop := b.listen("q")
			b.swept(30 * minute)
			b.exists("q", true)
			stop()
			b.swept(35*minute - sec)
			b.exists("q", true)
			b.swept(35 * minute)
			b.exists("q", false)
		}},
		{number: 79, title: "used by an update", via: "M", steps: used(func(b *caseFixture) {
			b.update("q", locks(10*sec))
		})},
		{number: 80, title: "kept by what is scheduled", via: "AM", steps: func(b *caseFixture) {
			b.queue("q", idle(5*minute))
			b.send("q", msg("A", due(60*minute)))
			for _, m := range []int{30, 60, 64} {
				b.swept(time.Duration(m) * minute)
				b.exists("q", true)
			}
			b.swept(65 * minute)
			b.exists("q", false)
		}},
		{number: 81, title: "used by a peek", via: "AM",
			steps: used(func(b *caseFixture) { b.shows("q", "") })},
		{number: 82, title: "not used by a look at it", via: "M", steps: func(b *caseFixture) {
			b.queue("q", idle(5*minute))
			for m := range 5 {
				b.swept(time.Duration(m) * minute)
				b.exists("q", true)
			}
			b.swept(5 * minute)
			b.exists("q", false)
		}},
		{number: 83, title: "a topic is used by its subscriptions", via: "AM", steps: func(b *caseFixture) {
			b.create(entity.Topic, "t", idle(5*minute))
			s := b.subscription("s")
			b.at(4 * minute)
			b.expect(s, "")
			b.swept(5*minute + sec)
			b.exists("t", true)
			b.swept(9 * minute)
			b.exists("t", false)
		}},
		{number: 84, title: "a subscription is not used by the topic", via: "AM",
			steps: func(b *caseFixture) {
				b.create(entity.Topic, "t", idle(5*minute))
				s := b.subscription("s", idle(5*minute))
				for m := range 5 {
					b.swept(time.Duration(m) * minute)
					b.send("t", msg("A"))
				}
				b.exists(s, true)
				b.swept(5 * minute)
				b.exists(s, false)
				b.exists("t", true)
			}},
		{number: 85, title: "a subscription is used by a new rule", via: "MA",
			steps: usedBelow(func(b *caseFixture,
				s string) {
				b.must(b.entities.addRule(s, "r", "1=1", ""))
			})},
		{number: 86, title: "a subscription is used by peek and update", via: "MA",
			steps: func(b *caseFixture) {
				b.create(entity.Topic, "t")
				one, two := b.subscription("s1", idle(5*minute)), b.subscription("s2", idle(5*minute))
				b.at(4 * minute)
				b.shows(one, "")
				b.update(two, locks(10*sec))
				b.swept(9*minute - sec)
				for _, s := range []string{one, two} {
					b.exists(s, true)
				}
				b.swept(9 * minute)
				for _, s := range []string{one, two} {
					b.exists(s, false)
				}
			}},
	}
}

func lastingCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 87, title: "a queue that forwards stays", via: "M", steps: func(b *caseFixture) {
			b.queue("r")
			b.queue("q", forwards("r"), idle(5*minute))
			b.swept(60 * minute)
			equal(b, "its time", b.get("q").Properties.AutoDeleteOnIdle, 5*minute)
		}},
		{number: 88, title: "forever", via: "M", steps: func(b *caseFixture) {
			b.queue("q")
			b.swept(100 * year)
			b.exists("q", true)
		}},
		{number: 89, title: "a lock on deletion",
			skip: "there are no resource locks that could be told from none"},
		{number: 90, title: "a topic goes with all that it has", via: "M", steps: func(b *caseFixture) {
			b.create(entity.Topic, "t", idle(5*minute))
			s := b.subscription("s")
			b.must(b.entities.addRule(s, "r", "1=1", ""))
			b.swept(5 * minute)
			b.exists("t", false)
			b.exists(s, false)
			b.create(entity.Topic, "t")
			b.exists(s, false)
		}},
		{number: 91, title: "a queue for answers", via: "A", steps: func(b *caseFixture) {
			b.queue("q", idle(5*minute))
			stop := b.listen("q")
			b.swept(10 * minute)
			b.exists("q", true)
			if b.peer != nil {
				b.cut() // the process dies
			} else {
				stop()
			}
			b.swept(15 * minute)
			b.exists("q", false)
		}},
		{number: 92, title: "the property is told", via: "M", steps: func(b *caseFixture) {
			b.queue("q")
			b.update("q", idle(7*minute))
			equal(b, "its time", b.get("q").Properties.AutoDeleteOnIdle, 7*minute)
		}},
	}
}

// listen starts a receiver and returns when the receiver waits for messages. It detects that by the
// entity's last access time, which a waiting receiver renews at each step of the clock.
func (b *caseFixture) listen(address string) (stop func()) {
	b.Helper()
	stop = b.wait.listen(address)
	for _, d := range []time.Duration{sec, 2 * sec} {
		b.at(d)
		for !b.get(address).Accessed.Equal(after(d)) {
			runtime.Gosched()
		}
	}
	return stop
}
