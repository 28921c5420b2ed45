package mayflytest

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/internal/seed"
	"github.com/mayflydb/mayfly/internal/serve"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/ttl"
)

// Mayfly is a server for one test. Clients may use the server from any goroutine. The methods of Mayfly must
// be called from the test's own goroutine, since a method that fails ends the test with t.Fatal.
type Mayfly struct {
	t         testing.TB
	server    *serve.Server
	clock     *ttl.VirtualClock
	stop      context.CancelFunc // ends Run
	served    chan error
	client    *http.Client
	tracker   goroutineTracker
	snapshots atomic.Int64
}

// Option is an option of New.
type Option func(*options)

// options collects the options of New.
type options struct {
	at     time.Time
	store  store.Options
	http   httpapi.Options
	logger *slog.Logger
	seeds  []func() (*seed.Seed, error)
}

// At sets the time of the clock at the start. Default: 1 January 2026, 00:00 UTC.
func At(t time.Time) Option { return func(o *options) { o.at = t } }

// WithRanges gives new containers n partition ranges. By default the number depends on their throughput: one
// range up to 10,000 RU/s.
func WithRanges(n int) Option { return func(o *options) { o.store.Ranges = n } }

// WithStore changes how the store is opened. Its clock is always the test's.
func WithStore(change func(*store.Options)) Option { return func(o *options) { change(&o.store) } }

// WithHTTP changes the options of the endpoint: Throttle, Consistency, NoAuth and so on. Its store is always
// the test's.
func WithHTTP(change func(*httpapi.Options)) Option { return func(o *options) { change(&o.http) } }

// WithLogger sets the server's logger. Default: nothing is logged.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// WithSeed fills the server from a seed: a file or a folder, in the format of mayfly serve --seed. Containers
// of the seed can forward expired documents to its queues and topics. WithSeed may be given several times,
// with several seeds.
func WithSeed(name string) Option {
	return func(o *options) {
		o.seeds = append(o.seeds, func() (*seed.Seed, error) { return seed.Open(name) })
	}
}

// WithSeedFS fills the server from a seed, in the format of mayfly serve --seed, that is the file or folder
// name in a file system, such as an embed.FS. The name "." is the whole file system.
func WithSeedFS(files fs.FS, name string) Option {
	return func(o *options) {
		o.seeds = append(o.seeds, func() (*seed.Seed, error) { return seed.OpenFS(files, name) })
	}
}

// cacheBytes is the size of the block cache in bytes. It is small, since the store is in memory anyway.
const cacheBytes = 8 << 20

// New starts a server, which is closed when the test ends. If it cannot be started, the test ends.
func New(t testing.TB, opts ...Option) *Mayfly {
	t.Helper()
	o := options{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), logger: slog.New(slog.DiscardHandler)}
	o.store.ManualReaper = true // Advance purges, so that the time of a purge does not depend on the machine
	for _, option := range opts {
		option(&o)
	}
	m := &Mayfly{t: t, clock: ttl.NewManual(o.at), served: make(chan error, 1)}
	m.tracker.begin()
	var err error
	m.tracker.run(func() { err = m.open(o) })
	t.Cleanup(m.close)
	if err != nil {
		t.Fatalf("mayflytest: %v", err)
	}
	return m
}

func (m *Mayfly) open(o options) error {
	ctx := context.Background()
	seeds, entities, err := readSeeds(o.seeds)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	o.store.Clock = m.clock
	m.server, err = serve.Open(ctx, serve.Options{Logger: o.logger, Store: o.store, HTTP: o.http, Seeds: seeds,
		Engine: pebble.Options{Memory: true, CacheBytes: cacheBytes, Strict: true},
		Queues: entities, Listeners: []net.Listener{ln}})
	if err != nil {
		return err
	}
	ctx, m.stop = context.WithCancel(ctx)
	go func() { m.served <- m.server.Run(ctx) }()
	m.client = &http.Client{Transport: &signingTransport{key: o.http.Key, base: &http.Transport{}}}
	return nil
}

