package store

import (
	"context"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// Bequeath gives the container an expiry sink that no setting names yet; none where name is empty.
func (c *Container) Bequeath(ctx context.Context, kind, name string) error {
	_, err := c.ChangeSettings(ctx, func(s *definition.ContainerSettings) error {
		if s.OnExpire = nil; name != "" {
			s.OnExpire = &definition.OnExpire{Sink: definition.ExpirySink{Kind: kind, Name: name}}
		}
		return nil
	})
	return err
}

// Highest is the highest LSN of the container's ranges.
func (c *Container) Highest() uint64 { return highest([]*Container{c}) }

// StoredIDs are the ids of all items that lie in the container, dead or alive.
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

// Reopened gives the container the expiry sink back that it had before the store was opened anew: it is not
// stored.
func (c *Container) Reopened(ctx context.Context, kind, name string) error {
	return c.change(ctx, func(st container.State, _ int64) (container.State, error) {
		st.Rec.Settings.OnExpire = &definition.OnExpire{Sink: definition.ExpirySink{Kind: kind, Name: name}}
		return st, nil
	})
}
