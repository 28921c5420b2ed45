package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// archiveRig is a container with an archive, which itself has an archive, together with a simple model
// of its items that is updated second by second and does not use the store's rules of expiry.
type archiveRig struct {
	t     *testing.T
	ctx   context.Context
	r     *rand.Rand
	fs    *testdisk.EngineStorage
	clock *ttl.VirtualClock
	db    *store.DB
	d     *store.Database
	c     *store.Container
	n     int // versions written

	def     int64 // the default: 0 off, -1 on
	ceiling bool
	live    map[string]*archiveModelItem // by partition key and id
	dead    []string                     // versions that have expired, in any order
}

// archiveModelItem is an item in the model: its version, its time of writing, its ttl and its lease.
type archiveModelItem struct {
	version     string
	ts, own     int64
	lease       int64
	doomed      bool // its time was over in some second, perhaps while it was leased
	pk, id, tag string
}

// TestRandomExpiryWithArchive performs random operations on a container with leases, changes of the default
// TTL and an archive. It checks that the items that exist, their number and the archived items are those of
// the model, however often the reaper runs.
func TestRandomExpiryWithArchive(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	for _, reaper := range []string{"off", "each step", "random"} {
		for seed := range uint64(racetest.Campaign(6, 2)) {
			t.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(reaper, " ", "-"), seed), func(t *testing.T) {
				m := newExpectedArchive(t, seed)
				for range 250 {
					m.step()
					if reaper == "each step" || reaper == "random" && m.r.IntN(6) == 0 {
						m.sweep()
					}
					if t.Failed() {
						break
					}
				}
				m.end()
			})
		}
	}
}

func newExpectedArchive(t *testing.T, seed uint64) *archiveRig {
	m := &archiveRig{t: t, ctx: context.Background(),
		r: rand.New(rand.NewPCG(seed, 7)), fs: testdisk.NewCrashable(t),
		live: map[string]*archiveModelItem{}, def: -1,
		clock: ttl.NewManual(time.Unix(1_700_000_000, 0))}
	m.open()
	var err error
	if m.d, err = m.db.CreateDatabase(m.ctx, "db", definition.Throughput{}); err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{
		`"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":100000},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`,
		`"defaultTtl":9`, ``} {
		spec := specOf(t, more)
		switch len(m.d.Containers()) {
		case 1:
			spec.ID, spec.PartitionKey.Paths = "archive", []string{"/" + []string{"pk", "id",
				"_mayfly/source", "none"}[seed%4]}
		case 2:
			spec.ID = "attic"
		}
		if _, err := m.d.CreateContainer(m.ctx, spec, definition.Throughput{}); err != nil {
			t.Fatal(err)
		}
	}
	m.find()
	m.archive("archive", "attic")
	m.archive("c", "archive")
	return m
}

func (m *archiveRig) open() {
	var err error
	if m.db, err = openAt(m.ctx, m.fs, m.clock); err != nil {
		m.t.Fatal(err)
	}
}

func (m *archiveRig) find() {
	var err error
	if m.d, err = m.db.Database("db"); err == nil {
		m.c, err = m.d.Container("c")
	}
	m.check(err)
}

func (m *archiveRig) archive(from, to string) {
	c, err := m.d.Container(from)
	if err == nil {
		_, err = c.ChangeSettings(m.ctx, func(s *store.ContainerSettings) error {
			s.OnExpire = &store.OnExpireSettings{MoveTo: to}
			return nil
		})
	}
	m.check(err)
}

func (m *archiveRig) check(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *archiveRig) sweep() {
	m.t.Helper()
	_, err := m.db.SweepNow(m.ctx)
	m.check(err)
}

func (m *archiveRig) now() int64 { return m.clock.Now().Unix() }

// judge moves the model's items that have expired by now from live to dead.
func (m *archiveRig) judge() {
	for key, it := range m.live {
		limit := it.own
		if limit == 0 {
			limit = m.def
		}
		it.doomed = it.doomed || m.def != 0 && limit > 0 && it.ts+limit <= m.now()
		if it.doomed && m.now() >= it.lease {
			m.dead = append(m.dead, it.version)
			delete(m.live, key)
		}
	}
}

// step performs one random operation on both the container and the model.
func (m *archiveRig) step() {
	switch m.r.IntN(20) {
	case 0, 1, 2, 3, 4, 5:
		m.clock.Advance(time.Second)
	case 6, 7, 8, 9, 10:
		m.write()
	case 11, 12, 13:
		m.lease()
	case 14:
		m.remove()
	case 15:
		m.setDefault()
	case 16:
		m.setCeiling()
	case 17:
		m.split()
	case 18:
		m.check(m.db.Close())
		m.open()
		m.find()
	default:
		m.clock.Advance(time.Duration(m.r.IntN(8)) * time.Second)
	}
	m.judge()
	m.compare()
}

func (m *archiveRig) draw() (pk, id string) {
	return fmt.Sprint("p", m.r.IntN(2)), fmt.Sprint("i", m.r.IntN(3))
}

func (m *archiveRig) write() {
	p, id := m.draw()
	m.n++
	it := &archiveModelItem{version: fmt.Sprint("v", m.n), ts: m.now(), pk: p, id: id,
		tag: fmt.Sprint("u", m.r.IntN(4))}
	more := ""
	if m.r.IntN(2) == 0 {
		it.own = []int64{-1, 1, 2, 5, 30}[m.r.IntN(5)]
		more = fmt.Sprintf(`,"ttl":%d`, it.own)
	}
	body := fmt.Sprintf(`{"id":%q%s,"pk":%q,"u":%q,"v":%q}`, id, more, p, it.tag, it.version)
	old := m.live[p+id]
	taken := false
	for _, other := range m.live {
		taken = taken || other != old && other.pk == p && other.tag == it.tag
	}
	_, _, err := m.c.Upsert(m.ctx, pk(p), []byte(body), store.WriteOptions{})
	if is(err, fault.CodeConflict) && taken {
		return
	}
	if m.check(err); taken {
		m.t.Errorf("%s was written beside another with its unique key", body)
	}
	if m.ceiling && m.def > 0 && it.own != 0 && (it.own < 0 || it.own > m.def) {
		it.own = m.def
	}
	if old != nil {
		it.lease = old.lease
	}
	m.live[p+id] = it
}