// readSeeds reads the seeds. entities says whether one of them has queues or topics.
func readSeeds(list []func() (*seed.Seed, error)) (seeds []*seed.Seed, entities bool, err error) {
	for _, read := range list {
		s, err := read()
		if err != nil {
			return nil, false, err
		}
		seeds, entities = append(seeds, s), entities || s.HasEntities()
	}
	return seeds, entities, nil
}

// close ends everything that open has started, and fails the test if something does not end. A request that
// is still running when the test ends is a mistake of the test, and is aborted.
func (m *Mayfly) close() {
	var errs []error
	if m.server != nil {
		m.client.CloseIdleConnections()
		m.stop()
		errs = append(errs, <-m.served)
	}
	errs = append(errs, m.tracker.end())
	if err := errors.Join(errs...); err != nil {
		m.t.Errorf("mayflytest: closing: %v", err)
	}
}

// Store returns the store itself, for operations that are simpler in Go than over HTTP.
func (m *Mayfly) Store() *store.DB { return m.server.DB() }

// URL returns the endpoint, "http://127.0.0.1:PORT", without a slash at the end.
func (m *Mayfly) URL() string { return "http://" + m.server.Addr().String() }

// Key returns the master key in base64: that of the emulators, unless WithHTTP has set another.
func (m *Mayfly) Key() string { return m.client.Transport.(*signingTransport).masterKey() }

// HTTPClient returns a client that signs its requests with the master key. It is closed when the test ends.
func (m *Mayfly) HTTPClient() *http.Client { return m.client }

// Clock returns the clock of the data, for code under test that reads the time. Advance moves it.
func (m *Mayfly) Clock() ttl.Clock { return m.clock }

// Now returns the current time of the clock.
func (m *Mayfly) Now() time.Time { return m.server.DB().Now() }

// Advance moves the clock forward by d, which must not be negative. When it returns, all effects of the move
// have happened: expired items have been purged, unless the reaper is paused or delayed, and feeds and
// webhooks have been notified.
func (m *Mayfly) Advance(d time.Duration) {
	m.t.Helper()
	ctx := context.Background()
	if _, err := m.server.DB().SetClock(ctx, store.ClockChangeRequest{Advance: &d}); err != nil {
		m.t.Fatalf("mayflytest: moving the clock by %s: %v", d, err)
	}
	m.purge(ctx)
}

// purge purges everything that has expired.
func (m *Mayfly) purge(ctx context.Context) {
	m.t.Helper()
	if _, err := m.server.DB().SweepNow(ctx); err != nil {
		m.t.Fatalf("mayflytest: purging what has expired: %v", err)
	}
}

// Container returns the container "database/container". If it does not exist, it is created, with the
// database if necessary, with this partition key path. Time to live is enabled in a container that Container
// creates, without a default: a document expires only if it has a ttl of its own.
func (m *Mayfly) Container(name, partitionKeyPath string) *store.Container {
	m.t.Helper()
	c, err := m.lookUp(name)
	if fault.ErrorCode(err) == fault.CodeNotFound {
		c, err = m.create(name, partitionKeyPath)
	}
	if err != nil {
		m.t.Fatalf("mayflytest: the container %s: %v", name, err)
	}
	return c
}

var errName = errors.New("a container is named database/container")

func (m *Mayfly) lookUp(name string) (*store.Container, error) {
	database, container, ok := strings.Cut(name, "/")
	if !ok {
		return nil, errName
	}
	d, err := m.server.DB().Database(database)
	if err != nil {
		return nil, err
	}
	return d.Container(container)
}

func (m *Mayfly) create(name, partitionKeyPath string) (*store.Container, error) {
	ctx := context.Background()
	database, container, _ := strings.Cut(name, "/")
	d, err := m.server.DB().Database(database)
	if err != nil {
		d, err = m.server.DB().CreateDatabase(ctx, database, definition.Throughput{})
	}
	if err != nil {
		return nil, err
	}
	spec := definition.ContainerSpec{ID: container, DefaultTTL: ttl.Never}
	spec.PartitionKey.Paths = []string{partitionKeyPath}
	return d.CreateContainer(ctx, spec, definition.Throughput{})
}

