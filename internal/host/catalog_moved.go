package host

import (
	"context"
	"errors"
)

// ErrCatalogMoved is returned by a CatalogTxn if another host has changed the catalog since the lock was
// taken. Nothing was written. A retry uses the stored records.
var ErrCatalogMoved = errors.New("host: another host has changed the catalog meanwhile")

// RetryMoved runs fn, which takes the catalog's lock and changes the catalog, and repeats it as long as it
// fails with ErrCatalogMoved: taking the lock again loads the other host's change.
func RetryMoved(fn func() error) error {
	for {
		if err := fn(); !errors.Is(err, ErrCatalogMoved) {
			return err
		}
	}
}

// repeatMoved runs fn. As long as it fails with ErrCatalogMoved, because another server changes the catalog
// while this one opens it, repeatMoved calls reload, which reads the changes, and runs fn again.
func repeatMoved(ctx context.Context, fn, reload func(context.Context) error) error {
	err := fn(ctx)
	for errors.Is(err, ErrCatalogMoved) {
		if err = reload(ctx); err == nil {
			err = fn(ctx)
		}
	}
	return err
}
