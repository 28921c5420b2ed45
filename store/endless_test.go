package store_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// scriptBlockingClock is a clock whose Now, when a script calls it, returns only after release is closed.
type scriptBlockingClock struct {
	*ttl.VirtualClock
	wall    *jumpOnReadClock // hurries from then on
	release chan struct{}
	asked   atomic.Int64
}

func (s *scriptBlockingClock) Now() time.Time {
	if within("goja.") {
		s.asked.Add(1)
		s.wall.hurry.Store(true)
		<-s.release
	}
	return s.VirtualClock.Now()
}

// within reports whether a function whose full name contains name is on the call stack.
func within(name string) bool {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}

// beside checks n times that an item with another partition key in the same range can be written and read
// within 10 seconds.
func (b *testStore) beside(n int) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	for i := range n {
		key := definition.NewPartitionKey(jsondoc.StringValue("beside"))
		if _, _, err := b.c.Upsert(ctx, key, []byte(fmt.Sprintf(`{"id":"b","pk":"beside","n":%d}`, i)),
			store.WriteOptions{}); err != nil {
			b.t.Fatalf("a write beside: %v", err)
		}
		if it, _, err := b.c.Read(ctx, key, "b", store.ReadOptions{}); err != nil ||
			jsondoc.Of(it.Body()).Member("n").Num() != float64(i) {
			b.t.Fatalf("a read beside: %s, %v", it.Body(), err)
		}
		if _, _, err := b.c.Read(ctx, key, "nothing", store.ReadOptions{}); !is(err, fault.CodeNotFound) {
			b.t.Fatalf("a read of nothing beside: %v", err)
		}
	}
}

