package store_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// jumpOnReadClock is a clock that, while hurry is set, advances by ten seconds at each call of Now.
type jumpOnReadClock struct {
	ttl.Clock
	hurry  atomic.Bool
	looks  atomic.Int64
	passed atomic.Int64 // nanoseconds that have passed besides
}

func (h *jumpOnReadClock) Now() time.Time {
	if h.hurry.Load() {
		h.looks.Add(1)
	}
	return time.Unix(1_700_000_000+10*h.looks.Load(), h.passed.Load())
}

// TestScriptIsBlocked checks that a stored procedure that has exceeded its time limit several times in a
// row is blocked until it is replaced.
func TestScriptIsBlocked(t *testing.T) {
	t.Parallel()
	wall := &jumpOnReadClock{Clock: ttl.SystemClock{}}
	b := newBenchWith(t, testdisk.New(t), "", store.Options{Ranges: 1, ManualReaper: true, Wall: wall})
	defer b.close()
	const text = `function (n) { while (n) {} getContext().getResponse().setBody("done"); }`
	run := func(args string, want fault.Code) {
		t.Helper()
		wall.hurry.Store(args == "1")
		out, err := b.execute("p", jsondoc.Of([]byte(args)))
		wall.hurry.Store(false)
		if want == 0 && (err != nil || out != `"done"`) || want != 0 && !is(err, want) {
			t.Fatalf("%s, %v; want %v", out, err, want)
		}
	}
	b.procedure("p", text)
	run("1", fault.CodeCanceled)
	run("1", fault.CodeCanceled)
	run("0", 0) // they do not count any more
	for range 3 {
		run("1", fault.CodeCanceled)
	}
	run("0", fault.CodeForbidden)
	run("0", fault.CodeForbidden)
	b.procedure("q", text)
	if out, err := b.execute("q", jsondoc.Of([]byte("0"))); err != nil || out != `"done"` {
		t.Errorf("another script: %s, %v", out, err)
	}
	b.procedure("p", text)
	run("0", 0)
}

// wallAdvancingDataClock is the data clock of a store that advances the real-time clock (wall) by 50 ms at
// each call of Now, so that a script that calls it takes long.
type wallAdvancingDataClock struct {
	ttl.Clock
	wall *jumpOnReadClock
}

func (p *wallAdvancingDataClock) Now() time.Time {
	p.wall.passed.Add(int64(50 * time.Millisecond))
	return p.Clock.Now()
}

// TestLongScriptIsBlocked checks that a function that repeatedly uses most of its time limit, without
// exceeding it, is blocked after six runs in a row.
func TestLongScriptIsBlocked(t *testing.T) {
	t.Parallel()
	testdisk.Pebble(t, "its clock delays the script, which has the time of the database with another engine")
	wall := &jumpOnReadClock{Clock: ttl.SystemClock{}}
	b := newBenchWith(t, testdisk.New(t), "", store.Options{Ranges: 1, ManualReaper: true, Wall: wall,
		Clock: &wallAdvancingDataClock{ttl.NewManual(time.Unix(1_700_000_000, 0)), wall}})
	defer b.close()
	b.put(`{"id":"1","pk":"a"}`)
	const text = `function (n) { for (var i = 0; i < n; i++) Date.now(); return n; }`
	ask := func(n string) error {
		page, _, err := b.c.Query(b.ctx, store.QueryRequest{Text: "SELECT VALUE udf.f(" + n + ") FROM c"})
		if err == nil && (len(page.Rows) != 1 || string(page.Rows[0]) != n) {
			t.Errorf("udf.f(%s): %s", n, page.Rows)
		}
		return err
	}
	for name, run := range map[string]func(string) error{
		"resource": func(n string) error {
			_, err := b.execute("p", jsondoc.Of([]byte(n)))
			return err
		},
		"resources": ask,
	} {
		b.procedure("p", text)
		b.function("f", text)
		for _, n := range []string{"42", "42", "42", "42", "42", "30", "42", "42", "42", "42", "42", "42"} {
			if err := run(n); err != nil {
				t.Fatalf("%s: %s dates: %v", name, n, err)
			}
		}
		for _, n := range []string{"42", "0"} {
			if err := run(n); !is(err, fault.CodeForbidden) ||
				!strings.Contains(err.Error(), "is blocked for execution because it has violated its "+
					"allowed "+name+" limit several times.") {
				t.Errorf("%s: %v", name, err)
			}
		}
		b.procedure("p", text)
		b.function("f", text)
		if err := run("42"); err != nil {
			t.Errorf("%s, replaced: %v", name, err)
		}
	}
}
