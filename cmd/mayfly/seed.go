package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// maxSeedBytes is how much of documents' text goes into the store at once.
const maxSeedBytes = 1 << 20

// seed brings into a store what a seed says and is not there: databases, containers and documents. What is
// there stays as it is, whatever became of it, so that a server can be started with the same seed again and
// again; a document that has expired is not there. A container that is there must have the seed's partition
// key.
func seed(ctx context.Context, db *store.DB, list []seedDatabase, log *slog.Logger) error {
	for i := range list {
		if err := list[i].plant(ctx, db, log); err != nil {
			return err
		}
	}
	return nil
}

func (d *seedDatabase) plant(ctx context.Context, db *store.DB, log *slog.Logger) error {
	in, err := db.Database(d.id)
	if fault.ErrorCode(err) == fault.CodeNotFound {
		in, err = db.CreateDatabase(ctx, d.id, d.throughput)
	}
	if err != nil {
		return d.wrong(err)
	}
	for i := range d.containers {
		c := &d.containers[i]
		n, err := c.plant(ctx, in)
		if err != nil {
			return err
		}
		log.Info("seeded", "database", d.id, "container", c.spec.ID, "new", n, "documents", len(c.documents))
	}
	return nil
}

// plant tells how many documents are new.
func (c *seedContainer) plant(ctx context.Context, d *store.Database) (n int, err error) {
	in, err := d.Container(c.spec.ID)
	if fault.ErrorCode(err) == fault.CodeNotFound {
		in, err = d.CreateContainer(ctx, c.spec, c.throughput)
	}
	if err != nil {
		return 0, c.wrong(err)
	}
	if have := in.Info().Spec.PartitionKey; !slices.Equal(have.Paths, c.spec.PartitionKey.Paths) {
		return 0, c.wrong(errors.New("the container is there already, with another partition key"))
	}
	for left := c.documents; len(left) > 0; {
		size, end := 0, 0
		for end < min(len(left), store.MaxBatchOperations) &&
			(end == 0 || size+len(left[end].operation.Body) <= maxSeedBytes) {
			size += len(left[end].operation.Body)
			end++
		}
		planted, err := plantDocuments(ctx, in, left[:end])
		if err != nil {
			return 0, err
		}
		n, left = n+planted, left[end:]
	}
	return n, nil
}

func plantDocuments(ctx context.Context, in *store.Container, list []seedDocument) (n int, err error) {
	ops := make([]store.Operation, len(list))
	for i := range list {
		ops[i] = list[i].operation
	}
	out, _, err := in.Batch(ctx, definition.PartitionKey{}, ops, store.BatchOptions{ContinueOnError: true})
	if err != nil {
		return 0, list[0].wrong(err)
	}
	for i, r := range out.Results {
		switch {
		case r.Err == nil:
			n++
		case fault.ErrorCode(r.Err) != fault.CodeConflict:
			return 0, list[i].wrong(r.Err)
		}
	}
	return n, nil
}
