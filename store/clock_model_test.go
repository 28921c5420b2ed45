package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// clockModel is the model of a virtual clock. It shows at + rate × (system time - since). All times are in
// seconds after clockStart.
type clockModel struct{ at, since, rate int64 }

func (c clockModel) now(system int64) int64 { return c.at + c.rate*(system-c.since) }

// itemModel is the model of an item: when it was written, its ttl in seconds, and the end of its lease.
type itemModel struct {
	ts, life int64
	lease    int64
}

func (i itemModel) dead(now int64) bool { return i.ts+i.life <= now && now >= i.lease }

// returns reports whether an item that has expired at now would exist again if the clock were set to the
// second to.
func (d *clockTestDatabaseModel) returns(now, to int64) bool {
	for _, i := range d.items {
		if i.dead(now) && !i.dead(to) {
			return true
		}
	}
	return false
}

// clockTestDatabaseModel is the model of a database with one container, whose default TTL is 10 seconds.
type clockTestDatabaseModel struct {
	own    *clockModel
	items  map[string]itemModel
	stored int64 // the latest moment that forbids a way back
}

// storeModel is the model of a store whose clocks are moved: the server's clock, and the databases with
// their clocks and items.
type storeModel struct {
	system    int64
	server    clockModel
	catalog   int64 // the latest moment of the catalog
	databases map[string]*clockTestDatabaseModel
}

func (w *storeModel) clock(id string) *clockModel {
	if d := w.databases[id]; d != nil && d.own != nil {
		return d.own
	}
	return &w.server
}

func (w *storeModel) now(id string) int64 { return w.clock(id).now(w.system) }

// allowed reports whether the clock of the database id may be set to a second. If there is no such
// database, as for "", it is the server's clock.
func (w *storeModel) allowed(id string, to int64) bool {
	if d := w.databases[id]; d != nil {
		return to >= d.stored && !d.returns(w.now(id), to)
	}
	for id, d := range w.databases {
		if d.own == nil && (to < d.stored || d.returns(w.now(id), to)) {
			return false
		}
	}
	return to >= w.catalog
}

// TestClockHistories compares a store with a model after random changes of the clocks of the server and of
// databases. It checks that items expire by the clock of their database, that a clock can be set back
// exactly as far as is allowed, and that a restart changes nothing.
func TestClockHistories(t *testing.T) {
	testdisk.Pebble(t, "the machine's clock is moved, which servers of a database do not use")
	racetest.Sequential(t)
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		l := openLab(t, store.Options{ManualReaper: true})
		defer func() { l.close() }()
		w := &storeModel{server: clockModel{rate: 1}, databases: map[string]*clockTestDatabaseModel{}}
		for _, id := range []string{"a", "b"} {
			l.database(id)
			w.databases[id] = &clockTestDatabaseModel{items: map[string]itemModel{}}
		}
		h := clockModelTestActions{l, w, r}
		r.Repeat(map[string]func(*rapid.T){
			"":       h.compare,
			"pass":   h.pass,
			"write":  h.write,
			"lease":  h.lease,
			"sweep":  h.sweep,
			"move":   h.move,
			"follow": h.follow,
			"reopen": h.reopen,
		})
	})
}

type clockModelTestActions struct {
	l *clockFixture
	w *storeModel
	r *rapid.T
}

var (
	anyDatabase = rapid.SampledFrom([]string{"a", "b"})
	anyItem     = rapid.SampledFrom([]string{"i", "j", "k"})
)

// pass advances the system clock by a random number of seconds.
func (h clockModelTestActions) pass(r *rapid.T) {
	n := rapid.Int64Range(0, 8).Draw(r, "seconds")
	h.l.system.Advance(time.Duration(n) * time.Second)
	h.w.system += n
}

// write upserts or imports an item in both the store and the model.
func (h clockModelTestActions) write(r *rapid.T) {
	db, id := anyDatabase.Draw(r, "database"), anyItem.Draw(r, "item")
	life := rapid.SampledFrom([]int64{10, 3, 25}).Draw(r, "ttl")
	age := rapid.SampledFrom([]int64{0, 0, 0, 1, 5, 30}).Draw(r, "age")
	body := `{"id":"` + id + `","pk":"x"}`
	if life != 10 {
		body = fmt.Sprintf(`{"id":%q,"pk":"x","ttl":%d}`, id, life)
	}
	_, c := h.l.find(db)
	if _, _, err := c.Import(h.l.ctx, pk("x"), []byte(body),
		store.ImportTimestampOptions{Age: time.Duration(age) * time.Second}); err != nil {
		r.Fatal(err)
	}
	d, now := h.w.databases[db], h.w.now(db)
	item := itemModel{ts: now - age, life: life}
	if old, found := d.items[id]; found && !old.dead(now) {
		item.lease = old.lease
	}
	d.items[id], d.stored = item, max(d.stored, now)
}

