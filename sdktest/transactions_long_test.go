//go:build long

package sdktest

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// TestServiceBusTransactionCampaign runs ten thousand pipelined transactions with the AMQP client Qpid
// Proton, a third of which are rolled back, and kills the server again and again. Each transaction must
// have taken effect completely or not at all.
func TestServiceBusTransactionCampaign(t *testing.T) {
	const transactions = 10_000
	dir, seed := t.TempDir(), rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	b := startBus(t, "--data", dir)
	b.create(t, "q")
	argv, l := protonProgram(t), &transactionModel{}
	kills := 0
	for next := 0; next < transactions; {
		stop := make(chan struct{})
		killed := make(chan error, 1)
		go func() {
			select {
			case <-stop:
				killed <- nil
			case <-time.After(time.Duration(500+rng.IntN(2500)) * time.Millisecond):
				killed <- b.Kill()
			}
		}()
		whole := l.play(t, b, argv, "--first", strconv.Itoa(next), "--count", strconv.Itoa(transactions-next),
			"--open",
			"16", "--rollback", "33", "--seed", strconv.Itoa(rng.IntN(1<<30)))
		close(stop)
		must(t, <-killed)
		for n := range l.asked {
			next = max(next, n+1)
		}
		if whole {
			break
		}
		kills++
		check(t, dir)
		must(t, b.Start(t.Context()))
		l.check(t, b.peekAll(t, "q"), 0)
		if t.Failed() {
			t.FailNow()
		}
	}
	if !b.Running() {
		must(t, b.Start(t.Context()))
	}
	l.check(t, b.peekAll(t, "q"), 0)
	committed, unknown := 0, 0
	for n, commit := range l.asked {
		switch {
		case l.done[n] == "commit":
			committed++
		case commit && l.done[n] == "":
			unknown++
		}
	}
	t.Logf("%d transactions: %d committed, %d rolled back, %d never answered, %d kills", len(l.asked),
		committed,
		l.rolledBack(), unknown, kills)
	must(t, b.Stop())
	check(t, dir)
}
