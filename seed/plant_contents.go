package seed

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// maxBatchBytes is how much of documents' text goes into the store at once.
const maxBatchBytes = 1 << 20

// settings changes Mayfly's own settings of containers.
func (p *planter) settings(ctx context.Context, d *database, in *store.Database) error {
	for _, c := range d.containers {
		if c.settings == nil {
			continue
		}
		there, err := in.Container(c.spec.ID)
		if err != nil {
			return c.place.Wrap("", err)
		}
		have, want := there.Settings(), there.Settings()
		c.settings.overlay(&want)
		before, err1 := json.Marshal(have)
		after, err2 := json.Marshal(want)
		if err1 == nil && err2 == nil && bytes.Equal(before, after) {
			continue
		}
		p.Changed++
		_, err = there.ChangeSettings(ctx, func(s *store.ContainerSettings) error {
			c.settings.overlay(s)
			return nil
		})
		if err != nil {
			return c.settings.Self.Place.Wrap("settings", err)
		}
	}
	return nil
}

// overlay sets what the seed names.
func (s *Settings) overlay(to *store.ContainerSettings) {
	for _, m := range s.Self.Members {
		switch m.Name {
		case "onExpire":
			to.OnExpire = s.OnExpire
		case "ttlCeiling":
			to.TTLCeiling = s.TTLCeiling
		case "autoDeleteOnIdle":
			to.AutoDeleteOnIdle = s.AutoDeleteOnIdle
		case "expiryEvents":
			to.ExpiryEvents = s.ExpiryEvents
		case "reaper":
			to.Reaper = s.Reaper
		case "changesTo":
			to.ChangesTo = s.ChangesTo
		}
	}
}

func (p *planter) scripts(ctx context.Context, d *database, in *store.Database) error {
	for _, c := range d.containers {
		there, err := in.Container(c.spec.ID)
		if err != nil {
			return c.place.Wrap("", err)
		}
		for i := range c.scripts {
			if err := p.resource(ctx, there.Resources(c.scripts[i].kind), &c.scripts[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *planter) users(ctx context.Context, d *database, in *store.Database) error {
	for i := range d.users {
		u := &d.users[i]
		if err := p.resource(ctx, in.Resources(store.KindUser), &u.resource); err != nil {
			return err
		}
		permissions, err := in.Permissions(u.id)
		if err != nil {
			return u.place.Wrap("", err)
		}
		for j := range u.permissions {
			if err := p.resource(ctx, permissions, &u.permissions[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

// resource makes a small resource, or changes what is another way.
func (p *planter) resource(ctx context.Context, in store.Resources, r *resource) error {
	there, err := in.Read(r.id)
	switch {
	case fault.ErrorCode(err) == fault.CodeNotFound:
		p.Made++
		_, err = in.Create(ctx, r.body)
	case err == nil && !doc.Equal(doc.Of(there.Body), doc.Of(r.body)):
		p.Changed++
		_, err = in.Replace(ctx, r.id, r.body, store.WriteOptions{})
	}
	return r.place.Wrap("", err)
}

// documents makes those that are not there.
func (p *planter) documents(ctx context.Context, d *database, in *store.Database) error {
	for _, c := range d.containers {
		there, err := in.Container(c.spec.ID)
		if err != nil {
			return c.place.Wrap("", err)
		}
		before := p.Documents
		for left := c.documents; len(left) > 0; {
			size, end := 0, 0
			for end < min(len(left), store.MaxBatchOperations) &&
				(end == 0 || size+len(left[end].operation.Body) <= maxBatchBytes) {
				size += len(left[end].operation.Body)
				end++
			}
			if err := p.batch(ctx, there, left[:end]); err != nil {
				return err
			}
			left = left[end:]
		}
		p.Log.Info("seeded", "database", d.id, "container", c.spec.ID, "new", p.Documents-before,
			"documents", len(c.documents))
	}
	return nil
}

func (p *planter) batch(ctx context.Context, in *store.Container, list []document) error {
	ops := make([]store.Operation, len(list))
	for i := range list {
		ops[i] = list[i].operation
	}
	out, _, err := in.Batch(ctx, definition.PartitionKey{}, ops, store.BatchOptions{ContinueOnError: true})
	if err != nil {
		return list[0].place.Wrap("", err)
	}
	for i, r := range out.Results {
		switch {
		case r.Err == nil:
			p.Documents++
		case fault.ErrorCode(r.Err) != fault.CodeConflict:
			return list[i].place.Wrap("", r.Err)
		}
	}
	return nil
}

// Counts is how much a seed has.
type Counts struct {
	Databases  int `json:"databases"`
	Containers int `json:"containers"`
	Documents  int `json:"documents"`
	Entities   int `json:"entities"` // queues, topics and subscriptions
}

// Count counts what is in the seed.
func (s *Seed) Count() (c Counts) {
	names := map[string]bool{}
	for _, d := range s.databases {
		names[d.id] = true
		for _, in := range d.containers {
			c.Documents += len(in.documents)
		}
	}
	for _, e := range s.entities {
		c.Entities += e.Len()
	}
	c.Databases, c.Containers = len(names), len(s.known)
	return c
}
