package buscases

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
)

// clientCases returns the cases about sessions, rules and the details of protocols.
func clientCases() []conformanceTestCase {
	return slices.Concat(sessionCases(), ruleCases(), wireCases())
}

func sessionCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 116, title: "duplicates", via: "RA", steps: func(b *caseFixture) {
			b.queue("q", deduplicates(minute))
			for i, at := range []time.Duration{0, 30 * sec, 61 * sec} {
				b.swept(at)
				b.send("q", msg(fmt.Sprint(i), named("X")))
			}
			b.expect("q", "0 2")
		}},
		{number: 117, title: "the next session", via: "A", steps: func(b *caseFixture) {
			b.queue("q", sessions)
			b.send("q", msg("A", of("one")), msg("B", of("two")))
			one, two := b.accept("q", ""), b.accept("q", "")
			if one.id() == two.id() {
				b.Fatalf("both have %s", one.id())
			}
			_, err := b.talk.accept("q", "")
			b.refuses(err, entity.CodeTimeout)
		}},
		{number: 118, title: "the end of a session", via: "A", steps: func(b *caseFixture) {
			b.queue("q", sessions, locks(10*sec))
			b.send("q", msg("A", of("s")))
			b.accept("q", "s").gets(b, "A")
			b.swept(10 * sec)
			again := b.accept("q", "s")
			again.gets(b, "A+1")
			again.close()
			b.accept("q", "s").gets(b, "A+1")
		}},
		{number: 119, title: "the state of a session", via: "A", steps: func(b *caseFixture) {
			b.queue("q", sessions)
			b.send("q", msg("A", of("s")))
			s := b.accept("q", "s")
			b.must(s.setState("half"))
			m := s.gets(b, "A")
			b.settle("q", m[0], queue.Complete)
			s.close()
			b.swept(day)
			s = b.accept("q", "s")
			s.has(b, "half")
			b.must(s.setState(""))
			s.has(b, "")
		}},
	}
}

// lockedSessionWithAssertions is a Service Bus session that a case has locked, with methods that fail the
// test on errors.
type lockedSessionWithAssertions struct{ lockedSession }

func (b *caseFixture) accept(address, id string) lockedSessionWithAssertions {
	b.Helper()
	s, err := b.talk.accept(address, id)
	b.must(err)
	return lockedSessionWithAssertions{s}
}

func (h lockedSessionWithAssertions) gets(b *caseFixture, want string) []receivedMessage {
	b.Helper()
	list, err := h.receive(10)
	b.must(err)
	equal(b, "the messages", texts(list), want)
	return list
}

func (h lockedSessionWithAssertions) has(b *caseFixture, want string) {
	b.Helper()
	state, err := h.state()
	b.must(err)
	equal(b, "the state", state, want)
}

func ruleCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 120, title: "rules with actions", via: "AM", steps: func(b *caseFixture) {
			b.create(entity.Topic, "t")
			s := b.subscription("s") // $Default is a plain rule
			b.must(b.entities.addRule(s, "plain", "color = 'red'", ""))
			b.must(b.entities.addRule(s, "one", "color = 'red'", "SET n = '1'"))
			b.must(b.entities.addRule(s, "two", "color = 'red'", "SET n = '2'"))
			b.send("t", msg("A", with("color", "red")))
			var names []string
			for _, m := range b.expect(s, "A A A") {
				names = append(names, m.property("RuleName")+m.property("n"))
			}
			slices.Sort(names)
			equal(b, "the rules", strings.Join(names, " "), " one1 two2")
		}},
		{number: 121, title: "what is missing", via: "AM", steps: func(b *caseFixture) {
			b.create(entity.Topic, "t")
			filters := []string{"a > 1", "NOT (a > 1)", "a IS NULL", "EXISTS(a)"}
			for i, filter := range filters {
				s := b.subscription(fmt.Sprint("s", i))
				b.must(b.q.DeleteRule(b.ctx, s, queue.DefaultRule))
				b.must(b.entities.addRule(s, "r", filter, ""))
			}
			b.send("t", msg("A"))
			for i, want := range []string{"", "", "A", ""} {
				b.expect(entity.SubscriptionPath("t", fmt.Sprint("s", i)), want)
			}
		}},
		{number: 122, title: "forwarded too often", via: "A", steps: func(b *caseFixture) {
			b.queue("q6")
			for i := 5; i > 0; i-- {
				b.queue(fmt.Sprint("q", i), forwards(fmt.Sprint("q", i+1)))
			}
			b.send("q1", msg("A"))
			b.swept(sec)
			b.dead("q5", "A:MaxTransferHopCountExceeded") // four hops have led there
			b.expect("q6", "")
		}},
		{number: 123, title: "receiving is disabled", via: "AR", steps: func(b *caseFixture) {
			b.queue("q", status(entity.ReceiveDisabled))
			_, err := b.messages.receive("q", queue.PeekLock, 1)
			b.refuses(err, entity.CodeEntityDisabled)
			b.send("q", msg("A"))
			b.update("q", status(entity.Active))
			b.expect("q", "A")
		}},
	}
}

func wireCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 124, title: "signatures", via: "R", alone: true, steps: signatures},
		{number: 125, title: "pages of queues", via: "M", steps: func(b *caseFixture) {
			for i := range 250 {
				b.queue(fmt.Sprintf("q%03d", i))
			}
			seen := map[string]bool{}
			for skip := 0; ; skip += 100 {
				page, err := b.entities.list(skip, 100)
				b.must(err)
				for _, name := range page {
					if seen[name] {
						b.Fatalf("%s is there twice", name)
					}
					seen[name] = true
				}
				if len(page) == 0 {
					break
				}
			}
			equal(b, "the queues", len(seen), 250)
		}},
		{number: 126, title: "large messages in small frames", via: "A", alone: true, steps: smallFrames},
		{number: 127, title: "a drain is answered", via: "A", alone: true, steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("1"), msg("2"), msg("3"), msg("4"), msg("5"))
			b.expectOf("q", queue.PeekLock, 10, "1 2 3 4 5") // five of ten, and the rest is drained
			equal(b, "the credit that is left", b.peer.credit("q"), 0)
			b.swept(minute)
			b.expect("q", "1+1 2+1 3+1 4+1 5+1")
		}},
		{number: 128, title: "what the SDKs stumble over",
			skip: "the tests of queue/rest and the suites of the SDKs have them one by one"},
	}
}
