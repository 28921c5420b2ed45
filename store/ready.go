package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
)

// answerTime is the time for which a write may wait for a range before the store counts as not ready.
const answerTime = 10 * time.Second

// Ready reports whether the store works: the catalog can be written and read on disk, and each range of
// each container accepts a writer within 10 seconds. CodeUnavailable: one of these fails, and the message
// names it. The check runs only while Ready is called. Abandoned scripts (Metrics.StuckScripts) do not
// count, even if there are so many that no other script can start, because they block no range: items are
// still read and written, and only calls of scripts fail.
func (db *DB) Ready(ctx context.Context) error { return db.live().ready(ctx) }

func (ds *openDataset) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := notReady(ctx, "The catalog", ds.in.Ping(ctx)); err != nil {
		return err
	}
	for _, d := range ds.databases() {
		for _, c := range d.Containers() {
			for _, s := range c.state.Load().Ranges {
				what := fmt.Sprintf("The range %s of the container %s in the database %s", s.ID, c.name,
					d.rec.ID)
				if err := notReady(ctx, what, c.ds.awaitTurn(ctx, s.Scope)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// awaitTurn runs an empty transaction in an engine scope. Transactions in a scope run one after the other, so
// awaitTurn returns when the scope has let a writer in.
func (ds *openDataset) awaitTurn(ctx context.Context, scope []byte) error {
	_, err := ds.eng.Update(ctx, [][]byte{scope}, func(engine.Txn) error { return nil })
	return err
}

// notReady returns the error of a readiness check for err. If the check took too long, it says which part of
// the store, what, has not responded.
func notReady(ctx context.Context, what string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &fault.Error{Code: fault.CodeUnavailable, Message: what + " does not answer.", Err: err,
			Hint: "something holds it: look at the requests that are under way"}
	}
	return classify.ToFault(err)
}
