package store

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// Bequeath sets the container's expiry sink, the destination of expired items, without checking that it
// exists. If name is empty, it removes the sink.
func (c *Container) Bequeath(ctx context.Context, kind, name string) error {
	_, err := c.ChangeSettings(ctx, func(s *definition.ContainerSettings) error {
		if s.OnExpire = nil; name != "" {
			s.OnExpire = &definition.OnExpireSettings{Sink: definition.ExpiredItemSinkReference{Kind: kind,
				Name: name}}
		}
		return nil
	})
	return err
}

// Highest returns the highest LSN of the container's ranges.
func (c *Container) Highest() uint64 { return highest([]*Container{c}) }

// StoredIDs returns the ids of all items stored in the container, including expired ones that are not
// purged yet.
func (c *Container) StoredIDs(ctx context.Context) (ids []string, err error) {
	err = c.ds.eng.View(ctx, func(r engine.Reader) error {
		for _, s := range c.state.Load().Ranges {
			it := r.Scan(layout.ScopeFamily(s.Scope, layout.FamilyItem), false)
			for it.Next() {
				item, err := c.items.Decode(layout.KeyRID(it.Key()), it.Value())
				if err != nil {
					return errors.Join(err, it.Close())
				}
				ids = append(ids, item.ID)
			}
			if err := it.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	return ids, err
}

// Reopened sets the container's expiry sink again after the store was opened again, because a sink set by
// Bequeath is not stored.
func (c *Container) Reopened(ctx context.Context, kind, name string) error {
	return c.change(ctx, func(st container.State, _ int64) (container.State, error) {
		sink := definition.ExpiredItemSinkReference{Kind: kind, Name: name}
		st.Rec.Settings.OnExpire = &definition.OnExpireSettings{Sink: sink}
		return st, nil
	})
}
