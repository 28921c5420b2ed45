package buscases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// settleCases returns the cases about sending, locking and settling messages.
func settleCases() []conformanceTestCase {
	return slices.Concat(transferCases(), modeCases(), outcomeCases(), brokenCases())
}

func transferCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 47, title: "sent is durable", via: "AR", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A"))
			b.crash()
			b.expect("q", "A")
		}},
		{number: 48, title: "refusals can be tracked", via: "AR", steps: func(b *caseFixture) {
			b.queue("off", status(entity.Disabled))
			b.queue("q")
			for _, c := range []struct {
				address string
				m       *message.Message
				code    entity.ErrorCode
			}{{"none", msg("A"), entity.CodeEntityNotFound},
				{"off", msg("A"), entity.CodeEntityDisabled},
				{"q", large(), entity.CodeMessageTooLarge}} {
				err := b.messages.send(c.address, c.m)
				b.refuses(err, c.code)
				if _, direct := b.messages.(*goAPIClient); !direct &&
					!strings.Contains(err.Error(), "TrackingId:") {
					b.Fatalf("%v cannot be tracked", err)
				}
			}
			b.expect("q", "")
		}},
		{number: 49, title: "a retry can help or cannot", via: "A", steps: func(b *caseFixture) {
			b.queue("q")
			err := b.messages.send("q", large())
			b.refuses(err, entity.CodeMessageTooLarge)
			equal(b, "too large: retryable", entity.CodeMessageTooLarge.Retryable(), false)
			equal(b, "busy: retryable", entity.CodeServerBusy.Retryable(), true)
		}},
		{number: 50, title: "a hundred in flight", via: "A", steps: func(b *caseFixture) {
			b.queue("q")
			var list []*message.Message
			for i := range 100 {
				list = append(list, msg(fmt.Sprint(i)))
			}
			b.send("q", list...)
			all, err := b.messages.receive("q", queue.PeekLock, 200)
			b.must(err)
			equal(b, "the messages", len(all), 100)
		}},
		{number: 51, title: "settled transfers are answered by nothing", via: "A", alone: true,
			steps: settledTransfers},
	}
}

func modeCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 52, title: "received and deleted and cut", via: "A", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A"))
			b.expectOf("q", queue.ReceiveAndDelete, 1, "A")
			b.cut()
			b.swept(10 * minute)
			b.expect("q", "")
		}},
		{number: 53, title: "received and deleted has no lock", via: "AR", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A"))
			m := b.expectOf("q", queue.ReceiveAndDelete, 1, "A")[0]
			equal(b, "the lock's end", m.until.IsZero(), true)
			b.loses("q", m, queue.Complete)
		}},
		{number: 54, title: "a lock hides", via: "AR", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A"), msg("B"))
			b.locked("q", "A")
			b.locked("q", "B")
		}},
		{number: 55, title: "a lock lapses", via: "AR", steps: func(b *caseFixture) {
			b.queue("q", locks(10*sec))
			b.send("q", msg("A"))
			b.locked("q", "A")
			b.at(9900 * ms)
			b.expect("q", "")
			b.at(10 * sec)
			b.expect("q", "A+1")
		}},
		{number: 56, title: "a lock is renewed", via: "AR", steps: func(b *caseFixture) {
			b.queue("q", locks(10*sec))
			b.send("q", msg("A"))
			m := b.locked("q", "A")
			b.at(8 * sec)
			_, err := b.messages.renew("q", m)
			b.must(err)
			b.at(12 * sec)
			b.expect("q", "")
			b.at(18 * sec)
			b.expect("q", "A+1")
		}},
		{number: 57, title: "back to the front", via: "AR", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A"), msg("B"), msg("C"))
			b.settle("q", b.locked("q", "A"), queue.Abandon)
			b.locked("q", "A+1")
		}},
		{number: 58, title: "abandoned too often", via: "AR", steps: func(b *caseFixture) {
			b.queue("q", deliveries(3))
			b.send("q", msg("A"))
			for _, want := range []string{"A", "A+1", "A+2"} {
				b.settle("q", b.locked("q", want), queue.Abandon)
			}
			b.expect("q", "")
			b.dead("q", "A:MaxDeliveryCountExceeded")
		}},
		{number: 59, title: "lapsed too often", via: "A", steps: func(b *caseFixture) {
			b.queue("q", deliveries(2))
			b.send("q", msg("A"))
			b.expect("q", "A")
			b.swept(minute)
			b.expect("q", "A+1")
			b.swept(2 * minute)
			b.expect("q", "")
			b.dead("q", "A:MaxDeliveryCountExceeded")
		}},
	}
}

func outcomeCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 60, title: "abandoned with a property", via: "A", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A"))
			b.settle("q", b.locked("q", "A"), queue.Abandon, property("x", "1"))
			equal(b, "x", b.locked("q", "A+1").property("x"), "1")
		}},
		{number: 61, title: "completed", via: "AR", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A"))
			b.settle("q", b.locked("q", "A"), queue.Complete)
			b.swept(10 * minute)
			b.expect("q", "")
		}},
		{number: 62, title: "a lapsed lock settles nothing", via: "AR", steps: func(b *caseFixture) {
			b.queue("q", locks(10*sec))
			b.send("q", msg("A"))
			m := b.locked("q", "A")
			b.at(10 * sec)
			_, err := b.messages.renew("q", m)
			b.refuses(err, entity.CodeMessageLockLost)
			b.loses("q", m, queue.Complete)
			if b.web == nil { // REST has no word for it
				b.loses("q", m, queue.DeadLetter)
			}
			b.expect("q", "A+1")
		}},
		{number: 63, title: "completed twice", via: "AR", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A"))
			m := b.locked("q", "A")
			b.settle("q", m, queue.Complete)
			b.loses("q", m, queue.Complete)
		}},
		{number: 64, title: "dead-lettered with words", via: "A", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A"))
			b.kill("q", b.locked("q", "A"), "R", "D", property("p", "v"))
			m := b.dead("q", "A:R")[0]
			equal(b, "the description", m.property("DeadLetterErrorDescription"), "D")
			equal(b, "p", m.property("p"), "v")
		}},
		{number: 65, title: "deferred", via: "A", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A"))
			m := b.locked("q", "A")
			b.settle("q", m, queue.Defer)
			b.swept(10 * minute)
			b.expect("q", "")
			list, err := b.plan.deferred("q", queue.PeekLock, m.number)
			b.must(err)
			equal(b, "the deferred one", texts(list), "A+1")
			b.settle("q", list[0], queue.Complete)
			_, err = b.plan.deferred("q", queue.PeekLock, m.number)
			b.refuses(err, entity.CodeMessageNotFound)
		}},
	}
}

func brokenCases() []conformanceTestCase {
	return []conformanceTestCase{
		{number: 66, title: "a lock outlives its connection", via: "A", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A"), msg("B"))
			list := b.expect("q", "A B")
			b.cut()
			b.expect("q", "")
			b.settle("q", list[0], queue.Complete)
			b.at(minute)
			b.expect("q", "B+1")
		}},
		{number: 67, title: "a change of the queue ends locks", via: "MA", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A"))
			m := b.locked("q", "A")
			b.update("q", locks(30*sec))
			b.loses("q", m, queue.Complete)
			b.expect("q", "A")
		}},
		{number: 68, title: "a restart ends locks", via: "AR", steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A"))
			m := b.locked("q", "A")
			b.restart()
			b.loses("q", m, queue.Complete)
			b.expect("q", "A")
		}},
		{number: 69, title: "completed and cut", via: "A", alone: true, steps: func(b *caseFixture) {
			b.queue("q")
			b.send("q", msg("A"))
			b.peer.completeUnheard(b.locked("q", "A"))
			b.cut()
			b.swept(2 * minute)
			list, err := b.messages.receive("q", queue.PeekLock, 10)
			b.must(err)
			if len(list) > 1 || len(list) == 1 && list[0].id != "A" {
				b.Fatalf("received %q", texts(list))
			}
		}},
		{number: 70, title: "the id stays", via: "AR", steps: func(b *caseFixture) {
			b.queue("r")
			b.queue("q", deliveries(2), func(p *entity.Properties) { p.ForwardDeadLettersTo = "r" })
			b.send("q", msg("J1"))
			for _, want := range []string{"J1", "J1+1"} {
				m := b.locked("q", want)
				equal(b, "the id", m.id, "J1")
				b.settle("q", m, queue.Abandon)
			}
			b.swept(sec)
			m := b.locked("r", "J1")
			equal(b, "the id", m.id, "J1")
			equal(b, "the reason", m.property("DeadLetterReason"), "MaxDeliveryCountExceeded")
		}},
		{number: 71, title: "a batch is all or nothing", via: "AR", steps: func(b *caseFixture) {
			b.queue("q")
			b.refuses(b.bulk.batch("q", msg("A"), large(), msg("C")),
				entity.CodeMessageTooLarge)
			b.expect("q", "")
			b.must(b.bulk.batch("q", msg("A"), msg("B"), msg("C")))
			b.expect("q", "A B C")
		}},
		{number: 72, title: "sends overlap", skip: "it measures real time; pipelined sends are case 50"},
	}
}

// crash simulates a loss of power: it opens the queues again with the data that were durable.
func (b *caseFixture) crash() {
	b.Helper()
	disk := b.fs.CrashClone(vfs.CrashCloneCfg{})
	b.hangUp()
	b.must(b.h.Close())
	b.fs = disk
	b.open()
}

// large returns a message that exceeds the maximum message size of the standard tier.
func large() *message.Message { return msg(strings.Repeat("x", 300_000), named("L")) }
