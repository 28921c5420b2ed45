package mayflytest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

var ctx = context.Background()

func key(s string) definition.PartitionKey { return definition.NewPartitionKey(jsondoc.StringValue(s)) }

func put(t testing.TB, c *store.Container, id, more string) {
	t.Helper()
	if _, _, err := c.Upsert(ctx, key("p"), []byte(`{"id":"`+id+`","pk":"p"`+more+`}`), store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// has reports whether the document can be read (live), and returns the number of stored documents in the
// container, including those that have expired but are not purged.
func has(t testing.TB, m *Mayfly, id string) (live bool, documents int64) {
	t.Helper()
	c := m.Container("db/c", "/pk")
	_, _, err := c.Read(ctx, key("p"), id, store.ReadOptions{})
	if err != nil && fault.ErrorCode(err) != fault.CodeNotFound {
		t.Fatal(err)
	}
	u, uerr := c.Usage(ctx)
	if uerr != nil {
		t.Fatal(uerr)
	}
	return err == nil, u.Documents
}

func TestAdvanceSettles(t *testing.T) {
	t.Parallel()
	m := New(t, At(time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)))
	put(t, m.Container("db/c", "/pk"), "a", `,"ttl":10`)
	m.Advance(9 * time.Second)
	if live, n := has(t, m, "a"); !live || n != 1 {
		t.Errorf("before its end: live %v, %d documents", live, n)
	}
	m.Advance(time.Second)
	if live, n := has(t, m, "a"); live || n != 0 {
		t.Errorf("at its end: live %v, %d documents", live, n)
	}
	want := time.Date(2031, 5, 6, 7, 8, 19, 0, time.UTC)
	if now, clock := m.Now(), m.Clock().Now(); !now.Equal(want) || !clock.Equal(want) {
		t.Errorf("the store says %s, the clock %s", now, clock)
	}
}

func TestWaitExpired(t *testing.T) {
	t.Parallel()
	m := New(t)
	put(t, m.Container("db/c", "/pk"), "a", `,"ttl":86400`)
	before := m.Now()
	m.WaitExpired("db/c", "p", "a")
	if passed := m.Now().Sub(before); passed != 24*time.Hour {
		t.Errorf("the clock was moved by %s", passed)
	}
	if live, _ := has(t, m, "a"); live {
		t.Error("it is still there")
	}
	put(t, m.Container("db/c", "/pk"), "ghost", `,"ttl":60`)
	day := 24 * time.Hour
	// The store purges nothing when its clock is moved.
	if _, err := m.Store().SetClock(ctx, store.ClockChangeRequest{Advance: &day}); err != nil {
		t.Fatal(err)
	}
	m.WaitExpired("db/c", "p", "ghost")
	if passed := m.Now().Sub(before); passed != 2*day {
		t.Errorf("waiting for what has expired moved the clock to %s", passed)
	}
	if live, n := has(t, m, "ghost"); live || n != 0 {
		t.Errorf("live %v, %d documents are stored", live, n)
	}
}

// TestWaitExpiredInDatabaseWithClock checks that WaitExpired moves the clock of a database that has one of
// its own, and not that of the server.
func TestWaitExpiredInDatabaseWithClock(t *testing.T) {
	t.Parallel()
	m := New(t)
	put(t, m.Container("db/c", "/pk"), "a", `,"ttl":86400`)
	d, err := m.Store().Database("db")
	if err != nil {
		t.Fatal(err)
	}
	hour := time.Hour
	if _, err := d.SetClock(ctx, store.ClockChangeRequest{Advance: &hour}); err != nil {
		t.Fatal(err)
	}
	before := m.Now()
	m.WaitExpired("db/c", "p", "a")
	if passed := m.Now().Sub(before); passed != 0 {
		t.Errorf("the clock of the server was moved by %s", passed)
	}
	if live, n := has(t, m, "a"); live || n != 0 {
		t.Errorf("live %v, %d documents are stored", live, n)
	}
}

// lineCountingWriter is an io.Writer for a log that only counts the lines.
type lineCountingWriter struct{ lines atomic.Int32 }

func (c *lineCountingWriter) Write(p []byte) (int, error) {
	c.lines.Add(1)
	return len(p), nil
}

func TestStoreAndLogger(t *testing.T) {
	t.Parallel()
	var log lineCountingWriter
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	m := New(t, WithLogger(logger), WithStore(func(o *store.Options) { o.Ranges = 3 }))
	if n := len(m.Container("db/c", "/pk").Ranges().Ranges); n != 3 {
		t.Errorf("%d ranges", n)
	}
	answer, err := m.HTTPClient().Get(m.URL() + "/dbs/none")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if log.lines.Load() == 0 {
		t.Error("a request has left nothing in the log")
	}
}

func TestSnapshotAndRestore(t *testing.T) {
	t.Parallel()
	m := New(t, WithRanges(2))
	put(t, m.Container("db/c", "/pk"), "a", `,"ttl":10`)
	s := m.Snapshot()
	for range 3 {
		m.Advance(time.Minute)
		put(t, m.Container("db/c", "/pk"), "b", "")
		if _, err := m.Store().CreateDatabase(ctx, "more", definition.Throughput{}); err != nil {
			t.Fatal(err)
		}
		m.Restore(s)
		live, n := has(t, m, "a")
		if !live || n != 1 || len(m.Store().Databases()) != 1 {
			t.Errorf("after the restore: live %v, %d documents, %d databases", live, n, len(m.Store().Databases()))
		}
	}
	m.Advance(10 * time.Second)
	if live, n := has(t, m, "a"); live || n != 0 {
		t.Errorf("at its end: live %v, %d documents", live, n)
	}
}

// TestHTTP checks that after a Restore the server responds at the same URL, to requests with its key only.
func TestHTTP(t *testing.T) {
	t.Parallel()
	const other = "b3RoZXI=" // another key
	for _, m := range []*Mayfly{New(t), New(t, WithHTTP(func(o *httpapi.Options) { o.Key = other }))} {
		put(t, m.Container("db/c", "/pk"), "a", "")
		s := m.Snapshot()
		m.Restore(s)
		res, err := m.HTTPClient().Get(m.URL() + "/dbs/db/colls/c")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(body), `"/pk"`) {
			t.Errorf("with the key %s: %d %s, %v", m.Key(), res.StatusCode, body, err)
		}
		res, err = http.Get(m.URL() + "/dbs/db")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized {
			t.Errorf("without a key: %d", res.StatusCode)
		}
	}
}

