package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
)

// A migration copies all keys of one engine to another one, except the first record of the catalog. The
// target gets a first record that names the source, so that no host opens the target before all keys have
// been copied. Then the source's first record names the target, so that no host opens the source any more,
// and the target gets the source's first record.

// HeadKey returns the key of the first record of the catalog, which a migration does not copy like the other
// keys.
func HeadKey() []byte { return headKey() }

// BeginMigration reserves an engine without data as the target of a migration. source describes the data that
// will come. It may be called again for the same source. It fails with engine.ErrNotDatabase if the engine
// has other data.
func BeginMigration(ctx context.Context, target engine.Engine, source string) error {
	_, err := target.Update(ctx, [][]byte{CatalogScope()}, func(t engine.Txn) error {
		h, _, err := readHead(t)
		switch {
		case errors.Is(err, engine.ErrNotFound):
		case err != nil:
			return err
		case h.Incoming == source:
			return nil
		case h.Incoming != "":
			return fmt.Errorf("%w: a migration from %s has begun there", engine.ErrNotDatabase, h.Incoming)
		default:
			return fmt.Errorf("%w: a store", engine.ErrNotDatabase)
		}
		return SetRecord(t, headKey(), catalogHeader{Format: formatVersion, Incoming: source})
	})
	return err
}

// OpenSource prepares the data of an engine for a migration to a target. It fails if there are no data
// (engine.ErrNotFound), if they have another format, if a migration to this engine is not complete, if they
// have been migrated elsewhere, or if a server that shares them is running (engine.ErrLocked). From now on
// no host opens data that can be shared: if the migration fails, it must be repeated, or ended by Reopen.
func OpenSource(ctx context.Context, source engine.Engine, target string) error {
	shared := engine.IsShared(source)
	if shared {
		if err := noServers(ctx, source); err != nil {
			return err
		}
	}
	was := ""
	_, err := source.Update(ctx, [][]byte{CatalogScope()}, func(t engine.Txn) error {
		h, _, err := readHead(t)
		if err != nil {
			return err
		}
		if was = h.Moved; was == target {
			h.Moved = ""
		}
		if err := h.readable(); err != nil || !shared {
			return err
		}
		h.Moved = target
		return SetRecord(t, headKey(), h)
	})
	if err != nil || !shared {
		return err
	}
	// A server that has started in the meantime may have read the record before the change.
	if err := noServers(ctx, source); err != nil {
		if was == "" {
			err = errors.Join(err, Reopen(ctx, source))
		}
		return err
	}
	return nil
}

// noServers fails with engine.ErrLocked if a server that shares the data is running.
func noServers(ctx context.Context, e engine.Engine) error {
	return e.View(ctx, func(r engine.Reader) error {
		at, err := r.Positions([][]byte{leaseScope()}) // for the time of the database
		if err != nil {
			return err
		}
		return scanRecords(r, leaseRecords(leaseServer), func(_ []byte, rec leaseRecord) error {
			if rec.Until <= at[0].Now {
				return nil
			}
			return fmt.Errorf("%w: a server uses the data, or was killed in the last %v", engine.ErrLocked, leaseTime)
		})
	})
}

// EndMigration ends a migration after all keys except HeadKey have been copied to the target. First it
// marks the source as moved to name, so that no host opens it any more; then it writes HeadKey to the
// target, so that a host opens it. It may be called again after a failure.
func EndMigration(ctx context.Context, source, target engine.Engine, name string) error {
	var h catalogHeader
	_, err := source.Update(ctx, [][]byte{CatalogScope()}, func(t engine.Txn) (err error) {
		if h, _, err = readHead(t); err != nil {
			return err
		}
		moved := h
		moved.Moved = name
		return SetRecord(t, headKey(), moved)
	})
	if err != nil {
		return err
	}
	h.Moved = ""
	_, err = target.Update(ctx, [][]byte{CatalogScope()}, func(t engine.Txn) error {
		return SetRecord(t, headKey(), h)
	})
	return err
}

// Reopen makes it possible again to open the source of a migration, after its data were migrated to a target.
// The source does not contain what has been written to the target since.
func Reopen(ctx context.Context, source engine.Engine) error {
	_, err := source.Update(ctx, [][]byte{CatalogScope()}, func(t engine.Txn) error {
		h, _, err := readHead(t)
		if err != nil {
			return err
		}
		h.Moved = ""
		return SetRecord(t, headKey(), h)
	})
	return err
}