// stuckScripts returns the number of abandoned scripts that are still running (Metrics.StuckScripts).
func (b *testStore) stuckScripts() int {
	m, err := b.db.Metrics(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	return m.StuckScripts
}

// TestScriptThatDoesNotReturn checks that a stored procedure whose interpreter does not return blocks
// neither its caller nor its range nor Close, and that none of its writes take effect, even if it returns
// later.
func TestScriptThatDoesNotReturn(t *testing.T) {
	testdisk.Pebble(t, "its clock is stuck, which a database's is not")
	wall := &jumpOnReadClock{Clock: ttl.SystemClock{}}
	clock := &scriptBlockingClock{wall: wall, VirtualClock: ttl.NewManual(time.Unix(1_700_000_000, 0)),
		release: make(chan struct{})}
	b := newBenchWith(t, testdisk.New(t), "", store.Options{Ranges: 1, ManualReaper: true, Wall: wall,
		Clock: clock})
	b.put(`{"id":"1","pk":"a"}`)
	b.procedure("p", `function () {
		var self = __.getSelfLink();
		__.createDocument(self, { id: "2", pk: "a" }, function () {
			Date.now();
			__.createDocument(self, { id: "3", pk: "a" }, function () {});
		});
	}`)
	before := b.dump()
	for range 3 {
		out, err := b.execute("p")
		wall.hurry.Store(false)
		if !is(err, fault.CodeCanceled) {
			t.Fatalf("%s, %v", out, err)
		}
	}
	if after := b.dump(); after != before {
		t.Errorf("it left\n%s\nof\n%s", after, before)
	}
	if n := b.stuckScripts(); n != 3 || clock.asked.Load() != 3 {
		t.Errorf("%d are stuck of %d", n, clock.asked.Load())
	}
	b.beside(5)
	close(clock.release)
	for b.stuckScripts() > 0 {
		runtime.Gosched()
	}
	b.beside(5)
	b.close()
}

// TestCloseDuringAbandonedScript checks that Close returns while an abandoned script is still running.
func TestCloseDuringAbandonedScript(t *testing.T) {
	testdisk.Pebble(t, "its clock is stuck, which a database's is not")
	t.Parallel()
	wall := &jumpOnReadClock{Clock: ttl.SystemClock{}}
	clock := &scriptBlockingClock{wall: wall, VirtualClock: ttl.NewManual(time.Unix(1_700_000_000, 0)),
		release: make(chan struct{})}
	b := newBenchWith(t, testdisk.New(t), "", store.Options{Ranges: 1, ManualReaper: true, Wall: wall,
		Clock: clock})
	for i := range 9 {
		b.procedure(fmt.Sprint("p", i), `function () { Date.now(); }`)
	}
	for i := range 9 {
		want := fault.CodeCanceled
		if i == 8 {
			want = fault.CodeUnavailable // so many processors there are not
		}
		out, err := b.execute(fmt.Sprint("p", i))
		wall.hurry.Store(false)
		if !is(err, want) {
			t.Fatalf("%d: %s, %v", i, out, err)
		}
	}
	b.beside(1)
	if err := b.db.Ready(b.ctx); err != nil { // items are read and written
		t.Errorf("not ready: %v", err)
	}
	b.close()
	close(clock.release)
}

// many returns a document with a list that is so long that a query that joins the list with itself does
// not end in time.
func many() string {
	return `{"id":"many","pk":"a","l":[` + strings.Repeat("1,", 999) + `1]}`
}

const endlessJoin = "FROM c JOIN x1 IN c.l JOIN x2 IN c.l JOIN x3 IN c.l JOIN x4 IN c.l JOIN x5 IN c.l JOIN x6 IN c.l WHERE x1 + x6 = 3"

// TestTimeLimitOfScriptQuery checks that a query inside a stored procedure ends at the time limit of the
// procedure, even if the time limit of the request is longer.
func TestTimeLimitOfScriptQuery(t *testing.T) {
	t.Parallel()
	testdisk.Pebble(t, "its clock is stuck, which a database's is not")
	wall := &jumpOnReadClock{Clock: ttl.SystemClock{}}
	clock := &scriptBlockingClock{wall: wall, VirtualClock: ttl.NewManual(time.Unix(1_700_000_000, 0)),
		release: make(chan struct{})}
	close(clock.release)
	b := newBenchWith(t, testdisk.New(t), "", store.Options{Ranges: 1, ManualReaper: true, Wall: wall,
		Clock: clock})
	defer b.close()
	b.put(many())
	b.procedure("p", `function () {
		__.queryDocuments(__.getSelfLink(), "SELECT VALUE COUNT(1) `+endlessJoin+`", function () {});
		Date.now();
	}`)
	out, err := b.execute("p")
	wall.hurry.Store(false)
	if !is(err, fault.CodeCanceled) || b.ctx.Err() != nil {
		t.Errorf("%s, %v", out, err)
	}
	b.beside(5)
}

// TestScriptEndsWithContext checks that a stored procedure ends when the context of its request is
// canceled, both in JavaScript code and in a query.
func TestScriptEndsWithContext(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	b.put(many())
	b.procedure("loop", `function () { for (;;) ; }`)
	b.procedure("query", `function () { __.queryDocuments(__.getSelfLink(), "SELECT VALUE COUNT(1) `+
		endlessJoin+`", function () {}); }`)
	for _, id := range []string{"loop", "query"} {
		ctx, cancel := context.WithCancel(b.ctx)
		begun := &callbackOnFirstChildContext{Context: ctx, do: cancel}
		_, _, err := b.c.Execute(begun, definition.NewPartitionKey(jsondoc.StringValue("a")), id, nil,
			store.ProcedureExecutionOptions{})
		if !is(err, fault.CodeCanceled) {
			t.Errorf("%s: %v", id, err)
		}
		cancel()
		b.beside(2)
	}
}

// callbackOnFirstChildContext is a context that calls do when another context is derived from it for the
// first time. So a test can act when a script calls its host, or when a patch sets the time limit of its
// condition.
type callbackOnFirstChildContext struct {
	context.Context
	once sync.Once
	do   func()
}

func (f *callbackOnFirstChildContext) Value(key any) any {
	if within("context.With") {
		f.once.Do(f.do)
	}
	return f.Context.Value(key)
}

// TestWritesDuringPatchCondition checks that others can write to the range while the condition of a patch is
// evaluated.
func TestWritesDuringPatchCondition(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	b.put(many())
	set := store.ItemOperation{Kind: store.OperationPatch, ID: "many",
		Patch: patchOf(t, `{"op":"set","path":"/v","value":1}`)}
	set.Patch.Condition = "FROM c WHERE EXISTS(SELECT VALUE 1 " + endlessJoin + ")"
	key := definition.NewPartitionKey(jsondoc.StringValue("a"))
	b.trigger("t", `function () { }`)
	for name, patch := range map[string]func(ctx context.Context) error{
		"patch": func(ctx context.Context) error {
			_, _, err := b.c.Patch(ctx, key, "many", *set.Patch, store.WriteOptions{})
			return err
		},
		"atomic": func(ctx context.Context) error {
			_, _, err := b.c.Batch(ctx, key, []store.ItemOperation{set}, store.BatchOptions{Atomic: true})
			return err
		},
		"triggers": func(ctx context.Context) error {
			_, _, err := b.c.Patch(ctx, key, "many", *set.Patch,
				store.WriteOptions{PreTriggers: []string{"t"}})
			return err
		},
		"bulk": func(ctx context.Context) error {
			done, _, err := b.c.Batch(ctx, key, []store.ItemOperation{set},
				store.BatchOptions{ContinueOnError: true})
			if err == nil {
				err = done.Results[0].Err
			}
			return err
		},
	} {
		ctx, cancel := context.WithCancel(b.ctx)
		begun, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- patch(&callbackOnFirstChildContext{Context: ctx,
				do: func() { close(begun) }})
		}()
		<-begun
		b.beside(5)
		if len(ended) > 0 {
			t.Errorf("%s: it has ended: %v", name, <-ended)
		}
		cancel()
		if err := <-ended; !is(err, fault.CodeCanceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConditionAfterConcurrentChange changes an item while the condition of a patch is evaluated, and checks
// that the condition is evaluated again on the new version.
func TestConditionAfterConcurrentChange(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	for _, c := range []struct {
		condition string
		want      fault.Code
	}{{"FROM c WHERE c.n = 1", fault.CodePreconditionFailed}, {"FROM c WHERE c.n = 2", fine}} {
		b.put(`{"id":"1","pk":"a","n":1}`)
		cancelable, cancel := context.WithCancel(b.ctx)
		ctx := &callbackOnFirstChildContext{Context: cancelable,
			do: func() { b.put(`{"id":"1","pk":"a","n":2}`) }}
		p := patchOf(t, `{"op":"incr","path":"/n","value":1}`)
		p.Condition = c.condition
		it, _, err := b.c.Patch(ctx, definition.NewPartitionKey(jsondoc.StringValue("a")), "1", *p,
			store.WriteOptions{})
		cancel()
		if c.want != fine && !is(err, c.want) || c.want == fine &&
			(err != nil || string(it.Body()) != `{"id":"1","pk":"a","n":3}`) {
			t.Errorf("%s: %s, %v", c.condition, it.Body(), err)
		}
	}
}

// TestAttacksOfProcedures runs stored procedures that would take minutes or gigabytes, and checks that
// they fail and that their range can be used meanwhile.
func TestAttacksOfProcedures(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	for i, body := range []string{
		`return new RegExp("(?=)^" + "(a|aa)".repeat(45) + "$").test("a".repeat(89) + "!")`,
		`return new RegExp("(?=)^" + "(a?)".repeat(60) + "b").test("a".repeat(60))`,
		`return Math.max(...new Array(4e6))`,
		`return "\ufdfa".repeat(4e6).normalize("NFKD")`,
		`var s = "x"; while (true) s += s`,
		`var s = "x"; for (var i = 0; i < 40; i++) s = s + s`,
	} {
		id := fmt.Sprint("p", i)
		b.procedure(id, "function () { "+body+" }")
		ended := make(chan error, 1)
		go func() {
			_, err := b.execute(id)
			ended <- err
		}()
		b.beside(3)
		if err := <-ended; !is(err, fault.CodeBadRequest) && !is(err, fault.CodeTooLarge) {
			t.Errorf("%s: %v", body, err)
		}
		b.beside(1)
	}
	if n := b.stuckScripts(); n > 0 {
		t.Errorf("%d were left behind", n)
	}
}
