package buscases

import (
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/message"
)

const expired = "TTLExpiredException"

// lateLock creates the queue "q", sends a message that expires after 10 seconds, and returns it locked at
// second 5.
func lateLock(b *caseFixture, list ...setEntityPropertiesFunc) receivedMessage {
	b.Helper()
	b.queue("q", list...)
	b.send("q", msg("A", lives(10*sec)))
	b.at(5 * sec)
	return b.locked("q", "A")
}

// lockCases returns the cases about messages that expire while they are locked, and about dead-lettered
// expired messages.
func lockCases() []conformanceTestCase {
	return append(heldCases(), deadCases()...)
}

func heldCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 33, title: "completed late", via: "AR", steps: func(b *caseFixture) {
			m := lateLock(b)
			b.at(30 * sec)
			b.settle("q", m, queue.Complete)
			b.dead("q", "")
		}},
		{number: 34, title: "abandoned late", via: "AR", steps: func(b *caseFixture) {
			m := lateLock(b, deadLetters)
			b.at(30 * sec)
			b.settle("q", m, queue.Abandon)
			b.dead("q", "A:"+expired)
			b.expect("q", "")
		}},
		{number: 35, title: "lapsed late", via: "A", steps: func(b *caseFixture) {
			lateLock(b, deadLetters)
			b.swept(65*sec - ms)
			b.dead("q", "")
			b.swept(65 * sec)
			b.dead("q", "A:"+expired)
		}},
		{number: 36, title: "abandoned late without dead letters", via: "AR", steps: func(b *caseFixture) {
			m := lateLock(b)
			b.at(30 * sec)
			b.settle("q", m, queue.Abandon)
			b.expect("q", "")
			b.dead("q", "")
		}},
		{number: 37, title: "renewed beyond its time", via: "AR", steps: func(b *caseFixture) {
			m := lateLock(b)
			renewTwice(b, m)
			b.at(120 * sec)
			b.settle("q", m, queue.Complete)
			b.expect("q", "")
		}},
		{number: 38, title: "dead-lettered by who held it too long", via: "A", steps: func(b *caseFixture) {
			m := lateLock(b)
			renewTwice(b, m)
			if !m.expires.Before(after(100 * sec)) {
				b.Fatalf("it expires at %v", m.expires)
			}
			b.kill("q", m, "TooLate", "seen by the application")
			b.dead("q", "A:TooLate")
		}},
		{number: 39, title: "completed late with dead letters", via: "A", steps: func(b *caseFixture) {
			m := lateLock(b, deadLetters)
			b.at(30 * sec)
			b.settle("q", m, queue.Complete)
			b.dead("q", "")
		}},
	}
}

func renewTwice(b *caseFixture, m receivedMessage) {
	b.Helper()
	b.at(50 * sec)
	until, err := b.messages.renew("q", m)
	b.must(err)
	if !until.IsZero() {
		equal(b, "the lock's end", until, after(110*sec))
	}
	b.at(100 * sec)
	_, err = b.messages.renew("q", m)
	b.must(err)
}

func deadCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 40, title: "the reason of an expired one", via: "AR", steps: func(b *caseFixture) {
			b.queue("q", deadLetters)
			b.send("q", msg("A", lives(10*sec)))
			b.swept(10 * sec)
			m := b.dead("q", "A:"+expired)[0]
			equal(b, "the description", m.property("DeadLetterErrorDescription"),
				"The message expired and was dead lettered.")
		}},
		{number: 41, title: "three reasons", via: "AR", steps: func(b *caseFixture) {
			b.queue("q", deadLetters, deliveries(1))
			b.send("q", msg("A", lives(10*sec)))
			b.swept(10 * sec)
			b.send("q", msg("B"))
			b.settle("q", b.locked("q", "B"), queue.Abandon)
			b.send("q", msg("C"))
			c := b.locked("q", "C")
			reason := "mine" // REST has no word for it
			b.must((&goAPIClient{b}).settle("q", c, queue.SettlementRequest{Outcome: queue.DeadLetter,
				Reason: &reason}))
			b.dead("q", "A:"+expired+" B:MaxDeliveryCountExceeded C:mine")
		}},
		{number: 42, title: "a crash while it moves", via: "M", steps: crashes},
		{number: 43, title: "dead letters do not expire", via: "AR", steps: func(b *caseFixture) {
			b.queue("q", deadLetters)
			b.send("q", msg("A", lives(10*sec)))
			b.swept(10 * sec)
			b.swept(year)
			b.dead("q", "A:"+expired)
		}},
		{number: 44, title: "a thousand at once", via: "AM", steps: func(b *caseFixture) {
			b.queue("q", deadLetters)
			var list []*message.Message
			for i := range 1000 {
				list = append(list, msg(fmt.Sprint(i), lives(minute)))
			}
			b.send("q", list...)
			b.swept(61 * sec)
			c := b.get("q").Counts
			equal(b, "the active ones", c.Active, 0)
			equal(b, "the dead ones", c.DeadLetter, 1000)
			all, err := b.messages.receive("q/$DeadLetterQueue", queue.ReceiveAndDelete, 2000)
			b.must(err)
			equal(b, "the dead letters", len(all), 1000)
		}},
		{number: 45, title: "deferred late", via: "A", steps: func(b *caseFixture) {
			m := lateLock(b, deadLetters)
			b.settle("q", m, queue.Defer)
			b.swept(10 * minute)
			list, err := b.plan.deferred("q", queue.PeekLock, m.number)
			b.must(err)
			equal(b, "the deferred one", texts(list), "A+1")
			b.dead("q", "")
		}},
		{number: 46, title: "dead letters switched on late", via: "MA", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A", lives(10*sec)))
			b.at(20 * sec)
			b.update("q", deadLetters)
			b.swept(21 * sec)
			b.dead("q", "A:"+expired)
		}},
	}
}

// crashes is a case: it simulates a hundred crashes of the server while expired messages are
// dead-lettered, and checks that none is lost or duplicated.
func crashes(b *caseFixture) {
	b.queue("q", deadLetters)
	var want []string
	for i := range 10 {
		text := fmt.Sprint(i)
		b.send("q", msg(text, lives(sec)))
		want = append(want, text)
	}
	for i := range 100 {
		b.swept(sec + time.Duration(i)*sec)
		disk := b.fs.CrashClone(vfs.CrashCloneCfg{})
		b.must(b.h.Close())
		b.fs = disk
		b.open()
		main, err := b.look.peek("q")
		b.must(err)
		dead, err := b.look.peek("q/$DeadLetterQueue")
		b.must(err)
		var have []string
		for _, m := range append(dead, main...) {
			have = append(have, m.text)
		}
		equal(b, "what is there", strings.Join(have, " "), strings.Join(want, " "))
		text := fmt.Sprint(10 + i)
		b.send("q", msg(text, lives(ms)))
		want = append(want, text)
	}
}
