package queue

import (
	"context"
	"testing"

	"github.com/mayflydb/mayfly/queue/entity"
)

// TestAwait checks when Queues.Await returns: after the change that it waits for, after the entity was
// deleted, and when its context ends.
func TestAwait(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("q")
	type told struct {
		e   entity.Entity
		err error
	}
	await := func(ctx context.Context, until func(entity.Entity) bool) chan told {
		answer, q := make(chan told, 1), w.q
		go func() {
			e, err := q.Await(ctx, "q", until)
			answer <- told{e, err}
		}()
		return answer
	}
	never := func(entity.Entity) bool { return false }
	two := await(w.ctx, func(e entity.Entity) bool { return e.Counts.Active >= 2 })
	w.send("q", msg("A"))
	w.send("q", msg("B"))
	if got := <-two; got.err != nil || got.e.Counts.Active != 2 {
		t.Errorf("%+v %v", got.e.Counts, got.err)
	}
	empty := await(w.ctx, func(e entity.Entity) bool { return e.Counts.Active == 0 })
	w.take(entity.Address{Entity: "q"}, ReceiverOptions{Mode: ReceiveAndDelete})
	if got := <-empty; got.err != nil {
		t.Error(got.err)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	impatient := await(ctx, never)
	cancel()
	w.fails((<-impatient).err, entity.CodeTimeout)
	gone := await(w.ctx, never)
	w.remove("q")
	w.fails((<-gone).err, entity.CodeEntityNotFound)
	w.queue("q")
	stopped := await(w.ctx, never)
	w.reopen()
	w.fails((<-stopped).err, entity.CodeCancelled)
}
