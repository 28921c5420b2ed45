package store

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
)

// While a server splits a range, the other servers cannot write to it, since the copy would miss their
// writes. Their writes wait for the end of the split. They do not ask the engine meanwhile: the end of a
// split changes the catalog, which each server follows.

// afterSplit checks whether a write has failed with err because another server is splitting the range. If
// so, it waits until that server's split has ended and returns true: the write may be repeated. It waits
// for Options.QueryTime at most. Otherwise it returns err. The caller holds neither the gate nor the
// catalog's lock.
func (c *Container) afterSplit(ctx context.Context, err error) (bool, error) {
	if !errors.Is(err, container.ErrSplitElsewhere) || !c.ds.in.Shared() {
		return false, err
	}
	alarm, stop := c.ds.opts.Wall.After(c.ds.opts.QueryTime)
	defer stop()
	for {
		change := c.splitEnds.Changed()
		if err := c.followSplit(ctx); err != nil { // the split may have ended before Changed
			return false, err
		}
		if !c.state.Load().Elsewhere {
			return true, nil
		}
		select {
		case <-change:
		case <-alarm:
			return false, err
		case <-ctx.Done():
			return false, classify.ToFault(ctx.Err())
		}
	}
}

// retryAfterSplit runs fn, which changes the container, and repeats it as long as the split of another
// server has prevented that: see afterSplit.
func (c *Container) retryAfterSplit(ctx context.Context, fn func() error) error {
	for {
		again, err := c.afterSplit(ctx, fn())
		if !again {
			return err
		}
	}
}
