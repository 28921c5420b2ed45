package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/store/internal/work"
	"github.com/mayflydb/mayfly/ttl"
)

// DryRunTTL reports what changing the container's DefaultTTL to next would do at this moment. It fails with
// the same errors as the change itself. It runs for about a second at most; DryRun.Complete reports whether
// that was enough.
func (c *Container) DryRunTTL(ctx context.Context, next ttl.Seconds, o inspect.TTLChangeDryRunOptions) (
	inspect.TTLChangeDryRunResult, error) {
	c.ds.in.Enter()
	defer c.ds.in.Leave()
	watch := c.ds.startWatch(ctx)
	var d inspect.TTLChangeDryRunResult
	err := c.inspectDurable(ctx, func(state *view.ContainerAtTime, r engine.Reader) (err error) {
		d, err = inspect.DryRunTTL(state, r, next, o, watch.More)
		return err
	})
	d.Complete = !watch.Late
	return d, classify.ToFault(err)
}

// Forecast reports which items of one container are going to expire. It runs for about a second at most;
// Forecast.Complete reports whether that was enough.
func (c *Container) Forecast(ctx context.Context) (inspect.Forecast, error) {
	f := inspect.NewForecast()
	err := c.forecast(ctx, &f, c.ds.startWatch(ctx))
	return f, err
}

// Forecast reports which items are going to expire in all containers, each by its own clock. It takes about
// a second at most.
func (db *DB) Forecast(ctx context.Context) (inspect.Forecast, error) { return db.live().forecast(ctx) }

func (ds *openDataset) forecast(ctx context.Context) (inspect.Forecast, error) {
	ds.mu.RLock()
	containers := ds.cat.containers
	ds.mu.RUnlock()
	f := inspect.NewForecast()
	watch := ds.startWatch(ctx)
	for _, c := range containers {
		err := c.forecast(ctx, &f, watch)
		if err != nil && fault.ErrorCode(err) != fault.CodeOwnerNotFound { // dropped since
			return f, err
		}
	}
	f.Now = ds.now().Unix()
	return f, nil
}

// forecast adds the expiry times of the container's items to f. It stops early when the time limit of
// watch has passed.
func (c *Container) forecast(ctx context.Context, f *inspect.Forecast, watch *work.ScanTimeLimiter) error {
	c.ds.in.Enter()
	defer c.ds.in.Leave()
	if !c.state.Load().Policy().Active() {
		f.Now = c.moment()
		return nil
	}
	err := c.inspectDurable(ctx, func(state *view.ContainerAtTime, r engine.Reader) error {
		return f.Add(state, r, watch.More)
	})
	f.Complete = f.Complete && !watch.Late
	return classify.ToFault(err)
}

// ExplainItem reports when and why an item expires, or has expired. For an item that does not exist it
// returns StateUnknown or StatePurged, not an error. It fails with CodeBadRequest if the partition key does
// not fit the container's definition.
func (c *Container) ExplainItem(ctx context.Context, pk definition.PartitionKey, id string) (
	inspect.ItemExpiryExplanation, error) {
	c.ds.in.Enter()
	defer c.ds.in.Leave()
	p, err := c.keyPlace(pk, id)
	if err != nil {
		return inspect.ItemExpiryExplanation{}, err
	}
	var e inspect.ItemExpiryExplanation
	err = c.lookAt(ctx, p, func(state *view.ContainerAtTime, r engine.Reader) (err error) {
		e, _, err = inspect.Explain(state, r, p)
		return err
	})
	return e, err
}

// keyPlace returns the location of the item with the given partition key and id.
func (c *Container) keyPlace(pk definition.PartitionKey, id string) (inspect.ItemKey, error) {
	pk, err := c.def.FullKey(pk, id)
	if err != nil {
		return inspect.ItemKey{}, err
	}
	if id == "" {
		return inspect.ItemKey{}, fault.New(fault.CodeBadRequest, "The id of an item must not be empty.")
	}
	p := c.items.Locate(pk, id)
	return inspect.ItemKey{ID: p.ID, EPK: p.EPK, PK: p.PK, Point: p.Point}, nil
}

// lookAt runs fn over a snapshot of the container, from which fn reads about the item at p. When lookAt
// returns without an error, everything that fn has read in the item's partition range is durable.
func (c *Container) lookAt(ctx context.Context, p inspect.ItemKey,
	fn func(state *view.ContainerAtTime, r engine.Reader) error) error {
	var scope []byte
	err := c.inspect(ctx, func(state *view.ContainerAtTime, _ *container.State, r engine.Reader) error {
		scope = state.RangeOf(p.EPK).Scope
		return fn(state, r)
	})
	if err == nil {
		err = c.ds.settle(ctx, scope, 0)
	}
	return classify.ToFault(err)
}
