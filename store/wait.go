package store

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// ContainerWaitCondition is what Container.Wait waits for, such as the expiry or the purge of an item.
type ContainerWaitCondition uint8

// The conditions that Wait can wait for.
const (
	// WaitExpired: the item is no longer visible.
	WaitExpired ContainerWaitCondition = iota
	// WaitPurged: the item is deleted from the engine, so that it takes no space any more.
	WaitPurged
	// WaitFeed: the change feed has a change of the item with an LSN above ItemConditionWaitRequest.After.
	// Deletes and expiries are changes only if the container keeps all versions.
	WaitFeed
	// WaitQuiet: no background work is left in the container: expired items are purged, deleted partition
	// keys are freed, and documents are indexed by the current policy.
	WaitQuiet
)

// ItemConditionWaitRequest is the request of Wait: a condition and the item that it is about.
type ItemConditionWaitRequest struct {
	For   ContainerWaitCondition
	Key   ItemKey // of the item; not for WaitQuiet
	After uint64  // an LSN, for WaitFeed
}

// ContainerWaitResult is the result of waiting for an item or a container to reach a state: the expiry of the
// item when the wait ended, and the change for which a feed reader waited.
type ContainerWaitResult struct {
	Expiry inspect.ItemExpiryExplanation // of the item; for WaitQuiet only Now
	LSN    uint64                        // of the change, for WaitFeed
	Change ChangeKind                    // for WaitFeed; ChangeLatest if the feed has only latest versions
}

// Wait waits until the condition is true. It sleeps until the container changes or its clock has reached
// the moment at which the item expires, so it uses no CPU while it waits. If ctx ends first, the error is
// CodeCanceled and the result has the current state. If the store is closed, the error is CodeUnavailable.
func (c *Container) Wait(ctx context.Context, req ItemConditionWaitRequest) (ContainerWaitResult, error) {
	w := containerWaitCall{c: c, req: req}
	if req.For != WaitQuiet {
		var err error
		if w.place, err = c.keyPlace(req.Key.Partition, req.Key.ID); err != nil {
			return ContainerWaitResult{}, err
		}
	}
	for {
		change := c.Changed()
		done, wake, err := w.check(context.WithoutCancel(ctx))
		if done || err != nil {
			return w.out, classify.ToFault(err)
		}
		if ended := c.sleep(ctx, change, wake); ended != nil {
			// A change may have happened at the same moment.
			if done, _, err := w.check(context.WithoutCancel(ctx)); done || err != nil {
				return w.out, classify.ToFault(err)
			}
			return w.out, ended
		}
	}
}

// sleep waits for a change, or until the container's clock reaches wake, a time in Unix seconds. If wake is
// never, it waits only for a change.
func (c *Container) sleep(ctx context.Context, change <-chan struct{}, wake int64) error {
	var alarm <-chan time.Time
	if wake != never {
		fires, stop := ttl.At(c.d.clock.Base(), time.Unix(wake, 0))
		defer stop()
		alarm = fires
	}
	select {
	case <-change:
	case <-alarm:
	case <-ctx.Done():
		return classify.ToFault(ctx.Err())
	}
	return nil
}

// containerWaitCall is one call of Wait: it checks the condition after each change until the condition is
// true.
type containerWaitCall struct {
	c     *Container
	req   ItemConditionWaitRequest
	place inspect.ItemKey
	out   ContainerWaitResult
}

// check reports whether the condition is true. If not, wake is the second at which to check again even
// without a change.
func (w *containerWaitCall) check(ctx context.Context) (done bool, wake int64, err error) {
	if w.req.For == WaitQuiet {
		done, err = w.checkQuiet(ctx)
		return done, never, err
	}
	wake = never
	err = w.c.lookAt(ctx, w.place, func(state *view.ContainerAtTime, r engine.Reader) error {
		e, lsn, err := inspect.Explain(state, r, w.place)
		if err != nil {
			return err
		}
		w.out.Expiry = e
		if e.State == inspect.StateLive && e.Mortal {
			wake = e.ExpiresAt
		}
		switch w.req.For {
		case WaitExpired:
			done = e.State != inspect.StateLive
		case WaitPurged:
			done = e.State != inspect.StateLive && e.State != inspect.StateGhost
		default:
			done, err = w.checkFeed(state, r, lsn)
		}
		return err
	})
	return done, wake, err
}

// checkFeed reports whether the feed has a change of the item after the requested LSN. lsn is that of the
// item's current version, if it has one.
func (w *containerWaitCall) checkFeed(state *view.ContainerAtTime, r engine.Reader, lsn uint64) (bool,
	error) {
	if state.Versions > 0 {
		scope := state.RangeOf(w.place.EPK).Scope
		v, lsn, found, err := inspect.LastEntry(r, scope, layout.FamilyVersions, w.place, w.req.After)
		if found {
			w.out.LSN, w.out.Change = lsn, ChangeKind(v.Kind)
		}
		return found, err
	}
	if w.out.Expiry.State != inspect.StateLive || lsn <= w.req.After {
		return false, nil
	}
	w.out.LSN, w.out.Change = lsn, ChangeLatest
	return true, nil
}

func (w *containerWaitCall) checkQuiet(ctx context.Context) (quiet bool, err error) {
	err = w.c.inspect(ctx, func(state *view.ContainerAtTime, _ *container.State, r engine.Reader) error {
		w.out.Expiry.Now = state.Now
		quiet = len(state.Tombstones) == 0 && len(state.Olders) == 0
		for i := range state.Ranges {
			if !quiet {
				return nil
			}
			left, err := inspect.Ghosts(state, &state.Ranges[i], r, 1)
			if err != nil {
				return err
			}
			quiet = left.Items == 0
		}
		return nil
	})
	return quiet, err
}
