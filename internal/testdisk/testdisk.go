package testdisk

import (
	"cmp"
	"context"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/engine/postgres"
	"github.com/mayflydb/mayfly/internal/crashdisk"
	"github.com/mayflydb/mayfly/internal/pgschema"
	"github.com/mayflydb/mayfly/internal/sharedengine"
	"github.com/mayflydb/mayfly/ttl"
)

// Variable is the environment variable that chooses the engine: "postgres", or "" for Pebble.
const Variable = "MAYFLY_TEST_ENGINE"

// connections is the number of connections of each pool of an engine for PostgreSQL. Tests open engines all
// the time, and to open a connection takes longer than to wait for one.
const connections = 3

// Engine is the interface of the engines, Pebble or PostgreSQL, that an EngineStorage opens.
type Engine = sharedengine.EngineWithGetter

// Postgres reports whether the tests run with the engine for PostgreSQL.
func Postgres(t testing.TB) bool {
	t.Helper()
	switch name := os.Getenv(Variable); name {
	case "":
		return false
	case "postgres":
		return true
	default:
		t.Fatalf("%s is %q: there is no such engine", Variable, name)
		return false
	}
}

// Pebble skips a test for engines other than Pebble. why says what about the test needs Pebble.
func Pebble(t testing.TB, why string) {
	t.Helper()
	if Postgres(t) {
		t.Skip("with Pebble only: " + why)
	}
}

// EngineStorage is where an engine keeps its data. Each Open opens the same data. An EngineStorage is safe
// for concurrent use.
type EngineStorage struct {
	t      testing.TB
	fs     vfs.FS          // of Pebble, with the injected faults
	crash  *crashdisk.Disk // below fs, if the disk can crash
	memory bool            // the mode of Pebble
	folder string          // in fs; "data" if it is empty
	schema string          // of PostgreSQL; empty for Pebble
}

// New returns an empty disk, on which Pebble is opened in its memory mode.
func New(t testing.TB) *EngineStorage {
	t.Helper()
	if Postgres(t) {
		return &EngineStorage{t: t, schema: pgschema.New(t)}
	}
	return &EngineStorage{t: t, fs: vfs.NewMem(), memory: true}
}

// Empty returns another empty storage, like that of New. Both are removed when the cleanup of New runs at the
// end of the test. Cleanups that the test registers after New run before that, so an engine that they close
// still has its storage.
func (d *EngineStorage) Empty() *EngineStorage {
	if d.schema != "" {
		return &EngineStorage{t: d.t, schema: pgschema.Beside(d.schema)}
	}
	return New(d.t)
}

// NewCrashable returns an empty disk, which CrashClone can copy in the state after a simulated crash. Engines
// can be opened on it, one after the other.
func NewCrashable(t testing.TB) *EngineStorage {
	t.Helper()
	if Postgres(t) {
		return New(t)
	}
	d := crashdisk.New()
	return &EngineStorage{t: t, fs: d, crash: d}
}

// NewFolder returns an empty disk that is a folder of the operating system.
func NewFolder(t testing.TB) *EngineStorage {
	t.Helper()
	if Postgres(t) {
		return New(t)
	}
	return &EngineStorage{t: t, fs: vfs.Default, folder: t.TempDir()}
}

// OfFiles returns a disk that is a given file system. It skips the test for other engines than Pebble.
func OfFiles(t testing.TB, fs vfs.FS) *EngineStorage {
	t.Helper()
	Pebble(t, "it looks at files")
	return &EngineStorage{t: t, fs: fs, memory: true}
}

// Inject returns the disk with an injector of faults and delays between the engine and the files. A database
// has no files here, so its disk is returned unchanged.
func (d *EngineStorage) Inject(i errorfs.Injector) *EngineStorage {
	if d.schema != "" {
		return d
	}
	c := *d
	c.fs = errorfs.Wrap(d.fs, i)
	return &c
}

// CrashClone returns the disk as it would be after a crash now: see crashdisk.Disk. In a database that is
// everything that is committed, so cfg is not used.
func (d *EngineStorage) CrashClone(cfg vfs.CrashCloneCfg) *EngineStorage {
	d.t.Helper()
	if d.schema != "" {
		return &EngineStorage{t: d.t, schema: pgschema.Copy(d.t, d.schema)}
	}
	c := d.crash.CrashClone(cfg)
	return &EngineStorage{t: d.t, fs: c, crash: c}
}

// Open opens the engine with the data of the disk.
func (d *EngineStorage) Open(ctx context.Context) (Engine, error) {
	if d.schema != "" {
		e, err := d.database(ctx)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	e, err := pebble.Open(ctx, pebble.Options{Dir: cmp.Or(d.folder, "data"), FS: d.fs,
		Memory: d.memory, Strict: true})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// OpenAt opens the engine with the data of the disk, for a test that moves the time. An engine that takes the
// time from its database takes it from clock instead.
func (d *EngineStorage) OpenAt(ctx context.Context, clock ttl.Clock) (Engine, error) {
	if d.schema == "" {
		return d.Open(ctx)
	}
	e, err := d.database(ctx)
	if err != nil {
		return nil, err
	}
	return &testClockEngine{sharedengine.WithClock(e, clock), e, e, e}, nil
}

// testClockEngine is an engine over PostgreSQL that reports the time of a test's clock in place of the
// database's.
type testClockEngine struct {
	*sharedengine.ClockReportingEngine
	engine.SharedEngine
	engine.CommitNotifier
	engine.TxnSizeAdviser
}

func (d *EngineStorage) database(ctx context.Context) (*postgres.Engine, error) {
	return postgres.Open(ctx, postgres.Options{URL: pgschema.URL(d.t), Schema: d.schema, AllowUnsafe: true,
		Writers: connections, Readers: connections})
}
