package store

import (
	"context"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
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
	err := c.inspectDurable(ctx, func(state *view.ContainerState, r engine.Reader) (err error) {
		if version, err = c.usageVersion(state, r); err != nil {
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

// usageVersion returns a text that differs whenever the set of stored items differs, or "" if no such text
// can be given at the moment. It consists of the LSNs of the ranges, which every write changes, and of the
// purges, which may change no LSN. A server that is alone counts its purges. If there may be several servers,
// each purge stores its second; while that second lasts, another purge may follow, and usageVersion returns
// "".
func (c *Container) usageVersion(state *view.ContainerState, r engine.Reader) (version string, err error) {
	scopes, swept := make([][]byte, len(state.Ranges)), make([][]byte, len(state.Ranges))
	for i := range state.Ranges {
		scopes[i] = state.Ranges[i].Scope
		swept[i] = layout.SweptKey(scopes[i])
	}
	at, err := r.Positions(scopes)
	if err != nil {
		return "", err
	}
	for i, p := range at {
		if !p.Settled {
			return "", nil
		}
		version += fmt.Sprint(state.Ranges[i].ID, " ", p.LSN, " ", p.Mark, " ")
	}
	if !c.ds.in.Shared() {
		return version + fmt.Sprint(c.ds.purged.Load()), nil
	}
	err = engine.GetEach(r, swept, func(_ int, value []byte) (bool, error) {
		second, _ := layout.NumberOf(value)
		if version += fmt.Sprint(second, " "); int64(second) >= state.Now {
			version = ""
		}
		return version != "", nil
	})
	return version, err
}

// Statistics measures each partition range. Everything it measures is durable.
func (c *Container) Statistics(ctx context.Context) (list []inspect.RangeStatistics, err error) {
	err = c.inspectDurable(ctx, func(state *view.ContainerState, r engine.Reader) (err error) {
		list, err = inspect.MeasureRanges(state, r)
		return err
	})
	return list, classify.ToFault(err)
}
