package queue

import (
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
)

func flagged(p *entity.Properties) { p.DeadLetterOnExpiration = true }

func byDefault(d time.Duration) func(*entity.Properties) {
	return func(p *entity.Properties) { p.DefaultTTL = d }
}

func lockFor(d time.Duration) func(*entity.Properties) {
	return func(p *entity.Properties) { p.LockDuration = d }
}

func attempts(n int32) func(*entity.Properties) {
	return func(p *entity.Properties) { p.MaxDeliveryCount = n }
}

// TestMessages checks what becomes of messages in a queue: each subtest is one case of expiry, locking or
// settlement.
func TestMessages(t *testing.T) {
	t.Parallel()
	s := time.Second
	for name, play := range map[string]func(w *testQueueHost){
		"alive before its time": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A", lives(10*s)))
			w.at(9999 * time.Millisecond)
			w.expect("q", "A")
		},
		"dead at its time": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A", lives(10*s)))
			w.at(10 * s)
			w.expect("q", "")
			w.shows("q", "")
		},
		"the default": func(w *testQueueHost) {
			w.queue("q", byDefault(time.Minute))
			w.send("q", msg("A"))
			w.at(59 * s)
			d := w.expect("q", "A")
			if want := start.Add(time.Minute); d[0].Broker.ExpiresAt != want.UnixMilli() {
				w.t.Fatal(d[0].Broker.ExpiresAt)
			}
			w.settle("q", d[0], SettlementRequest{Outcome: Abandon})
			w.at(60 * s)
			w.expect("q", "")
		},
		"the default is a ceiling": func(w *testQueueHost) {
			w.queue("q", byDefault(time.Minute))
			w.send("q", msg("A", lives(10*time.Minute)), msg("B", lives(5*s)))
			w.at(6 * s)
			w.expect("q", "A")
			w.at(71 * s)
			w.expect("q", "")
		},
		"a default that changes concerns what has no time of its own": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A"), msg("B", lives(50*s)))
			w.at(30 * s)
			w.update("q", byDefault(10*s))
			w.at(45 * s)
			w.expect("q", "B")
		},
		"between the dead": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A", lives(s)), msg("B"), msg("C", lives(s)))
			w.at(s)
			w.expect("q", "B")
		},
		"locked beyond its time": func(w *testQueueHost) {
			w.queue("q", flagged)
			ttl := lives(10 * s)
			w.send("q", msg("A", ttl), msg("B", ttl), msg("C", ttl), msg("D", ttl))
			w.at(5 * s)
			d := w.expect("q", "A B C D")
			w.at(30 * s)
			w.sweep()
			w.settle("q", d[0], SettlementRequest{Outcome: Complete})
			w.settle("q", d[1], SettlementRequest{Outcome: Abandon})
			w.settle("q", d[2], SettlementRequest{Outcome: DeadLetter})
			w.dead("q", "B:TTLExpiredException C:<nil>")
			w.at(65 * s)
			w.sweep()
			w.dead("q", "B:TTLExpiredException C:<nil> D:TTLExpiredException")
			w.expect("q", "")
		},
		"renewed beyond its time": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A", lives(10*s)))
			w.at(5 * s)
			d := w.expect("q", "A")
			for _, at := range []time.Duration{50 * s, 100 * s} {
				w.at(at)
				_, err := w.q.RenewLocks(w.ctx, entity.Address{Entity: "q"}, tokensOf(d))
				w.must(err)
			}
			w.at(120 * s)
			w.settle("q", d[0], SettlementRequest{Outcome: Complete})
		},
		"dropped": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A", lives(10*s)))
			d := w.expect("q", "A")
			w.at(30 * s)
			w.settle("q", d[0], SettlementRequest{Outcome: Abandon})
			w.shows("q", "")
			w.dead("q", "")
		},
		"dead letters do not expire": func(w *testQueueHost) {
			w.queue("q", flagged)
			w.send("q", msg("A", lives(10*s)))
			w.at(10 * s)
			w.sweep()
			w.at(365 * 24 * time.Hour)
			w.sweep()
			dead := entity.Address{Entity: "q", Sub: entity.DeadLetters}
			if got := texts(w.take(dead, ReceiverOptions{})); got != "A" {
				w.t.Fatal(got)
			}
		},
		"flagged after it has expired": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A", lives(10*s)))
			w.tidy = false
			w.at(10 * s)
			w.update("q", flagged)
			w.sweep()
			w.dead("q", "A:TTLExpiredException")
		},
		"a lock hides": func(w *testQueueHost) {
			w.queue("q", lockFor(10*s))
			w.send("q", msg("A"))
			w.expect("q", "A")
			w.send("q", msg("B"))
			w.expect("q", "B")
			w.at(9900 * time.Millisecond)
			w.expect("q", "")
			w.at(10 * s)
			w.expect("q", "A+1 B+1")
		},
		"renewal": func(w *testQueueHost) {
			w.queue("q", lockFor(10*s))
			w.send("q", msg("A"))
			d := w.expect("q", "A")
			w.at(8 * s)
			until, err := w.q.RenewLocks(w.ctx, entity.Address{Entity: "q"}, tokensOf(d))
			w.must(err)
			if !until[0].Equal(start.Add(18 * s)) {
				w.t.Fatal(until)
			}
			w.at(12 * s)
			w.expect("q", "")
			w.at(18 * s)
			w.expect("q", "A+1")
		},
		"back to the front": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A"), msg("B"), msg("C"))
			r := w.receiver(entity.Address{Entity: "q"}, ReceiverOptions{})
			d, err := r.TryReceive(w.ctx, 2)
			w.must(err)
			w.settle("q", d[0], SettlementRequest{Outcome: Abandon})
			w.expect("q", "A+1 C")
		},
		"released": func(w *testQueueHost) {
			w.queue("q", attempts(1))
			w.send("q", msg("A"))
			for range 3 {
				w.settle("q", w.expect("q", "A")[0], SettlementRequest{Outcome: Release})
			}
		},
		"too many attempts": func(w *testQueueHost) {
			w.queue("q", attempts(3))
			w.send("q", msg("A"))
			for _, want := range []string{"A", "A+1", "A+2"} {
				w.settle("q", w.expect("q", want)[0], SettlementRequest{Outcome: Abandon})
			}
			w.expect("q", "")
			w.dead("q", "A:MaxDeliveryCountExceeded")
		},
		"too many lost locks": func(w *testQueueHost) {
			w.queue("q", attempts(2), lockFor(10*s))
			w.send("q", msg("A"))
			w.expect("q", "A")
			w.at(10 * s)
			w.expect("q", "A+1")
			w.at(20 * s)
			w.sweep()
			w.dead("q", "A:MaxDeliveryCountExceeded")
			w.expect("q", "")
		},
		"judged as of the end of the lock": func(w *testQueueHost) {
			w.queue("q", attempts(1), lockFor(10*s), flagged)
			w.send("q", msg("A", lives(15*s)), msg("B", lives(5*s)))
			w.expect("q", "A B")
			w.at(time.Hour)
			w.sweep()
			w.dead("q", "A:MaxDeliveryCountExceeded B:TTLExpiredException")
		},
		"lost": func(w *testQueueHost) {
			w.queue("q", lockFor(10*s))
			w.send("q", msg("A"))
			d := w.expect("q", "A")
			w.at(10 * s)
			for _, o := range []SettlementOutcome{Complete, Abandon, Release, Defer, DeadLetter} {
				w.loses("q", d[0], SettlementRequest{Outcome: o})
			}
			_, err := w.q.RenewLocks(w.ctx, entity.Address{Entity: "q"}, tokensOf(d))
			w.fails(err, entity.CodeMessageLockLost)
			w.expect("q", "A+1")
		},
		"settled twice": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A"))
			d := w.expect("q", "A")
			w.settle("q", d[0], SettlementRequest{Outcome: Complete})
			w.loses("q", d[0], SettlementRequest{})
			w.shows("q", "")
		},
		"changed by an update": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A"))
			d := w.expect("q", "A")
			w.update("q", lockFor(30*s))
			w.loses("q", d[0], SettlementRequest{})
			w.expect("q", "A")
		},
		"restart": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A"), msg("B"))
			d := w.expect("q", "A B")
			w.settle("q", d[1], SettlementRequest{Outcome: Complete})
			w.reopen()
			if storedLocksTested(t) { // they survive a server
				w.settle("q", d[0], SettlementRequest{Outcome: Release})
			}
			w.loses("q", d[0], SettlementRequest{})
			w.expect("q", "A")
		},
		"received and deleted": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A"), msg("B", lives(s)))
			w.at(s)
			d := w.take(entity.Address{Entity: "q"}, ReceiverOptions{Mode: ReceiveAndDelete})
			if texts(d) != "A" {
				w.t.Fatal(texts(d))
			}
			w.loses("q", d[0], SettlementRequest{})
			w.shows("q", "")
		},
		"dead letters": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A"))
			why, text := "R", "D"
			how := SettlementRequest{Outcome: DeadLetter, Reason: &why, Description: &text}
			w.settle("q", w.expect("q", "A")[0], how)
			w.dead("q", "A:R")
			dead := entity.Address{Entity: "q", Sub: entity.DeadLetters}
			for range 12 {
				d := w.take(dead, ReceiverOptions{})
				if texts(d) != "A" || d[0].Broker.SequenceNumber != 1 {
					w.t.Fatal(texts(d))
				}
				err := w.q.Settle(w.ctx, dead, d[0].Token, SettlementRequest{Outcome: DeadLetter}, nil)
				w.fails(err, entity.CodeNotAllowed)
				w.must(w.q.Settle(w.ctx, dead, d[0].Token, SettlementRequest{Outcome: Abandon}, nil))
			}
			d := w.take(dead, ReceiverOptions{})
			w.must(w.q.Settle(w.ctx, dead, d[0].Token, SettlementRequest{Outcome: Complete}, nil))
			w.dead("q", "")
		},
	} {
		for _, tidy := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				w := newTestHost(t, Options{})
				w.tidy = tidy
				play(w)
			})
		}
	}
}
