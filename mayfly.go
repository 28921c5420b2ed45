package mayfly

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// DB is an open store. Its methods are safe for concurrent use.
type DB struct {
	db     *store.DB
	queues *queue.Queues
}

// Option is an option for opening a store.
type Option func(*options)

type options struct {
	store  store.Options
	engine pebble.Options
}

// WithClock sets the clock for _ts, expiry and the reaper. Default: the system's.
func WithClock(c *Clock) Option {
	return func(o *options) {
		if o.store.Clock = nil; c != nil {
			o.store.Clock = c
		}
	}
}

// WithLogger sets the logger for warnings and errors of background work. Default: they are discarded.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) { o.store.Logger, o.engine.Logger = l, l }
}

// WithOptions changes options of package store that have no option here.
func WithOptions(change func(*store.Options)) Option { return func(o *options) { change(&o.store) } }

// Clock is a clock that its owner controls: it can stand still, be set and be moved forward. See WithClock.
type Clock = ttl.Virtual

// NewClock returns a clock that stands still at a moment.
func NewClock(at time.Time) *Clock { return ttl.NewManual(at) }

// Open opens the store in a folder, which it creates if it does not exist. Only one process at a time may
// have it open. A damaged folder is not opened; the command mayfly check shows what is wrong with it.
func Open(dir string, opts ...Option) (*DB, error) {
	if dir == "" {
		return nil, badRequest("a folder must be named; OpenMemory needs none", nil)
	}
	return open(pebble.Options{Dir: dir}, opts)
}

// OpenMemory opens an empty store in memory, which is lost when it is closed.
func OpenMemory(opts ...Option) (*DB, error) { return open(pebble.Options{Memory: true}, opts) }

func open(e pebble.Options, opts []Option) (*DB, error) {
	o := options{engine: e}
	for _, opt := range opts {
		opt(&o)
	}
	o.engine.Now = func() time.Time { return ttl.Real{}.Now() }
	ctx := context.Background()
	eng, err := pebble.Open(ctx, o.engine)
	if err != nil {
		return nil, err
	}
	queues := queue.New(queue.Options{Logger: o.store.Logger})
	db, err := store.Open(ctx, eng, o.store, queues.Tenant())
	if err != nil {
		return nil, errors.Join(err, eng.Close())
	}
	return &DB{db, queues}, nil
}

// Close waits for running operations and closes the store. Running loops over queries and feeds end with
// ErrUnavailable.
func (db *DB) Close() error { return db.db.Close() }

// Store returns the underlying store. Its handles become invalid with a Restore.
func (db *DB) Store() *store.DB { return db.db }

// Now returns the present time of the store's clock.
func (db *DB) Now() time.Time { return db.db.Now() }

// Snapshot stores the present state of the whole store under a name of 1 to 64 lower-case letters, digits,
// '-', '_' and '.'. It takes milliseconds, whatever the size. It returns ErrConflict if the name is taken.
func (db *DB) Snapshot(ctx context.Context, name string) error {
	_, err := db.db.Snapshot(ctx, name)
	return err
}

// Restore replaces the whole store by a snapshot, in one step. Handles stay valid and then use the restored
// data. It returns ErrNotFound if there is no such snapshot.
func (db *DB) Restore(ctx context.Context, name string) error { return db.db.Restore(ctx, name) }

// DeleteSnapshot deletes a snapshot. It returns ErrNotFound if there is none.
func (db *DB) DeleteSnapshot(ctx context.Context, name string) error {
	return db.db.DeleteSnapshot(ctx, name)
}

// Containers returns the paths of all containers, "database/container", sorted.
func (db *DB) Containers() []string {
	var paths []string
	for _, d := range db.db.Databases() {
		for _, c := range d.Containers() {
			paths = append(paths, d.ID()+"/"+c.ID())
		}
	}
	return paths
}

// DropContainer deletes a container and its contents at once. It returns ErrNotFound if there is none.
func (db *DB) DropContainer(ctx context.Context, path string) error {
	database, name, err := splitPath(path)
	if err != nil {
		return err
	}
	return db.asking(ctx, func() error {
		d, err := db.db.Database(database)
		if err != nil {
			return err
		}
		return d.DeleteContainer(ctx, name, store.WriteOptions{})
	})
}

func splitPath(path string) (database, container string, err error) {
	database, container, ok := strings.Cut(path, "/")
	if !ok || database == "" || container == "" || strings.Contains(container, "/") {
		return "", "", badRequest("'"+path+"' is no path of a container, as \"database/container\" is", nil)
	}
	return database, container, nil
}
