package mayfly

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// Container holds documents of one expiry policy and one kind of partition key. A handle stays good as long
// as the store is open: through a Restore, and when the container is dropped and made again.
type Container struct {
	db             *DB
	database, name string
	found          atomic.Pointer[found]
}

// found is the store's handle, good for one incarnation of the store.
type found struct {
	c           *store.Container
	incarnation uint32
}

// Forever is a time to live without an end. As a container's default it lets those documents expire that have
// a ttl of their own; as a document's TTL it keeps it, whatever the default.
const Forever time.Duration = -1

// ContainerOption says how a container is made.
type ContainerOption func(*making) error

type making struct {
	spec     definition.ContainerSpec
	unique   [][]string
	expiries *store.ExpiryEvents
}

// PartitionBy names the properties by which a container is partitioned, as paths: "/user", or up to three
// levels from the outermost on: "/tenant", "/user". Default: "/id".
func PartitionBy(paths ...string) ContainerOption {
	return func(m *making) error {
		m.spec.PartitionKey = definition.PartitionKeyDefinition{Paths: paths, Version: 2}
		if len(paths) > 1 {
			m.spec.PartitionKey.Kind = definition.KindMultiHash
		}
		return nil
	}
}

// DefaultTTL is how long documents live that say nothing themselves, in whole seconds: Forever lets those
// expire that have a ttl of their own. Without it nothing expires.
func DefaultTTL(d time.Duration) ContainerOption {
	return func(m *making) (err error) {
		m.spec.DefaultTTL, err = seconds(d)
		return err
	}
}

// Unique lets no two documents of one partition key have the same values at these paths. Each Unique is a key
// of its own.
func Unique(paths ...string) ContainerOption {
	return func(m *making) error {
		m.unique = append(m.unique, paths)
		var err error
		m.spec.UniqueKeys, err = index.NewUniqueKeys(m.unique...)
		return refused(err)
	}
}

// KeepVersions keeps every version and delete in the change feed for a time, in whole minutes: see
// AllVersions.
func KeepVersions(d time.Duration) ContainerOption {
	return func(m *making) error {
		if d < time.Minute || d%time.Minute != 0 {
			return badRequest("versions are kept for whole minutes", nil)
		}
		m.spec.ChangeFeed = &definition.ChangeFeedPolicy{RetentionMinutes: int(d / time.Minute)}
		return nil
	}
}

// LogExpirations keeps a log of what expires, each entry for a time in whole seconds: see Expirations.
func LogExpirations(d time.Duration) ContainerOption {
	return func(m *making) error {
		s, err := seconds(d)
		if err != nil || s <= 0 || s > store.MaxEventRetention {
			return badRequest("expirations are kept for whole seconds, up to "+
				(store.MaxEventRetention*time.Second).String(), err)
		}
		m.expiries = &store.ExpiryEvents{Retention: int(s)}
		return nil
	}
}

// Spec changes the container's definition in the store's own terms: indexing, computed properties, vectors,
// full text.
func Spec(change func(*definition.ContainerSpec)) ContainerOption {
	return func(m *making) error {
		change(&m.spec)
		return nil
	}
}

// seconds is a time to live as the store counts it.
func seconds(d time.Duration) (ttl.Seconds, error) {
	switch {
	case d == Forever:
		return ttl.Never, nil
	case d < time.Second || d%time.Second != 0 || d/time.Second > time.Duration(ttl.Max):
		return 0, badRequest("a time to live is a whole number of seconds, not "+d.String(), nil)
	}
	return ttl.Seconds(d / time.Second), nil
}

