package mayfly

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/engine/postgres"
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

// options collects the options for opening a store.
type options struct {
	store  store.Options
	logger *slog.Logger // nil: nothing is logged
}

// WithClock sets the clock that determines the times of writes (_ts), expiry, and the work of the reaper, the
// background task that frees the space of expired documents. Default: the clock of the system.
func WithClock(c *Clock) Option {
	return func(o *options) {
		if o.store.Clock = nil; c != nil {
			o.store.Clock = c
		}
	}
}

// WithLogger sets the logger for warnings and errors of background work. By default they are discarded.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) { o.store.Logger, o.logger = l, l }
}

// WithOptions changes options of package store for which this package has no Option.
func WithOptions(change func(*store.Options)) Option { return func(o *options) { change(&o.store) } }

// Clock is a clock that the program controls: it can be stopped, set and moved forward. See WithClock.
type Clock = ttl.VirtualClock

// NewClock returns a clock that shows the time at and is stopped.
func NewClock(at time.Time) *Clock { return ttl.NewManual(at) }

// PostgresDatabase identifies a PostgreSQL database in which a store is kept, instead of in a folder.
// Postgres returns one, and Open opens its store.
type PostgresDatabase struct {
	open func(context.Context, *options) (engine.Engine, error)
}

// Postgres returns the PostgresDatabase for a PostgreSQL connection string,
// postgres://user:password@host1,host2/database?sslmode=verify-full. It does not connect. The store is kept
// in the schema mayfly, which Open creates if necessary. Open fails with engine.ErrUnavailable,
// which is not the ErrUnavailable of this package, if the database does not answer. Several processes can
// have the store open at the same time. Snapshot and Restore are not available.
func Postgres(url string) PostgresDatabase {
	return PostgresDatabase{func(ctx context.Context, o *options) (engine.Engine, error) {
		return postgres.Open(ctx, postgres.Options{URL: url, Logger: o.logger})
	}}
}

// Open opens the store in a folder, whose path is at, or the store in a PostgresDatabase. If the folder does
// not exist, Open creates it. Only one process at a time can open a folder. Open fails if the folder is
// damaged; the command mayfly check shows what is wrong with it.
func Open[Place string | PostgresDatabase](at Place, opts ...Option) (*DB, error) {
	switch at := any(at).(type) {
	case string:
		if at != "" {
			return open(folder(pebble.Options{Dir: at}), opts)
		}
	case PostgresDatabase:
		if at.open != nil {
			return open(at.open, opts)
		}
	}
	return nil, badRequest("a folder or a database must be named; OpenMemory needs none", nil)
}

// OpenMemory opens an empty store in memory. Close discards its data.
func OpenMemory(opts ...Option) (*DB, error) { return open(folder(pebble.Options{Memory: true}), opts) }

// folder opens the engine of a folder or of memory.
func folder(p pebble.Options) func(context.Context, *options) (engine.Engine, error) {
	return func(ctx context.Context, o *options) (engine.Engine, error) {
		p.Logger, p.Now = o.logger, ttl.SystemClock{}.Now
		return pebble.Open(ctx, p)
	}
}

func open(openEngine func(context.Context, *options) (engine.Engine, error), opts []Option) (*DB, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	ctx := context.Background()
	eng, err := openEngine(ctx, &o)
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

// Close waits for running operations and closes the store. Loops over queries and feeds that are still
// running end with ErrUnavailable.
func (db *DB) Close() error { return db.db.Close() }

// Store returns the underlying store. Values that were obtained from it, such as containers, become invalid
// with a Restore.
func (db *DB) Store() *store.DB { return db.db }

// Now returns the current time of the store's clock.
func (db *DB) Now() time.Time { return db.db.Now() }

// Snapshot saves the current state of the whole store under a name of 1 to 64 lower-case letters, digits,
// '-', '_' and '.', the first of them a letter or a digit. It takes milliseconds, even for a large store. It
// returns ErrConflict if a snapshot with this name exists.
func (db *DB) Snapshot(ctx context.Context, name string) error {
	_, err := db.db.Snapshot(ctx, name)
	return err
}

// Restore replaces the content of the whole store by that of a snapshot, in one step. Values of the types
// Container, Queue, Topic and Subscription stay valid and then use the restored data. Restore returns
// ErrNotFound if there is no such snapshot.
func (db *DB) Restore(ctx context.Context, name string) error { return db.db.Restore(ctx, name) }

// DeleteSnapshot deletes a snapshot. It returns ErrNotFound if there is no snapshot with this name.
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

// DropContainer deletes a container with all its documents. It returns ErrNotFound if the container does not
// exist.
func (db *DB) DropContainer(ctx context.Context, path string) error {
	database, name, err := splitPath(path)
	if err != nil {
		return err
	}
	return db.retryAfterRestore(ctx, func() error {
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
