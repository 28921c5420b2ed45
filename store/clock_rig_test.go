package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

const clockStart = 1_700_000_000

// clockFixture is a store with a virtual clock. The system clock under it is moved by the test as
// well.
type clockFixture struct {
	t      *testing.T
	ctx    context.Context
	fs     *testdisk.EngineStorage
	system *ttl.VirtualClock
	opts   store.Options
	db     *store.DB
}

func newClockFixture(t *testing.T, o store.Options) *clockFixture {
	t.Helper()
	l := openLab(t, o)
	t.Cleanup(l.close)
	return l
}

// openLab opens a store whose clocks the test moves, on a simulated disk. The caller closes it;
// newClockFixture does the same but closes the store when the test ends.
func openLab(t *testing.T, o store.Options) *clockFixture {
	t.Helper()
	l := &clockFixture{t: t, ctx: context.Background(), fs: testdisk.New(t),
		system: ttl.NewManual(time.Unix(clockStart, 0)), opts: o}
	l.open()
	return l
}

func (l *clockFixture) open() {
	l.t.Helper()
	e, err := l.fs.OpenAt(l.ctx, l.system)
	if err != nil {
		l.t.Fatal(err)
	}
	l.opts.Clock = ttl.NewVirtualClock(l.system)
	if l.db, err = store.Open(l.ctx, e, l.opts); err != nil {
		l.t.Fatal(err)
	}
}

func (l *clockFixture) close() {
	l.t.Helper()
	checkSound(l.t, l.db)
	if err := l.db.Close(); err != nil {
		l.t.Error(err)
	}
}

func (l *clockFixture) reopen() {
	l.t.Helper()
	l.close()
	l.open()
}

// database creates a database with a container "c" whose default TTL is 10 seconds.
func (l *clockFixture) database(id string) (*store.Database, *store.Container) {
	l.t.Helper()
	d, err := l.db.CreateDatabase(l.ctx, id, definition.Throughput{})
	if err != nil {
		l.t.Fatal(err)
	}
	c, err := d.CreateContainer(l.ctx, specOf(l.t, `"defaultTtl":10`), definition.Throughput{})
	if err != nil {
		l.t.Fatal(err)
	}
	return d, c
}

func (l *clockFixture) find(id string) (*store.Database, *store.Container) {
	l.t.Helper()
	d, err := l.db.Database(id)
	if err != nil {
		l.t.Fatal(err)
	}
	c, err := d.Container("c")
	if err != nil {
		l.t.Fatal(err)
	}
	return d, c
}

// put writes an item and returns its _ts, in seconds after clockStart.
func (l *clockFixture) put(c *store.Container, id string) int64 {
	l.t.Helper()
	it, _, err := c.Upsert(l.ctx, pk("x"), []byte(`{"id":"`+id+`","pk":"x"}`), store.WriteOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return it.Timestamp() - clockStart
}

func (l *clockFixture) alive(c *store.Container, id string) bool {
	l.t.Helper()
	_, _, err := c.Read(l.ctx, pk("x"), id, store.ReadOptions{})
	if err != nil && !is(err, fault.CodeNotFound) {
		l.t.Fatal(err)
	}
	return err == nil
}

// clockChange parses a change of a clock: "set 5", "advance 5", "rate 2", "freeze", "resume" or "real", or
// several of them separated by commas. Seconds count from clockStart.
func clockChange(t *testing.T, text string) (c store.ClockChangeRequest) {
	t.Helper()
	yes, no := true, false
	for _, part := range strings.Split(text, ", ") {
		verb, arg, _ := strings.Cut(part, " ")
		var n float64
		if arg != "" {
			if _, err := fmt.Sscan(arg, &n); err != nil {
				t.Fatal(err)
			}
		}
		at, by := time.Unix(clockStart+int64(n), 0), time.Duration(n*float64(time.Second))
		switch verb {
		case "set":
			c.Set = &at
		case "advance":
			c.Advance = &by
		case "rate":
			c.Rate = &n
		case "freeze":
			c.Freeze = &yes
		case "resume":
			c.Freeze = &no
		case "real":
			c.Real = true
		default:
			t.Fatalf("unknown change %q", part)
		}
	}
	return c
}
