package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// TestClockChanges checks each kind of clock change, for the server's clock and for a database's.
func TestClockChanges(t *testing.T) {
	testdisk.Pebble(t, "the machine's clock is moved, which servers of a database do not use")
	t.Parallel()
	type clock struct {
		set func(context.Context, store.ClockChangeRequest) (ttl.VirtualClockState, error)
		now func() time.Time
	}
	l := newClockFixture(t, store.Options{ManualReaper: true})
	d, err := l.db.CreateDatabase(l.ctx, "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]clock{"server": {l.db.SetClock, l.db.Now}, "database": {d.SetClock, d.Now}} {
		began := l.system.Now().Unix() - clockStart
		for _, step := range []struct {
			change   string
			now, run int64   // after it, and how much it has run 10 seconds of the system's clock later; from began
			rate     float64 // after it
		}{
			{"freeze", 0, 0, 0},
			{"freeze", 0, 0, 0},
			{"resume", 0, 10, 1},
			{"resume", 10, 10, 1},
			{"rate 60", 20, 600, 60},
			{"freeze", 620, 0, 0},
			{"set 1000", 1000, 0, 0},
			{"advance 5", 1005, 0, 0},
			{"set 2000, advance 7, resume", 2007, 10, 1},
			{"set 1500", 1500, 10, 1},
			{"rate 0", 1510, 0, 0},
			{"rate 2, advance 90", 1600, 20, 2},
			{"resume", 1620, 20, 2},
			{"real", 130, 10, 1},
			{"real, advance 30, freeze", 170, 0, 0},
			{"real", 150, 10, 1},
		} {
			text := step.change
			if at, found := strings.CutPrefix(text, "set "); found { // its seconds count from began
				var n int64
				fmt.Sscan(at, &n)
				text = fmt.Sprintf("set %d%s", began+n, strings.TrimPrefix(at, fmt.Sprint(n)))
			}
			s, err := c.set(l.ctx, clockChange(t, text))
			if err != nil {
				t.Fatalf("%s: %s: %v", name, step.change, err)
			}
			if now := c.now().Unix() - clockStart - began; now != step.now || s.Rate != step.rate {
				t.Errorf("%s: %s: %d at rate %v", name, step.change, now, s.Rate)
			}
			l.system.Advance(10 * time.Second)
			if now := c.now().Unix() - clockStart - began; now != step.now+step.run {
				t.Errorf("%s: 10 seconds after %s: %d", name, step.change, now)
			}
		}
		for _, bad := range []string{"advance -1", "rate -1", "rate 1e9", "rate 1, freeze", "rate 0, resume", "set 1e12", "set -1699999999, advance -1", "set -1e10"} {
			if _, err := c.set(l.ctx, clockChange(t, bad)); !is(err, fault.CodeBadRequest) {
				t.Errorf("%s: %s: %v", name, bad, err)
			}
		}
	}
}

// TestClockOfTheSystem checks that a change of a clock fails with CodeForbidden without a virtual clock.
func TestClockOfTheSystem(t *testing.T) {
	t.Parallel()
	e, err := testdisk.New(t).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), e, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	d, err := db.CreateDatabase(t.Context(), "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.SetClock(t.Context(), clockChange(t, "freeze"))
	_, err2 := d.SetClock(t.Context(), clockChange(t, "freeze"))
	err3 := d.FollowClock(t.Context())
	if !is(err, fault.CodeForbidden) || !is(err2, fault.CodeForbidden) || !is(err3, fault.CodeForbidden) {
		t.Error(err, err2, err3)
	}
	if s, own := d.Clock(); own || s.Rate != 1 || db.VirtualClock() {
		t.Error(s, own)
	}
}

