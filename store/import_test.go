package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

const ago = time.Second // of ages, for short

// TestImportMatrix imports an item for each combination of the import's age, the container's default TTL
// and the item's ttl, and checks the _ts and the second of expiry, or that the import is refused. The
// results have the form of importLife.
func TestImportMatrix(t *testing.T) {
	t.Parallel()
	const now = 100_000 // after clockStart
	ages := map[string]store.ImportTimestampOptions{
		"now":      {},
		"ts":       {Timestamp: clockStart + now - 30},
		"age":      {Age: 30*ago + ago/2},
		"old":      {Age: 90 * 24 * time.Hour},
		"in 5":     {ExpiresIn: 4*ago + ago/2},
		"in 60":    {ExpiresIn: 60 * ago},
		"in 1000":  {ExpiresIn: 1000 * ago},
		"future":   {Timestamp: clockStart + now + 1},
		"two":      {Timestamp: 1, Age: 1},
		"negative": {Age: -ago},
	}
	type row struct{ def, own, age, want string }
	for _, r := range []row{
		{"", "", "now", "0 never"}, {"", "", "ts", "-30 never"}, {"", "", "age", "-30 never"}, {"", "", "old",
			"-7776000 never"},
		{"", "40", "age", "-30 never"}, {"", "-1", "age", "-30 never"},
		{"", "", "in 5", "refused"}, {"", "40", "in 5", "refused"}, {"", "-1", "in 5", "refused"},
		{"-1", "", "age", "-30 never"}, {"-1", "40", "age", "-30 in 10"}, {"-1", "20", "age",
			"-30 gone"}, {"-1", "30", "age", "-30 gone"},
		{"-1", "31", "age", "-30 in 1"}, {"-1", "-1", "old", "-7776000 never"},
		{"-1", "", "in 5", "refused"}, {"-1", "40", "in 5", "-35 in 5"}, {"-1", "5", "in 5", "0 in 5"}, {"-1",
			"4", "in 5", "refused"}, {"-1", "-1", "in 5", "refused"},
		{"60", "", "now", "0 in 60"}, {"60", "", "ts", "-30 in 30"}, {"60", "", "age", "-30 in 30"}, {"60",
			"", "old", "-7776000 gone"},
		{"60", "40", "age", "-30 in 10"}, {"60", "100", "age", "-30 in 70"}, {"60", "-1", "old",
			"-7776000 never"},
		{"60", "", "in 5", "-55 in 5"}, {"60", "", "in 60", "0 in 60"}, {"60", "", "in 1000",
			"refused"}, {"60", "1000", "in 1000", "0 in 1000"},
		{"60", "", "future", "refused"}, {"", "", "future", "refused"}, {"60", "", "two", "refused"}, {"60",
			"", "negative", "refused"},
	} {
		t.Run(fmt.Sprintf("default %s own %s %s", r.def, r.own, r.age), func(t *testing.T) {
			spec, body := "", `{"id":"a","pk":"x"`
			if r.def != "" {
				spec = `"defaultTtl":` + r.def
			}
			if r.own != "" {
				body += `,"ttl":` + r.own
			}
			b := newTestStore(t, spec, 1)
			defer b.close()
			b.clock.Advance(now * time.Second)
			if got := b.importLife(body+"}", ages[r.age], clockStart+now); got != r.want {
				t.Errorf("%s, not %s", got, r.want)
			}
		})
	}
}

// importLife imports an item and follows it until it expires. It returns the _ts relative to now and the
// remaining life in seconds, such as "-30 in 10", "-30 gone" (expired already) or "-30 never", or
// "refused".
func (b *testStore) importLife(body string, o store.ImportTimestampOptions, now int64) string {
	b.t.Helper()
	it, _, err := b.c.Import(b.ctx, pk("x"), []byte(body), o)
	if is(err, fault.CodeBadRequest) {
		return "refused"
	}
	if err != nil {
		b.t.Fatal(err)
	}
	ts := it.Timestamp() - now
	read := func() bool {
		found, _, err := b.c.Read(b.ctx, pk("x"), "a", store.ReadOptions{})
		if err == nil && found.Timestamp() != it.Timestamp() {
			b.t.Errorf("read with the _ts %d, not %d", found.Timestamp(), it.Timestamp())
		}
		return err == nil
	}
	sweep := func(want int) {
		if n, err := b.db.SweepNow(b.ctx); n != want || err != nil {
			b.t.Errorf("swept %d, not %d: %v", n, want, err)
		}
	}
	if !read() {
		checkSound(b.t, b.db)
		sweep(1)
		return fmt.Sprintf("%d gone", ts)
	}
	for _, left := range []int64{1, 5, 10, 30, 60, 70, 1000} {
		b.clock.Set(time.Unix(now+left-1, 0))
		sweep(0)
		if !read() {
			b.t.Errorf("dead before %d", left)
		}
		b.clock.Set(time.Unix(now+left, 0))
		if !read() {
			sweep(1)
			return fmt.Sprintf("%d in %d", ts, left)
		}
	}
	return fmt.Sprintf("%d never", ts)
}