// Container opens a container by its path, "database/container", and makes what of it is not there. One that
// is there stays as it is: the options say what a new one is like. But a partition key that is asked for and
// is not the container's is ErrConflict.
func (db *DB) Container(ctx context.Context, path string, opts ...ContainerOption) (*Container, error) {
	database, name, err := splitPath(path)
	if err != nil {
		return nil, err
	}
	var m making
	for _, opt := range opts {
		if err := opt(&m); err != nil {
			return nil, err
		}
	}
	asked := m.spec.PartitionKey
	if asked.IsZero() {
		m.spec.PartitionKey = definition.PartitionKeyDefinition{Paths: []string{"/id"}, Version: 2}
	}
	m.spec.ID = name
	c := &Container{db: db, database: database, name: name}
	for there := false; !there; {
		err := db.asking(ctx, func() error { return c.make(ctx, m) })
		if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		_, err = c.resolve(ctx)
		if there = err == nil; !there && !errors.Is(err, ErrNotFound) { // it may be gone again by now
			return nil, err
		}
	}
	err = c.do(ctx, func(c *store.Container) error {
		if is := c.Info().Spec.PartitionKey; !asked.IsZero() && !is.Equal(&asked) {
			return &fault.Error{Code: fault.CodeConflict, Message: "The container '" + path +
				"' is partitioned by other paths than those that were asked for."}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// make makes the database and the container. ErrConflict: the container is there. ErrNotFound: the database
// is gone again.
func (c *Container) make(ctx context.Context, m making) error {
	d, err := c.db.db.Database(c.database)
	if errors.Is(err, ErrNotFound) {
		d, err = c.db.db.CreateDatabase(ctx, c.database, definition.Throughput{})
		if errors.Is(err, ErrConflict) { // somebody else has made it meanwhile
			d, err = c.db.db.Database(c.database)
		}
	}
	if err != nil {
		return err
	}
	made, err := d.CreateContainer(ctx, m.spec, definition.Throughput{})
	if err != nil || m.expiries == nil {
		return err
	}
	// Once it is made it is not left without its log because ctx ends.
	_, err = made.ChangeSettings(context.WithoutCancel(ctx), func(s *store.ContainerSettings) error {
		s.ExpiryEvents = m.expiries
		return nil
	})
	return err
}

// resolve looks the container up.
func (c *Container) resolve(ctx context.Context) (*found, error) {
	incarnation, err := c.db.db.Incarnation(ctx)
	if err != nil {
		return nil, err
	}
	f := &found{incarnation: incarnation}
	d, err := c.db.db.Database(c.database)
	if err != nil {
		return nil, err
	}
	if f.c, err = d.Container(c.name); err != nil {
		return nil, err
	}
	c.found.Store(f)
	return f, nil
}

// do calls fn with the store's handle, and once more with another one where that has come to its end: by a
// restore, of which the store says that nothing of the call is left, or because the container was dropped and
// made again.
func (c *Container) do(ctx context.Context, fn func(*store.Container) error) (err error) {
	f := c.found.Load()
	for {
		if f == nil {
			if f, err = c.resolve(ctx); err != nil {
				return err
			}
		}
		err = fn(f.c)
		switch fault.ErrorCode(err) {
		case fault.CodeUnavailable:
			if !c.db.restored(ctx, f.incarnation, &err) {
				return err
			}
			f = nil
		case fault.CodeOwnerNotFound:
			next, missing := c.resolve(ctx)
			if missing != nil || next.c == f.c {
				return err
			}
			f = next
		default:
			return err
		}
	}
}

// Path is the container's path, "database/container".
func (c *Container) Path() string { return c.database + "/" + c.name }

// Store is the container behind the door. It does not survive a Restore.
func (c *Container) Store(ctx context.Context) (found *store.Container, err error) {
	err = c.do(ctx, func(c *store.Container) error {
		found = c
		return nil
	})
	return found, err
}

// SetDefaultTTL changes how long documents live that say nothing themselves, at once for all of them; 0
// switches expiry off. What has expired stays so.
func (c *Container) SetDefaultTTL(ctx context.Context, d time.Duration) error {
	next := ttl.Absent
	if d != 0 {
		var err error
		if next, err = seconds(d); err != nil {
			return err
		}
	}
	for {
		err := c.do(ctx, func(found *store.Container) error {
			owner, err := c.db.db.Database(c.database)
			if err != nil {
				return err
			}
			info := found.Info()
			info.Spec.DefaultTTL = next
			_, err = owner.ReplaceContainer(ctx, c.name, info.Spec, store.WriteOptions{IfMatch: info.ETag})
			return err
		})
		if !errors.Is(err, ErrPreconditionFailed) { // somebody has changed something else meanwhile
			return err
		}
	}
}