func (h clockModelTestActions) lease(r *rapid.T) {
	db, id := anyDatabase.Draw(r, "database"), anyItem.Draw(r, "item")
	seconds := rapid.IntRange(1, 20).Draw(r, "seconds")
	_, c := h.l.find(db)
	_, err := c.Lease(h.l.ctx, pk("x"), id, seconds)
	d, now := h.w.databases[db], h.w.now(db)
	item, found := d.items[id]
	if live := found && !item.dead(now); live != (err == nil) || err != nil && !is(err, fault.CodeNotFound) {
		r.Fatalf("lease %s/%s: %v, the twin has it alive: %v", db, id, err, live)
	}
	if err == nil {
		item.lease = now + int64(seconds)
		d.items[id], d.stored = item, max(d.stored, now)
	}
}

func (h clockModelTestActions) sweep(r *rapid.T) {
	n, err := h.l.db.SweepNow(h.l.ctx)
	if err != nil {
		r.Fatal(err)
	}
	want := 0
	for db, d := range h.w.databases {
		now := h.w.now(db)
		for id, item := range d.items {
			if item.dead(now) {
				want++
				delete(d.items, id)
				d.stored = max(d.stored, now)
			}
		}
	}
	if n != want {
		r.Fatalf("swept %d, the twin %d", n, want)
	}
}

// move makes a random change of the clock of the server or of a database.
func (h clockModelTestActions) move(r *rapid.T) {
	id := rapid.SampledFrom([]string{"", "a", "b"}).Draw(r, "whose")
	next := *h.w.clock(id)
	next.at, next.since = next.now(h.w.system), h.w.system
	text := ""
	back := false
	switch rapid.IntRange(0, 4).Draw(r, "what") {
	case 0:
		by := rapid.Int64Range(0, 20).Draw(r, "by")
		text, next.at = fmt.Sprintf("advance %d", by), next.at+by
	case 1, 2:
		next.at += rapid.Int64Range(-30, 10).Draw(r, "to")
		text, back = fmt.Sprintf("set %d", next.at), true
	case 3:
		next.rate = rapid.Int64Range(0, 3).Draw(r, "rate")
		text = fmt.Sprintf("rate %d", next.rate)
	default:
		text, back = "real", true
		next = clockModel{at: h.w.system, since: h.w.system, rate: 1}
	}
	var err error
	if id == "" {
		_, err = h.l.db.SetClock(h.l.ctx, clockChange(h.l.t, text))
	} else {
		d, _ := h.l.find(id)
		_, err = d.SetClock(h.l.ctx, clockChange(h.l.t, text))
	}
	h.r.Logf("%q: %s: %v", id, text, err)
	if back && !h.w.allowed(id, next.at) {
		if !is(err, fault.CodeBadRequest) {
			r.Fatalf("%q: %s: %v, the twin forbids it", id, text, err)
		}
		return
	}
	if err != nil {
		r.Fatalf("%q: %s: %v", id, text, err)
	}
	if id == "" {
		h.w.server = next
	} else {
		h.w.databases[id].own = &next
	}
}

func (h clockModelTestActions) follow(r *rapid.T) {
	id := anyDatabase.Draw(r, "database")
	d, _ := h.l.find(id)
	err := d.FollowClock(h.l.ctx)
	twin := h.w.databases[id]
	to := h.w.server.now(h.w.system)
	if allowed := to >= twin.stored && !twin.returns(h.w.now(id), to); allowed != (err == nil) {
		r.Fatalf("follow: %v, the twin allows it: %v", err, allowed)
	}
	if err == nil {
		twin.own = nil
	}
}

func (h clockModelTestActions) reopen(*rapid.T) { h.l.reopen() }

// compare fails unless all clocks and items of the store are those of the model.
func (h clockModelTestActions) compare(r *rapid.T) {
	if now := h.l.db.Now().Unix() - clockStart; now != h.w.now("") {
		r.Fatalf("the server's clock shows %d, the twin's %d", now, h.w.now(""))
	}
	for id, twin := range h.w.databases {
		d, c := h.l.find(id)
		now := h.w.now(id)
		if shown := d.Now().Unix() - clockStart; shown != now {
			r.Fatalf("the clock of %s shows %d, the twin's %d", id, shown, now)
		}
		if _, own := d.Clock(); own != (twin.own != nil) {
			r.Fatalf("%s has a clock of its own: %v", id, own)
		}
		page, _, err := c.List(h.l.ctx, store.ListOptions{})
		if err != nil {
			r.Fatal(err)
		}
		var got, want []string
		for _, it := range page.Items {
			got = append(got, fmt.Sprint(it.ID(), " ", it.Timestamp()-clockStart))
		}
		for id, item := range twin.items {
			if !item.dead(now) {
				want = append(want, fmt.Sprint(id, " ", item.ts))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			r.Fatalf("%s at %d: %v, the twin has %v", id, now, got, want)
		}
	}
}