// TestImportIgnoresOlderPolicies checks that an imported item is judged by the expiry policies since its
// import only, although its _ts is older, and that items expired by earlier policies stay expired.
func TestImportIgnoresOlderPolicies(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":10`, 1)
	defer b.close()
	create := func(id string, o *store.ImportTimestampOptions) {
		t.Helper()
		_, _, err := b.c.Upsert(b.ctx, pk("x"), []byte(`{"id":"`+id+`","pk":"x"}`),
			store.WriteOptions{Import: o})
		if err != nil {
			t.Fatal(err)
		}
	}
	alive := func(want string) {
		t.Helper()
		got := ""
		for _, id := range []string{"early", "late"} {
			if _, _, err := b.c.Read(b.ctx, pk("x"), id, store.ReadOptions{}); err == nil {
				got += id + " "
			}
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("alive: %s, not %s", got, want)
		}
	}
	create("early", nil)
	b.clock.Advance(20 * time.Second)
	b.setDefault("3600")
	b.clock.Advance(100 * time.Second)
	create("late", &store.ImportTimestampOptions{Timestamp: clockStart}) // as old as the one that is dead
	alive("late")
	if n, err := b.db.SweepNow(b.ctx); n != 1 || err != nil {
		t.Errorf("swept %d: %v", n, err)
	}
	alive("late")
	b.setDefault("50") // it is 120 seconds old
	alive("")
	b.setDefault("3600")
	alive("")
}

