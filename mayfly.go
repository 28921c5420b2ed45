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

type options struct {
	store  store.Options
	logger *slog.Logger // nil: nothing is logged
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
	return func(o *options) { o.store.Logger, o.logger = l, l }
}

// WithOptions changes options of package store that have no option here.
func WithOptions(change func(*store.Options)) Option { return func(o *options) { change(&o.store) } }

// Clock is a clock that its owner controls: it can stand still, be set and be moved forward. See WithClock.
type Clock = ttl.Virtual

// NewClock returns a clock that stands still at a moment.
func NewClock(at time.Time) *Clock { return ttl.NewManual(at) }

// Database is a database that holds a store instead of a folder. See Postgres.
type Database struct {
	open func(context.Context, *options) (engine.Engine, error)
}

// Postgres names a PostgreSQL database by its connection string,
// postgres://user:password@host1,host2/database?sslmode=verify-full. The store is in the schema mayfly, which
// Open creates. Open fails with engine.ErrUnavailable if the database does not answer. Several
// processes can have the store open. Snapshot and Restore need a folder.
func Postgres(url string) Database {
	return Database{func(ctx context.Context, o *options) (engine.Engine, error) {
		return postgres.Open(ctx, postgres.Options{URL: url, Logger: o.logger})
	}}
}

// Open opens the store in a folder, or in a database that Postgres names. A folder is created if it does not
// exist. Only one process at a time may have it open. A damaged folder is not opened; the command mayfly
// check shows what is wrong with it.
func Open[Place string | Database](at Place, opts ...Option) (*DB, error) {
	switch at := any(at).(type) {
	case string:
		if at != "" {
			return open(folder(pebble.Options{Dir: at}), opts)
		}
	case Database:
		if at.open != nil {
			return open(at.open, opts)
		}
	}
	return nil, badRequest("a folder or a database must be named; OpenMemory needs none", nil)
}

// OpenMemory opens an empty store in memory, which is lost when it is closed.
func OpenMemory(opts ...Option) (*DB, error) { return open(folder(pebble.Options{Memory: true}), opts) }

// folder opens the engine of a folder or of memory.
func folder(p pebble.Options) func(context.Context, *options) (engine.Engine, error) {
	return func(ctx context.Context, o *options) (engine.Engine, error) {
		p.Logger, p.Now = o.logger, ttl.Real{}.Now
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
