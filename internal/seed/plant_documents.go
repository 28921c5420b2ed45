package seed

import (
	"context"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// maxBatchBytes is the size in bytes of the documents that are stored at once.
const maxBatchBytes = 1 << 20

// documents creates the documents of the seed that do not exist.
func (p *seedApplier) documents(ctx context.Context, d *desiredDatabase, in *store.Database) error {
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
			if err := p.batch(ctx, c, there, left[:end]); err != nil {
				return err
			}
			left = left[end:]
		}
		p.Log.Info("seeded", "database", d.id, "container", c.spec.ID, "new", p.Documents-before,
			"documents", len(c.documents))
	}
	return nil
}

func (p *seedApplier) batch(ctx context.Context, c *desiredContainer, in *store.Container,
	list []desiredDocument) error {
	ops := make([]store.ItemOperation, len(list))
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
		default:
			if err := p.handleConflict(ctx, c, in, &list[i], r.Err); err != nil {
				return err
			}
		}
	}
	return nil
}

// handleConflict handles a document that cannot be created: either it exists already, or another document
// has the same unique key. If the seed has created the container, the other document is from the seed as
// well, and handleConflict fails. Otherwise a user may have written it, and handleConflict logs a warning.
func (p *seedApplier) handleConflict(ctx context.Context, c *desiredContainer, in *store.Container,
	d *desiredDocument,
	conflict error) error {
	body := d.operation.Body
	_, _, err := in.Read(ctx, in.PartitionKeyOf(body), jsondoc.Of(body).Member("id").Str(),
		store.ReadOptions{})
	switch {
	case fault.ErrorCode(err) != fault.CodeNotFound:
		return d.place.Wrap("", err)
	case p.made[c]:
		return d.place.Wrap("another document has the same unique key", conflict)
	}
	p.Log.Warn("a document of the seed was not created: another document has the same unique key", "place",
		d.place.String())
	return nil
}

// ObjectCounts is the number of objects in a seed.
type ObjectCounts struct {
	Databases  int `json:"databases"`
	Containers int `json:"containers"`
	Documents  int `json:"documents"`
	Entities   int `json:"entities"` // queues, topics and subscriptions
}

// Count counts the objects in the seed.
func (s *Seed) Count() (c ObjectCounts) {
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
