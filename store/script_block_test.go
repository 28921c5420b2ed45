package store_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// hasty is a clock by which ten seconds pass between two looks, where it is told to.
type hasty struct {
	ttl.Clock
	hurry atomic.Bool
	looks atomic.Int64
}

func (h *hasty) Now() time.Time {
	if h.hurry.Load() {
		h.looks.Add(1)
	}
	return time.Unix(1_700_000_000+10*h.looks.Load(), 0)
}

// TestScriptIsBlocked: a script that overruns several times in a row is not run any more, until it is
// replaced.
func TestScriptIsBlocked(t *testing.T) {
	wall := &hasty{Clock: ttl.Real{}}
	b := newBenchWith(t, vfs.NewMem(), "", store.Options{Ranges: 1, ManualReaper: true, Wall: wall})
	defer b.close()
	const text = `function (n) { while (n) {} getContext().getResponse().setBody("done"); }`
	run := func(args string, want fault.Code) {
		t.Helper()
		wall.hurry.Store(args == "1")
		out, err := b.execute("p", doc.Of([]byte(args)))
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
	if out, err := b.execute("q", doc.Of([]byte("0"))); err != nil || out != `"done"` {
		t.Errorf("another script: %s, %v", out, err)
	}
	b.procedure("p", text)
	run("0", 0)
}
