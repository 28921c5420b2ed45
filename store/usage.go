package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Usage counts the container's documents. The first call after a write reads the container's feed keys.
// Everything it counts is durable.
func (c *Container) Usage(ctx context.Context) (inspect.Usage, error) {
	if err := c.count.Lock(ctx); err != nil {
		return inspect.Usage{}, classify.ToFault(err)
	}
	defer c.count.Unlock()
	at := c.ds.purged.Load()
	for _, s := range c.state.Load().Ranges {
		at += c.ds.eng.Horizon(s.Scope)
	}
	if c.count.valid && c.count.at == at {
		return c.count.usage, nil
	}
	var u inspect.Usage
	err := c.inspectDurable(ctx, func(state *view.State, r engine.Reader) (err error) {
		u, err = inspect.Measure(state, r)
		return err
	})
	if c.count.at, c.count.valid, c.count.usage = at, err == nil, u; err == nil {
		text := u.Text()
		c.count.text.Store(&text)
	}
	return u, classify.ToFault(err)
}

// Statistics measures each partition range. Everything it measures is durable.
func (c *Container) Statistics(ctx context.Context) (list []inspect.RangeStatistics, err error) {
	err = c.inspectDurable(ctx, func(state *view.State, r engine.Reader) (err error) {
		list, err = inspect.MeasureRanges(state, r)
		return err
	})
	return list, classify.ToFault(err)
}
