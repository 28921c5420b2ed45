package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// TestTransaction checks that the sends and settlements of a transaction take effect together, or not at
// all.
func TestTransaction(t *testing.T) {
	t.Parallel()
	a := entity.Address{Entity: "q"}
	begin := func(w *testQueueHost) *Transaction {
		tx, err := w.q.Begin(w.ctx)
		w.must(err)
		return tx
	}
	for name, play := range map[string]func(w *testQueueHost){
		"committed": func(w *testQueueHost) {
			w.queue("q", attempts(1))
			w.queue("p")
			w.send("q", msg("A"), msg("B"))
			d := w.expect("q", "A B")
			tx := begin(w)
			w.must(w.q.Settle(w.ctx, a, d[0].Token, SettlementRequest{}, tx))
			w.must(w.q.Settle(w.ctx, a, d[1].Token, SettlementRequest{Outcome: Abandon}, tx))
			w.fails(w.q.Settle(w.ctx, a, d[0].Token, SettlementRequest{}, nil), entity.CodeMessageLockLost)
			w.must(w.q.Send(w.ctx, address("p"), []*message.Message{msg("C")}, tx))
			w.shows("q", "A B")
			w.shows("p", "")
			w.must(tx.Commit(w.ctx))
			w.shows("q", "")
			w.dead("q", "B:MaxDeliveryCountExceeded")
			w.expect("p", "C")
			w.fails(tx.Commit(w.ctx), entity.CodeNotAllowed)
			w.fails(w.q.Send(w.ctx, address("p"), []*message.Message{msg("D")}, tx), entity.CodeNotAllowed)
		},
		"given up": func(w *testQueueHost) {
			w.queue("q")
			w.send("q", msg("A"))
			d := w.expect("q", "A")
			tx := begin(w)
			w.must(w.q.Send(w.ctx, address("q"), []*message.Message{msg("B")}, tx))
			w.must(w.q.Settle(w.ctx, a, d[0].Token, SettlementRequest{}, tx))
			tx.Rollback()
			w.expect("q", "")
			w.settle("q", d[0], SettlementRequest{})
			w.shows("q", "")
		},
		"fails as a whole": func(w *testQueueHost) {
			w.queue("q")
			w.queue("p")
			w.send("q", msg("A"))
			d := w.expect("q", "A")
			tx := begin(w)
			w.must(w.q.Settle(w.ctx, a, d[0].Token, SettlementRequest{}, tx))
			w.must(w.q.Send(w.ctx, address("p"), []*message.Message{msg("B")}, tx))
			w.remove("p")
			w.fails(tx.Commit(w.ctx), entity.CodeEntityNotFound)
			w.settle("q", d[0], SettlementRequest{Outcome: Release})
			w.expect("q", "A")
		},
		"ends by itself": func(w *testQueueHost) {
			w.queue("q", lockFor(5*time.Minute))
			w.send("q", msg("A"))
			d := w.expect("q", "A")
			tx := begin(w)
			w.must(w.q.Settle(w.ctx, a, d[0].Token, SettlementRequest{}, tx))
			w.at(2 * time.Minute)
			w.fails(w.q.Send(w.ctx, address("q"), []*message.Message{msg("B")}, tx), entity.CodeNotAllowed)
			w.fails(tx.Commit(w.ctx), entity.CodeNotAllowed)
			w.at(5 * time.Minute)
			w.expect("q", "A+1")
		},
		"too large": func(w *testQueueHost) {
			w.queue("q")
			tx := begin(w)
			for i := range 100 {
				w.must(w.q.Send(w.ctx, address("q"), []*message.Message{msg(fmt.Sprint(i))}, tx))
			}
			w.fails(w.q.Send(w.ctx, address("q"), []*message.Message{msg("A")}, tx), entity.CodeQuotaExceeded)
			tx.Rollback()
		},
	} {
		both(t, name, play)
	}
}
