package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// TestJoinedRequestOfFailedGroup checks that an Update that has joined a group, whose Updates share a
// database transaction, gets the group's error even if its function has not run, whether or not its
// context has ended.
func TestJoinedRequestOfFailedGroup(t *testing.T) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for name, c := range map[string]context.Context{"live": ctx, "ended": ended} {
		t.Run(name, func(t *testing.T) {
			queue := &scopeUpdateQueue{}
			newRequest := func(ctx context.Context) *runningEngineUpdate {
				return &runningEngineUpdate{ctx: ctx, queues: []*scopeUpdateQueue{queue},
					signal: make(chan *txn, 1),
					ran:    make(chan struct{}, 1), done: make(chan struct{})}
			}
			lead, follower := newRequest(ctx), newRequest(c)
			if !queue.acquire(lead) || queue.acquire(follower) {
				t.Fatal("the queue does not work")
			}
			g := &groupCommit{lead: lead, members: append([]*runningEngineUpdate{lead},
				queue.join(maxGroup)...)}
			leads := make(chan bool)
			go func() { leads <- follower.wait(queue) }()
			g.retryOrFail(engine.ErrDiskFull)
			if <-leads || !errors.Is(follower.err, engine.ErrDiskFull) || follower.started {
				t.Errorf("the error is %v", follower.err)
			}
		})
	}
}
