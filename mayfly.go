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

// DB is an open store. Its methods may be called from any goroutine.
type DB struct {
	db     *store.DB
	queues *queue.Queues
}

// Option changes how a store is opened.
type Option func(*options)

type options struct {
	store  store.Options
	engine pebble.Options
}

// WithClock lets time be what a clock says: _ts, expiry and the reaper go by it. Default: the system's.
func WithClock(c *Clock) Option {
	return func(o *options) {
		if o.store.Clock = nil; c != nil {
			o.store.Clock = c
		}
	}
}

// WithLogger takes warnings and errors of background work. Default: they are discarded.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) { o.store.Logger, o.engine.Logger = l, l }
}

// WithOptions changes what the other options do not name, in the store's own terms.
func WithOptions(change func(*store.Options)) Option { return func(o *options) { change(&o.store) } }

// A Clock is a clock that its owner moves: it can stand still, be set and be put on. See WithClock.
type Clock = ttl.Virtual

// NewClock returns a clock that stands at a moment.
func NewClock(at time.Time) *Clock { return ttl.NewManual(at) }

// Open opens the store in a folder, which it makes where there is none. One process at a time may have it
// open. A folder that is damaged is not opened; mayfly check tells more.
func Open(dir string, opts ...Option) (*DB, error) {
	if dir == "" {
		return nil, badRequest("a folder must be named; OpenMemory needs none", nil)
	}
	return open(pebble.Options{Dir: dir}, opts)
}

// OpenMemory opens an empty store that is gone when it is closed.
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

// Close waits for what is under way and closes the store. Loops over queries and feeds that go on end with
// ErrUnavailable.
func (db *DB) Close() error { return db.db.Close() }

// Store is the store behind the door. Handles of it do not survive a Restore.
func (db *DB) Store() *store.DB { return db.db }

// Now is the present moment of the store's clock.
func (db *DB) Now() time.Time { return db.db.Now() }

// Snapshot keeps the present state of the whole store under a name of 1 to 64 lower-case letters, digits,
// '-', '_' and '.'. It takes milliseconds, whatever the size. ErrConflict: there is one of that name.
func (db *DB) Snapshot(ctx context.Context, name string) error {
	_, err := db.db.Snapshot(ctx, name)
	return err
}

// Restore puts the whole store back to a snapshot, in one step. Handles stay good: what they are asked for
// next they ask of the restored store. ErrNotFound: there is no such snapshot.
func (db *DB) Restore(ctx context.Context, name string) error { return db.db.Restore(ctx, name) }

// DeleteSnapshot frees a snapshot. ErrNotFound: there is none.
func (db *DB) DeleteSnapshot(ctx context.Context, name string) error {
	return db.db.DeleteSnapshot(ctx, name)
}

// Containers are the paths of all containers, "database/container", in order.
func (db *DB) Containers() []string {
	var paths []string
	for _, d := range db.db.Databases() {
		for _, c := range d.Containers() {
			paths = append(paths, d.ID()+"/"+c.ID())
		}
	}
	return paths
}

// DropContainer deletes a container and all that is in it, at once. ErrNotFound: there is none.
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
