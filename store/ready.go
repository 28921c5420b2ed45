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

// answerTime is how long a range may let others wait before the store does not count as ready any more.
const answerTime = 10 * time.Second

// Ready reports whether the store works: the catalog can be written and read, all the way down to the disk,
// and each range of each container answers a writer within 10 seconds. CodeUnavailable: something does not,
// and the message says what. It asks when it is called, and nothing runs between two calls. Scripts that had
// to be left behind (Metrics.StuckScripts) hold no range, so they do not count, not even where there are so
// many that no other is begun: items are read and written all the same, and a client that calls a script is
// told.
func (db *DB) Ready(ctx context.Context) error { return db.live().ready(ctx) }

func (ds *dataset) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := notReady(ctx, "The catalog", ds.in.Ping(ctx)); err != nil {
		return err
	}
	for _, d := range ds.databases() {
		for _, c := range d.Containers() {
			for _, s := range c.state.Load().ranges {
				what := fmt.Sprintf("The range %s of the container %s in the database %s", s.id, c.name,
					d.rec.ID)
				if err := notReady(ctx, what, c.ds.awaitTurn(ctx, s.scope)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// awaitTurn returns once a writer has had its turn in a scope.
func (ds *dataset) awaitTurn(ctx context.Context, scope []byte) error {
	_, err := ds.eng.Update(ctx, [][]byte{scope}, func(engine.Txn) error { return nil })
	return err
}

// notReady says of an error what has not answered.
func notReady(ctx context.Context, what string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &fault.Error{Code: fault.CodeUnavailable, Message: what + " does not answer.", Err: err,
			Hint: "something holds it: look at the requests that are under way"}
	}
	return classify.ToFault(err)
}