// WaitExpired moves the clock to the moment at which an item expires, and returns when the item is purged.
// container is "database/container". partitionKey is a string, a number, a bool or nil, or a []any of them
// for a hierarchical key. If the database has a clock of its own, that clock is moved. If the item has
// already expired, no clock moves. The test fails if the item never expires with the current settings, or if
// there is no such item. That includes a purged item, unless its container keeps a log of expiries or all
// versions, and still has the record of this expiry.
func (m *Mayfly) WaitExpired(container string, partitionKey any, id string) {
	m.t.Helper()
	c, err := m.lookUp(container)
	if err != nil {
		m.t.Fatalf("mayflytest: the container %s: %v", container, err)
	}
	e, err := m.explain(c, partitionKey, id)
	switch {
	case err != nil:
		m.t.Fatalf("mayflytest: the item %s: %v", id, err)
	case e.State == inspect.StateUnknown:
		m.t.Fatalf("mayflytest: there is no item %s in %s", id, container)
	case e.State == inspect.StateLive && !e.Mortal:
		m.t.Fatalf("mayflytest: the item %s in %s never expires: its ttl is %s by %s", id, container,
			ttlText(e.TTL), e.Source)
	case e.State == inspect.StateLive:
		m.advanceTo(container, time.Unix(e.ExpiresAt, 0))
	default:
		m.purge(context.Background())
	}
}

// advanceTo moves the clock of the database of a container (database/container) to a time, and purges
// everything that has expired.
func (m *Mayfly) advanceTo(container string, to time.Time) {
	m.t.Helper()
	id, _, _ := strings.Cut(container, "/")
	d, err := m.server.DB().Database(id)
	if err != nil {
		m.t.Fatalf("mayflytest: the database %s: %v", id, err)
	}
	if _, own := d.Clock(); !own {
		m.Advance(to.Sub(m.Now()))
		return
	}
	ctx := context.Background()
	by := to.Sub(d.Now())
	if _, err := d.SetClock(ctx, store.ClockChangeRequest{Advance: &by}); err != nil {
		m.t.Fatalf("mayflytest: moving the clock of the database %s by %s: %v", d.ID(), by, err)
	}
	m.purge(ctx)
}

func ttlText(n ttl.Seconds) string {
	switch n {
	case ttl.Absent:
		return "off"
	case ttl.Never:
		return "-1"
	}
	return strconv.Itoa(int(n))
}

func (m *Mayfly) explain(c *store.Container, partitionKey any,
	id string) (inspect.ItemExpiryExplanation, error) {
	if _, hierarchical := partitionKey.([]any); !hierarchical {
		partitionKey = []any{partitionKey}
	}
	raw, err := json.Marshal(partitionKey)
	if err != nil {
		return inspect.ItemExpiryExplanation{}, err
	}
	pk, err := definition.ParsePartitionKey(raw)
	if err != nil {
		return inspect.ItemExpiryExplanation{}, err
	}
	return c.ExplainItem(context.Background(), pk, id)
}

// Snapshot is a stored state of a server. Mayfly.Restore returns to it.
type Snapshot struct {
	of   *Mayfly
	name string
}

// Snapshot stores the current state of the store, including the time of the clock.
func (m *Mayfly) Snapshot() Snapshot {
	m.t.Helper()
	s := Snapshot{m, "mayflytest-" + strconv.FormatInt(m.snapshots.Add(1), 10)}
	if _, err := m.server.DB().Snapshot(context.Background(), s.name); err != nil {
		m.t.Fatalf("mayflytest: taking a snapshot: %v", err)
	}
	return s
}

// Restore returns the server to a state that Snapshot stored, with the time of its clock. A snapshot may be
// restored several times.
func (m *Mayfly) Restore(s Snapshot) {
	m.t.Helper()
	if s.of != m {
		m.t.Fatalf("mayflytest: a snapshot can only be restored by the server that has taken it")
	}
	var err error
	m.tracker.run(func() { err = m.server.DB().Restore(context.Background(), s.name) })
	if err != nil {
		m.t.Fatalf("mayflytest: restoring a snapshot: %v", err)
	}
}