// TestImportInFeeds checks that change feeds contain an imported item at the time of its import, not at
// its older _ts, and that the store can be reopened after the import.
func TestImportInFeeds(t *testing.T) {
	t.Parallel()
	l := newClockFixture(t, store.Options{ManualReaper: true})
	d, err := l.db.CreateDatabase(l.ctx, "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.CreateContainer(l.ctx,
		specOf(t, `"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":60}`), definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	l.put(c, "before")
	l.system.Advance(100 * time.Second)
	start, _, err := c.Changes(l.ctx, store.ChangesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Import(l.ctx, pk("x"), []byte(`{"id":"i","pk":"x"}`),
		store.ImportTimestampOptions{Age: 24 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	l.reopen()
	_, c = l.find("db")
	look := func(when string) {
		t.Helper()
		for name, req := range map[string]store.ChangesRequest{
			"by time":     {Start: store.ChangesStart{Since: time.Unix(clockStart+50, 0)}},
			"by position": {Start: store.ChangesStart{After: start.Position}},
			"of all, by time": {Mode: store.AllVersions,
				Start: store.ChangesStart{Since: time.Unix(clockStart+50, 0)}},
			"of all, from a pos": {Mode: store.AllVersions, Start: store.ChangesStart{After: start.Position}},
		} {
			page, _, err := c.Changes(l.ctx, req)
			if err != nil || len(page.Changes) != 1 || page.Changes[0].Timestamp != clockStart+100 ||
				page.Changes[0].Item.Timestamp() != clockStart+100-24*3600 {
				t.Errorf("%s, %s: %+v %v", when, name, page.Changes, err)
			}
		}
	}
	look("in one range")
	if _, err := c.Split(l.ctx, "0", "1F"); err != nil {
		t.Fatal(err)
	}
	look("after a split")
	if at := l.put(c, "after"); at != 100 {
		t.Errorf("_ts %d", at)
	}
	rows, _, err := c.Query(l.ctx,
		store.QueryRequest{Text: fmt.Sprintf("SELECT VALUE c.id FROM c WHERE c._ts < %d", clockStart)})
	if err != nil || len(rows.Rows) != 1 || string(rows.Rows[0]) != `"i"` {
		t.Errorf("by the index of _ts: %q %v", rows.Rows, err)
	}
}

// TestImportOverExistingItems checks that an import replaces a live item, takes the id of an expired one, and
// fails where an upsert would fail.
func TestImportOverExistingItems(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":60`, 1)
	defer b.close()
	in := func(o store.ImportTimestampOptions) (store.Item, error) {
		it, _, err := b.c.Import(b.ctx, pk("x"), []byte(`{"id":"a","pk":"x"}`), o)
		return it, err
	}
	first, err := in(store.ImportTimestampOptions{Age: 50 * ago})
	if err != nil {
		t.Fatal(err)
	}
	again, err := in(store.ImportTimestampOptions{Age: 20 * ago})
	if err != nil || again.RID() != first.RID() || again.ETag() == first.ETag() ||
		again.Timestamp() != clockStart-20 {
		t.Errorf("over a live one: %v %v", again.Timestamp(), err)
	}
	_, _, err = b.c.Create(b.ctx, pk("x"), []byte(`{"id":"a","pk":"x"}`),
		store.WriteOptions{Import: &store.ImportTimestampOptions{Age: ago}})
	if !is(err, fault.CodeConflict) {
		t.Error("create over a live one:", err)
	}
	if _, err := in(store.ImportTimestampOptions{Age: 61 * ago}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.c.Read(b.ctx, pk("x"), "a", store.ReadOptions{}); !is(err, fault.CodeNotFound) {
		t.Error("a dead import over a live one:", err)
	}
	reborn, _, err := b.c.Create(b.ctx, pk("x"), []byte(`{"id":"a","pk":"x"}`), store.WriteOptions{})
	if err != nil || reborn.RID() == first.RID() || reborn.Timestamp() != clockStart {
		t.Errorf("create over a dead one: %v", err)
	}
	replaced, _, err := b.c.Replace(b.ctx, pk("x"), "a", []byte(`{"id":"a","pk":"x","n":1}`),
		store.WriteOptions{})
	if err != nil || replaced.Timestamp() != clockStart {
		t.Errorf("an ordinary write of an import: %v", err)
	}
	_, _, err = b.c.Replace(b.ctx, pk("x"), "a", []byte(`{"id":"a","pk":"x"}`),
		store.WriteOptions{Import: &store.ImportTimestampOptions{Age: ago}})
	_, err2 := b.c.Delete(b.ctx, pk("x"), "a", store.WriteOptions{Import: &store.ImportTimestampOptions{}})
	if !is(err, fault.CodeBadRequest) || !is(err2, fault.CodeBadRequest) {
		t.Error("an import by something else than a create or an upsert:", err, err2)
	}
}

// TestImportWakesTheReaper checks that the reaper purges an imported item whose expiry lies before the
// part of the expiry index that it has already passed.
func TestImportWakesTheReaper(t *testing.T) {
	t.Parallel()
	l := newClockFixture(t, store.Options{})
	_, c := l.database("db")
	for _, o := range []store.ImportTimestampOptions{{Age: 3600 * ago}, {ExpiresIn: 2 * ago}} {
		if _, _, err := c.Import(l.ctx, pk("x"), []byte(`{"id":"i","pk":"x"}`), o); err != nil {
			t.Fatal(err)
		}
		if o.ExpiresIn > 0 {
			l.system.Advance(o.ExpiresIn)
		}
		if _, err := c.Wait(l.ctx, store.ItemConditionWaitRequest{For: store.WaitPurged,
			Key: store.ItemKey{Partition: pk("x"), ID: "i"}}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestParseImport(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, out, options string }{
		{`{}`, `{}`, "{0 0s 0s}"},
		{`{"id":"a"}`, `{"id":"a"}`, "{0 0s 0s}"},
		{`{"_ts":1700000000,"id":"a","_mayflies":1}`, `{"id":"a","_mayflies":1}`, "{1700000000 0s 0s}"},
		{`{"id":"a","_mayfly":{"age":"29d"},"_ts":5,"b":{"_ts":1}}`, `{"id":"a","b":{"_ts":1}}`,
			"{0 696h0m0s 0s}"},
		{`{"_mayfly":{"timestamp":7}}`, `{}`, "{7 0s 0s}"},
		{`{"_mayfly":{"expiresIn":"1d12h"}}`, `{}`, "{0 0s 36h0m0s}"},
		{`{"_ts":9,"_mayfly":{"deadLetterReason":"TTLExpiredException"}}`,
			`{"_mayfly":{"deadLetterReason":"TTLExpiredException"}}`, "{9 0s 0s}"},
		{`{"_ts":"x"}`, "", ""}, {`{"_ts":0}`, "", ""}, {`{"_ts":1.5}`, "", ""}, {`{"_ts":-1}`, "",
			""}, {`{"_ts":null}`, "", ""},
		{`{"_mayfly":5}`, "", ""}, {`{"_mayfly":{}}`, "", ""}, {`{"_mayfly":{"age":"1d","expiresIn":"1d"}}`,
			"", ""}, {`{"_mayfly":{"old":"1d"}}`, "", ""},
		{`{"_mayfly":{"age":5}}`, "", ""}, {`{"_mayfly":{"age":"5x"}}`, "", ""}, {`[]`, "", ""}, {`{`, "",
			""}, {``, "", ""},
	} {
		out, o, err := store.ParseImport([]byte(test.in))
		if test.out == "" {
			if !is(err, fault.CodeBadRequest) {
				t.Errorf("%s: %s %v %v", test.in, out, o, err)
			}
			continue
		}
		if err != nil || string(out) != test.out || fmt.Sprint(o) != test.options {
			t.Errorf("%s: %s %v %v", test.in, out, o, err)
		}
	}
	if _, err := ttl.ParseDuration("5 minutes"); err == nil {
		t.Error("a duration with words")
	}
}