// TestClockBack checks that a clock can be set back as far as the stored moments allow, and that the error
// names the event that prevents more.
func TestClockBack(t *testing.T) {
	t.Parallel()
	l := newClockFixture(t, store.Options{ManualReaper: true})
	_, c := l.database("db")
	set := func(text string) error {
		_, err := l.db.SetClock(l.ctx, clockChange(t, text))
		return err
	}
	forbids := func(at int, what string) {
		t.Helper()
		err := set(fmt.Sprintf("set %d", at-1))
		if !is(err, fault.CodeBadRequest) || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), fmt.Sprint(clockStart+at)) {
			t.Fatalf("before %d: %v, not %q", at, err, what)
		}
		if err := set(fmt.Sprintf("set %d", at)); err != nil {
			t.Fatal(err)
		}
		if err := set(fmt.Sprintf("set %d", at+100)); err != nil {
			t.Fatal(err)
		}
	}
	if err := set("set 100, freeze"); err != nil {
		t.Fatal(err)
	}
	l.put(c, "a")
	if err := set("set 105"); err != nil {
		t.Fatal(err)
	}
	if err := set("set 99"); !is(err, fault.CodeBadRequest) || !strings.Contains(err.Error(), "an item was written in db/c") {
		t.Error("behind a write:", err)
	}
	if err := set("set 100"); err != nil || !l.alive(c, "a") {
		t.Error("not alive before its time", err)
	}
	if err := set("set 150"); err != nil {
		t.Fatal(err)
	}
	if l.alive(c, "a") {
		t.Error("alive after its time")
	}
	forbids(110, "an item expired in db/c")
	if err := set("set 200"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.db.SweepNow(l.ctx); err != nil {
		t.Fatal(err)
	}
	forbids(200, "expired items were purged in db/c")
	if err := set("set 300"); err != nil {
		t.Fatal(err)
	}
	d, _ := l.find("db")
	if _, err := d.ReplaceContainer(l.ctx, "c", specOf(t, `"defaultTtl":20`), store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	forbids(300, "the settings of a container were changed in db/c")
	l.put(c, "b") // at 400
	if err := set("set 405"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Lease(l.ctx, pk("x"), "b", 60); err != nil {
		t.Fatal(err)
	}
	forbids(405, "a lease was taken in db/c")
	if err := set("set 600"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.db.CreateDatabase(l.ctx, "other", definition.Throughput{}); err != nil {
		t.Fatal(err)
	}
	forbids(600, "a database,")
	for _, at := range []int{600, 700} {
		if err := set(fmt.Sprintf("set %d", at)); err != nil {
			t.Fatal(err)
		}
		l.reopen()
		forbids(600, "a database,")
	}
	if err := set("real"); !is(err, fault.CodeBadRequest) {
		t.Error("back to the system's time:", err)
	}
	l.system.Set(time.Unix(clockStart+1000, 0))
	if err := set("real"); err != nil || l.db.Now().Unix() != clockStart+1000 {
		t.Error(err, l.db.Now())
	}
	d, _ = l.find("db")
	if err := l.db.DeleteDatabase(l.ctx, "db", store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.SetClock(l.ctx, clockChange(t, "freeze")); !is(err, fault.CodeNotFound) {
		t.Error("a dropped database:", err)
	}
}

// TestEarliestClockTimeAfterReopen checks that a clock cannot be set back further after a reopen.
func TestEarliestClockTimeAfterReopen(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what string
		do   func(l *clockFixture, d *store.Database, c *store.Container) error
	}{
		{"an item was written", func(l *clockFixture, _ *store.Database,
			c *store.Container) error {
			l.put(c, "new")
			return nil
		}},
		{"expired items were purged", func(l *clockFixture, _ *store.Database, _ *store.Container) error {
			_, err := l.db.SweepNow(l.ctx)
			return err
		}},
		{"a lease was taken", func(l *clockFixture, _ *store.Database, c *store.Container) error {
			_, err := c.Lease(l.ctx, pk("x"), "long", 5)
			return err
		}},
		{"the settings of a container were changed", func(l *clockFixture, d *store.Database,
			c *store.Container) error {
			_, err := d.ReplaceContainer(l.ctx, "c", specOf(l.t, ""), store.WriteOptions{})
			return err
		}},
	} {
		t.Run(test.what, func(t *testing.T) {
			l := newClockFixture(t, store.Options{ManualReaper: true})
			d, c := l.database("db")
			l.put(c, "short")
			if _, _, err := c.Create(l.ctx, pk("x"), []byte(`{"id":"long","pk":"x","ttl":1000}`), store.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := d.SetClock(l.ctx, clockChange(t, "set 50, freeze")); err != nil {
				t.Fatal(err)
			}
			if err := test.do(l, d, c); err != nil {
				t.Fatal(err)
			}
			l.reopen()
			d, _ = l.find("db")
			if _, own := d.Clock(); !own {
				t.Error("the database has lost its clock")
			}
			if _, err := d.SetClock(l.ctx, clockChange(t, "set 49")); !is(err, fault.CodeBadRequest) || !strings.Contains(err.Error(), test.what) {
				t.Error(err)
			}
			if _, err := d.SetClock(l.ctx, clockChange(t, "set 50")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDatabaseClocks checks that everything in two databases with different clocks follows their own
// clock.
func TestDatabaseClocks(t *testing.T) {
	t.Parallel()
	l := newClockFixture(t, store.Options{ManualReaper: true})
	da, a := l.database("a")
	_, b := l.database("b")
	l.put(a, "old")
	l.put(b, "old")
	if _, err := da.SetClock(l.ctx, clockChange(t, "advance 1000")); err != nil {
		t.Fatal(err)
	}
	if l.alive(a, "old") || !l.alive(b, "old") {
		t.Error("the clock of a has moved alone")
	}
	if ta, tb := l.put(a, "new"), l.put(b, "new"); ta != 1000 || tb != 0 {
		t.Errorf("_ts %d and %d", ta, tb)
	}
	for c, want := range map[*store.Container]int64{a: 1000, b: 0} {
		if now := l.queryNow(c); now != want {
			t.Errorf("GetCurrentTimestamp tells %d, not %d", now, want)
		}
		if now := l.scriptNow(c); now != want {
			t.Errorf("a script's Date tells %d, not %d", now, want)
		}
		page, _, err := c.Changes(l.ctx, store.ChangesRequest{Start: store.ChangesStart{Since: time.Unix(clockStart+want-1, 0)}})
		if err != nil || len(page.Changes) == 0 || page.Changes[len(page.Changes)-1].Timestamp != clockStart+want {
			t.Errorf("the feed: %+v %v", page.Changes, err)
		}
	}
	if n, err := l.db.SweepNow(l.ctx); n != 1 || err != nil {
		t.Errorf("swept %d, not a's old item alone: %v", n, err)
	}
	c2, err := da.CreateContainer(l.ctx, definition.ContainerSpec{ID: "c2", PartitionKey: definition.PartitionKeyDefinition{Paths: []string{"/pk"}}}, definition.Throughput{})
	if err != nil || c2.Info().Timestamp != clockStart+1000 {
		t.Errorf("a new container: %v", err)
	}

	// The server's clock moves b alone; a's goes on as it did.
	if _, err := l.db.SetClock(l.ctx, clockChange(t, "advance 500, freeze")); err != nil {
		t.Fatal(err)
	}
	l.system.Advance(5 * time.Second)
	if ta, tb := l.put(a, "later"), l.put(b, "later"); ta != 1005 || tb != 500 {
		t.Errorf("_ts %d and %d", ta, tb)
	}
	l.reopen()
	da, a = l.find("a")
	_, b = l.find("b")
	l.system.Advance(5 * time.Second)
	if ta, tb := l.put(a, "later"), l.put(b, "later"); ta != 1010 || tb != 500 {
		t.Errorf("after a restart: _ts %d and %d", ta, tb)
	}

	// a follows again as soon as that is no way back.
	if err := da.FollowClock(l.ctx); !is(err, fault.CodeBadRequest) || !strings.Contains(err.Error(), "an item was written in a/c") {
		t.Error(err)
	}
	if _, own := da.Clock(); !own {
		t.Error("a refused change has taken effect")
	}
	if _, err := l.db.SetClock(l.ctx, clockChange(t, "set 1010")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // following twice is no error
		if err := da.FollowClock(l.ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, own := da.Clock(); own {
		t.Error("a has a clock of its own")
	}
	l.reopen()
	_, a = l.find("a")
	if _, err := l.db.SetClock(l.ctx, clockChange(t, "set 2000")); err != nil {
		t.Fatal(err)
	}
	if at := l.put(a, "last"); at != 2000 {
		t.Errorf("_ts %d", at)
	}
}

func (l *clockFixture) queryNow(c *store.Container) int64 {
	l.t.Helper()
	page, _, err := c.Query(l.ctx, store.QueryRequest{Text: "SELECT VALUE GetCurrentTimestamp() FROM c"})
	if err != nil || len(page.Rows) == 0 {
		l.t.Fatal(err, page.Rows)
	}
	return int64(jsondoc.Of(page.Rows[0]).Num()/1000) - clockStart
}

func (l *clockFixture) scriptNow(c *store.Container) int64 {
	l.t.Helper()
	body := `{"id":"now","body":"function now() { getContext().getResponse().setBody(Date.now()); }"}`
	if _, err := c.Resources(store.KindStoredProcedure).Create(l.ctx, []byte(body)); err != nil {
		l.t.Fatal(err)
	}
	out, _, err := c.Execute(l.ctx, pk("x"), "now", nil, store.ProcedureExecutionOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return int64(jsondoc.Of(out.Body).Num()/1000) - clockStart
}

// TestReaperWithDatabaseClocks checks that the reaper purges items when they are due by the clock of their
// database while the server's clock stands still, and vice versa.
func TestReaperWithDatabaseClocks(t *testing.T) {
	t.Parallel()
	l := newClockFixture(t, store.Options{})
	da, a := l.database("a")
	_, b := l.database("b")
	if _, err := l.db.SetClock(l.ctx, clockChange(t, "freeze")); err != nil {
		t.Fatal(err)
	}
	purged := func(c *store.Container) {
		t.Helper()
		req := store.ItemConditionWaitRequest{For: store.WaitPurged, Key: store.ItemKey{Partition: pk("x"), ID: "i"}}
		if _, err := c.Wait(l.ctx, req); err != nil {
			t.Fatal(err)
		}
	}
	l.put(a, "i")
	l.put(b, "i")
	if _, err := da.SetClock(l.ctx, clockChange(t, "advance 10")); err != nil {
		t.Fatal(err)
	}
	purged(a)
	if _, err := da.SetClock(l.ctx, clockChange(t, "resume")); err != nil {
		t.Fatal(err)
	}
	l.put(a, "i")
	for range 12 {
		l.system.Advance(time.Second)
	}
	purged(a)
	if !l.alive(b, "i") {
		t.Error("b's item is gone")
	}
	if _, err := l.db.SetClock(l.ctx, clockChange(t, "advance 10")); err != nil {
		t.Fatal(err)
	}
	purged(b)
}