// recordingTB is a testing.TB that records errors and cleanups instead of failing the real test.
type recordingTB struct {
	testing.TB
	said     []string
	fatal    bool
	cleanups []func()
}

func (r *recordingTB) Helper()          {}
func (r *recordingTB) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recordingTB) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recordingTB) Fatalf(format string, args ...any) {
	r.fatal = true
	r.Errorf(format, args...)
	runtime.Goexit()
}

// run runs a test and its cleanups.
func (r *recordingTB) run(test func(t testing.TB)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for i := len(r.cleanups) - 1; i >= 0; i-- {
				r.cleanups[i]()
			}
		}()
		test(r)
	}()
	<-done
}

func TestMisuseFailsTest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		mistake string
		test    func(m *Mayfly, t testing.TB)
		want    string
	}{
		{"time runs backwards", func(m *Mayfly, _ testing.TB) { m.Advance(-time.Second) }, "negative"},
		{"a name without a slash", func(m *Mayfly, _ testing.TB) { m.Container("db", "/pk") }, "database/container"},
		{"a bad path", func(m *Mayfly, _ testing.TB) { m.Container("db/c", "pk") }, "db/c"},
		{"no such container", func(m *Mayfly, _ testing.TB) { m.WaitExpired("db/c", "p", "a") }, "db/c"},
		{"no such item", func(m *Mayfly, _ testing.TB) {
			m.Container("db/c", "/pk")
			m.WaitExpired("db/c", "p", "a")
		}, "no item a"},
		{"an item that lives for ever", func(m *Mayfly, t testing.TB) {
			put(t, m.Container("db/c", "/pk"), "a", "")
			m.WaitExpired("db/c", "p", "a")
		}, "never expires"},
		{"another server's snapshot", func(m *Mayfly, t testing.TB) { m.Restore(New(t).Snapshot()) }, "taken it"},
		{"options that cannot be", func(m *Mayfly, t testing.TB) { New(t, WithRanges(-1)) }, "ranges"},
	} {
		r := &recordingTB{TB: t}
		r.run(func(t testing.TB) { tc.test(New(t), t) })
		if said := strings.Join(r.said, "; "); !r.fatal || !strings.Contains(said, tc.want) {
			t.Errorf("%s: the test said %q", tc.mistake, said)
		}
	}
}

func TestGoroutineLeakDetection(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	r := &recordingTB{TB: t}
	r.run(func(t testing.TB) {
		New(t).tracker.run(func() { go func() { <-stop }() })
	})
	close(stop)
	if len(r.said) != 1 || !strings.Contains(r.said[0], "goroutines are left") || !strings.Contains(r.said[0], "TestGoroutineLeakDetection") {
		t.Errorf("a goroutine was left, and the test said %q", r.said)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		r := &recordingTB{TB: b}
		New(r)
		for _, f := range r.cleanups {
			f()
		}
		if len(r.said) > 0 {
			b.Fatal(r.said)
		}
	}
}

// BenchmarkRestore measures a write and a Restore of a snapshot, with 10 and with 10,000 documents in the
// snapshot.
func BenchmarkRestore(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := New(b)
			c := m.Container("db/c", "/pk")
			for i := range n {
				put(b, c, fmt.Sprint(i), "")
			}
			s := m.Snapshot()
			for b.Loop() {
				put(b, m.Container("db/c", "/pk"), "new", "")
				m.Restore(s)
			}
		})
	}
}
