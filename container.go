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

// Container holds documents that have the same default TTL and are partitioned by the same properties. A
// Container stays valid as long as the store is open, even after a Restore, and after the container has been
// dropped and created again.
type Container struct {
	db             *DB
	database, name string
	found          atomic.Pointer[resolvedContainer]
}

// resolvedContainer is a container of package store, together with the incarnation of the store (a number
// that a restore changes) in which it was found. It is valid until the next restore.
type resolvedContainer struct {
	c           *store.Container
	incarnation uint32
}

// Forever is a time to live without end. If it is the default TTL of a container, only documents with their
// own ttl expire. If it is the TTL of a document, the document does not expire, whatever the default is.
const Forever time.Duration = -1

// ContainerOption is an option for creating a container.
type ContainerOption func(*containerConfig) error

// containerConfig collects the options of a new container.
type containerConfig struct {
	spec     definition.ContainerSpec
	unique   [][]string
	expiries *store.ExpiryEventSettings
}

// PartitionBy sets the property by which a container is partitioned, as a path such as "/user". For a
// hierarchical partition key, it takes up to three paths, the outermost level first: "/tenant", "/user".
// Default: "/id".
func PartitionBy(paths ...string) ContainerOption {
	return func(m *containerConfig) error {
		m.spec.PartitionKey = definition.PartitionKeyDefinition{Paths: paths, Version: 2}
		if len(paths) > 1 {
			m.spec.PartitionKey.Kind = definition.KindMultiHash
		}
		return nil
	}
}

// DefaultTTL sets the time to live of documents that have no ttl of their own, in whole seconds. With
// Forever, only documents with their own ttl expire. Without this option, no document expires.
func DefaultTTL(d time.Duration) ContainerOption {
	return func(m *containerConfig) (err error) {
		m.spec.DefaultTTL, err = seconds(d)
		return err
	}
}

// Unique adds a unique key: two documents with the same partition key cannot have the same values at all of
// these paths. Each use of the option adds one key.
func Unique(paths ...string) ContainerOption {
	return func(m *containerConfig) error {
		m.unique = append(m.unique, paths)
		var err error
		m.spec.UniqueKeys, err = index.NewUniqueKeys(m.unique...)
		return inputError(err)
	}
}

// KeepVersions makes the change feed keep every version and delete for the duration d, in whole minutes: see
// AllVersions.
func KeepVersions(d time.Duration) ContainerOption {
	return func(m *containerConfig) error {
		if d < time.Minute || d%time.Minute != 0 {
			return badRequest("versions are kept for whole minutes", nil)
		}
		m.spec.ChangeFeed = &definition.ChangeFeedPolicy{RetentionMinutes: int(d / time.Minute)}
		return nil
	}
}

// LogExpirations makes the container keep a log of expired documents, each entry for the duration d, in whole
// seconds: see Container.Expirations.
func LogExpirations(d time.Duration) ContainerOption {
	return func(m *containerConfig) error {
		s, err := seconds(d)
		if err != nil || s <= 0 || s > store.MaxEventRetention {
			return badRequest("expirations are kept for whole seconds, up to "+
				(store.MaxEventRetention*time.Second).String(), err)
		}
		m.expiries = &store.ExpiryEventSettings{Retention: int(s)}
		return nil
	}
}

// Spec lets change modify the definition before the container is created. It is for settings that have no
// option of their own, such as indexing, computed properties, vectors or full text.
func Spec(change func(*definition.ContainerSpec)) ContainerOption {
	return func(m *containerConfig) error {
		change(&m.spec)
		return nil
	}
}

// seconds converts a time to live to the store's unit.
func seconds(d time.Duration) (ttl.Seconds, error) {
	switch {
	case d == Forever:
		return ttl.Never, nil
	case d < time.Second || d%time.Second != 0 || d/time.Second > time.Duration(ttl.Max):
		return 0, badRequest("a time to live is a whole number of seconds, not "+d.String(), nil)
	}
	return ttl.Seconds(d / time.Second), nil
}

// Container opens the container with a path of the form "database/container". If the database or the
// container does not exist, Container creates it. The options apply only to a new container; an existing one
// stays unchanged. Container returns ErrConflict if the container exists and its partition key is not that of
// the option PartitionBy.
func (db *DB) Container(ctx context.Context, path string, opts ...ContainerOption) (*Container, error) {
	database, name, err := splitPath(path)
	if err != nil {
		return nil, err
	}
	var m containerConfig
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
		err := db.retryAfterRestore(ctx, func() error { return c.make(ctx, m) })
		if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		_, err = c.resolve(ctx)
		if there = err == nil; !there && !errors.Is(err, ErrNotFound) { // it may have been dropped meanwhile
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

// make creates the container, and the database if necessary. It returns ErrConflict if the container exists,
// and ErrNotFound if another caller deletes the database before the container is created.
func (c *Container) make(ctx context.Context, m containerConfig) error {
	d, err := c.db.db.Database(c.database)
	if errors.Is(err, ErrNotFound) {
		d, err = c.db.db.CreateDatabase(ctx, c.database, definition.Throughput{})
		if errors.Is(err, ErrConflict) { // another caller has created it meanwhile
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
	// An end of ctx must not leave the new container without its log.
	_, err = made.ChangeSettings(context.WithoutCancel(ctx), func(s *store.ContainerSettings) error {
		s.ExpiryEvents = m.expiries
		return nil
	})
	return err
}

// resolve finds the container in the store.
func (c *Container) resolve(ctx context.Context) (*resolvedContainer, error) {
	incarnation, err := c.db.db.Incarnation(ctx)
	if err != nil {
		return nil, err
	}
	f := &resolvedContainer{incarnation: incarnation}
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

// do calls fn with the container of package store. If that container has become invalid, do calls fn again
// with a new one. This happens after a restore, which has undone everything that fn did, and if the container
// was dropped and created again.
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

// Path returns the container's path, "database/container".
func (c *Container) Path() string { return c.database + "/" + c.name }

// Store returns the underlying container of package store. It becomes invalid with a Restore.
func (c *Container) Store(ctx context.Context) (found *store.Container, err error) {
	err = c.do(ctx, func(c *store.Container) error {
		found = c
		return nil
	})
	return found, err
}

// SetDefaultTTL changes the time to live of all documents that have no ttl of their own, at once. With
// Forever, only documents with a ttl of their own expire; with 0, no document does. Documents that have
// already expired stay expired.
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
		if !errors.Is(err, ErrPreconditionFailed) { // another caller has changed the definition meanwhile
			return err
		}
	}
}