func (m *archiveRig) lease() {
	p, id := m.draw()
	it := m.live[p+id]
	var err error
	if m.r.IntN(4) == 0 {
		if err = m.c.ReleaseLease(m.ctx, pk(p), id); it != nil {
			it.lease = 0
		}
	} else {
		seconds := 1 + m.r.IntN(12)
		var l store.ExpirySuspension
		if l, err = m.c.Lease(m.ctx, pk(p), id, seconds); it != nil {
			if it.lease = m.now() + int64(seconds); l.Until != it.lease {
				m.t.Errorf("a lease of %d seconds at %d ends at %d", seconds, m.now(), l.Until)
			}
		}
	}
	if it == nil && !is(err, fault.CodeNotFound) || it != nil && err != nil {
		m.t.Errorf("lease of %s %s: %v, alive %v", p, id, err, it != nil)
	}
}

func (m *archiveRig) remove() {
	p, id := m.draw()
	_, err := m.c.Delete(m.ctx, pk(p), id, store.WriteOptions{})
	if alive := m.live[p+id] != nil; alive != (err == nil) || err != nil && !is(err, fault.CodeNotFound) {
		m.t.Errorf("delete of %s %s: %v, alive %v", p, id, err, alive)
	}
	delete(m.live, p+id)
}

func (m *archiveRig) setDefault() {
	m.def = []int64{0, -1, 3, 10}[m.r.IntN(4)]
	spec := m.c.Info().Spec
	spec.DefaultTTL = ttl.Seconds(m.def)
	_, err := m.d.ReplaceContainer(m.ctx, "c", spec, store.WriteOptions{})
	m.check(err)
}

func (m *archiveRig) setCeiling() {
	m.ceiling = !m.ceiling
	_, err := m.c.ChangeSettings(m.ctx, func(s *store.ContainerSettings) error {
		s.TTLCeiling = m.ceiling
		return nil
	})
	m.check(err)
}

func (m *archiveRig) split() {
	all := m.d.Containers()
	c := all[m.r.IntN(len(all))]
	if ranges := c.Ranges().Ranges; len(ranges) < 5 {
		if _, err := c.Split(m.ctx, ranges[m.r.IntN(len(ranges))].ID, ""); err != nil &&
			!is(err, fault.CodeConflict) {
			m.t.Fatal(err)
		}
	}
}

// compare checks that reads, lists, queries and counts of the container return the items that are live in
// the model.
func (m *archiveRig) compare() {
	m.t.Helper()
	for _, p := range []string{"p0", "p1"} {
		for _, id := range []string{"i0", "i1", "i2"} {
			want := m.live[p+id]
			it, _, err := m.c.Read(m.ctx, pk(p), id, store.ReadOptions{})
			switch {
			case want == nil && is(err, fault.CodeNotFound):
			case err != nil || want == nil:
				m.t.Fatalf("%s %s at %d: %v %s, want %+v", p, id, m.now(), err, it.Body(), want)
			default:
				body := jsondoc.Of(it.Body())
				if body.Member("v").Str() != want.version || int64(body.Member("ttl").Num()) != want.own ||
					it.Timestamp() != want.ts {
					m.t.Fatalf("%s %s: %s of %d, want %+v", p, id, it.Body(), it.Timestamp(), want)
				}
			}
		}
	}
	for _, text := range []string{"SELECT VALUE COUNT(1) FROM c",
		"SELECT VALUE COUNT(1) FROM c WHERE c.pk != 'x'"} {
		page, _, err := m.c.Query(m.ctx, store.QueryRequest{Text: text})
		if m.check(err); len(page.Rows) != 1 || string(page.Rows[0]) != fmt.Sprint(len(m.live)) {
			m.t.Fatalf("%s: %s, want %d", text, page.Rows, len(m.live))
		}
	}
}

// end purges all expired items, and checks that each is in exactly one of the archives.
func (m *archiveRig) end() {
	if !m.t.Failed() {
		m.sweep()
		m.compare()
		var found []string
		for _, name := range []string{"archive", "attic"} {
			found = append(found, m.versions(name)...)
		}
		slices.Sort(found)
		if slices.Sort(m.dead); !slices.Equal(found, m.dead) {
			m.t.Errorf("archived %v\nexpired %v", found, m.dead)
		}
		for range 2 { // what expires here meanwhile has a life in the archive, too
			m.clock.Advance(time.Minute)
			m.sweep()
		}
		if left := m.versions("archive"); len(left) > 0 {
			m.t.Errorf("not moved on: %v", left)
		}
		checkClean(m.t, m.db)
	}
	m.check(m.db.Close())
}

func (m *archiveRig) versions(name string) (list []string) {
	c, err := m.d.Container(name)
	m.check(err)
	for row, err := range c.Rows(m.ctx, store.QueryRequest{Text: "SELECT * FROM c"}) {
		m.check(err)
		list = append(list, jsondoc.Of(row).Member("v").Str())
		if body := string(row); strings.Contains(strings.SplitN(body, `"_mayfly"`, 2)[0], `"ttl"`) {
			m.t.Errorf("it has a ttl still: %s", body)
		}
	}
	return list
}
