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
func (c *Container) Usage(ctx context.Context) (inspect.StorageUsage, error) {
	if err := c.count.Lock(ctx); err != nil {
		return inspect.StorageUsage{}, classify.ToFault(err)
	}
	defer c.count.Unlock()
	var u inspect.StorageUsage
	var version string
	err := c.inspectDurable(ctx, func(state *view.ContainerAtTime, r engine.Reader) (err error) {
		if version, err = inspect.Version(state, r, c.ds.in.Shared(), c.ds.purged.Load()); err != nil {
			return err
		}
		if u = c.count.usage; version == "" || version != c.count.version {
			u, err = inspect.Measure(state, r)
		}
		return err
	})
	if err != nil {
		return u, classify.ToFault(err)
	}
	c.count.version, c.count.usage = version, u
	text := u.Text()
	c.count.text.Store(&text)
	return u, nil
}

// Statistics returns for each partition range its storage use and its largest partition keys. Everything
// it measures is durable.
func (c *Container) Statistics(ctx context.Context) (list []inspect.RangeStatistics, err error) {
	err = c.inspectDurable(ctx, func(state *view.ContainerAtTime, r engine.Reader) (err error) {
		list, err = inspect.MeasureRanges(state, r)
		return err
	})
	return list, classify.ToFault(err)
}
