package store_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// The TTL suite says the rules of expiry row by row, as tables that were written down by hand: which item
// lives how long under which default (lives), what resets its time (refreshes), what becomes of an item that
// has expired (ghost operations), of all when the default changes, and what the feeds show. Each row is
// played in memory, on a disk that is opened anew now and then, and under each reaper.

// ttlSuiteRig is a store for the TTL tests, on one kind of disk and with one schedule of the reaper.
type ttlSuiteRig struct {
	*timelineTestFixture
	reaper  string
	durable bool
	r       *rand.Rand
}

// onFixtures runs f as a subtest on each kind of disk with each schedule of the reaper.
func onFixtures(t *testing.T, f func(g *ttlSuiteRig)) {
	t.Helper()
	for i, reaper := range reapers {
		for _, where := range []string{"memory", "disk", "folder"} {
			if where == "folder" && reaper != "random" {
				continue // a real one takes its time
			}
			if testdisk.Postgres(t) && where != "disk" {
				continue // a database is the same everywhere
			}
			t.Run(where+"/reaper "+strings.ReplaceAll(reaper, " ", "-"), func(t *testing.T) {
				disk := testdisk.New(t)
				switch where {
				case "disk":
					disk = testdisk.NewCrashable(t)
				case "folder":
					disk = testdisk.NewFolder(t)
				}
				g := &ttlSuiteRig{newTimelineRigOn(t, disk, reaper != "delayed"), reaper, where != "memory",
					rand.New(rand.NewPCG(uint64(i), 8))}
				defer g.close()
				f(g)
			})
		}
	}
}

// container creates a container with the given default TTL; more holds further members of its definition
// as JSON. If id is "c", it also becomes g.c.
func (g *ttlSuiteRig) container(id string, def ttl.Seconds, more string) *store.Container {
	g.t.Helper()
	spec := specOf(g.t, more)
	spec.ID, spec.DefaultTTL = id, def
	c, err := g.d.CreateContainer(g.ctx, spec, definition.Throughput{})
	g.must(err)
	if g.reaper == "delayed" {
		_, err = c.ChangeSettings(g.ctx, func(s *store.ContainerSettings) error {
			s.Reaper = &store.ReaperSettings{Delay: &store.PurgeDelay{Min: 1, Max: 4, Seed: 1}}
			return nil
		})
		g.must(err)
	}
	if id == "c" {
		g.c = c
	}
	return c
}

func (g *ttlSuiteRig) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *ttlSuiteRig) now() int64 { return g.clock.Now().Unix() - 1_700_000_000 }

// until advances the clock to a second, counted from the beginning of the test.
func (g *ttlSuiteRig) until(second int64) {
	g.t.Helper()
	g.clock.Set(time.Unix(1_700_000_000+second, 0))
	g.settle()
}

// settle lets the reaper purge expired items if its schedule says so, and sometimes reopens the store.
func (g *ttlSuiteRig) settle() {
	g.t.Helper()
	if g.durable && g.r.IntN(5) == 0 {
		g.must(g.db.Close())
		g.must(g.open())
		var err error
		g.d, err = g.db.Database("db")
		g.must(err)
		if g.c, err = g.d.Container("c"); err != nil && !is(err, fault.CodeNotFound) {
			g.t.Fatal(err)
		}
	}
	if g.reaper == "each step" || g.reaper == "random" && g.r.IntN(2) == 0 {
		_, err := g.db.SweepNow(g.ctx)
		g.must(err)
	}
}

// put upserts an item in the partition "x" with the ttl own; 0: none.
func (g *ttlSuiteRig) put(c *store.Container, id string, own int64) {
	g.t.Helper()
	_, _, err := c.Upsert(g.ctx, pk("x"),
		document(metamorphic.TimelineOperation{ID: id, Partition: "x", TTL: own},
			0),
		store.WriteOptions{})
	g.must(err)
}

// alive fails the test unless, of the items with the ids in among, every kind of read returns exactly those
// in want, with the ttl and the _ts given there. In want, _ts counts from the beginning of the test. row is
// the name of the case for error messages.
func (g *ttlSuiteRig) alive(row string, c *store.Container, among []string,
	want map[string]expectedVisibleItem) {
	g.t.Helper()
	var keys []metamorphic.ItemKey
	for _, id := range among {
		keys = append(keys, metamorphic.ItemKey{ID: id, Partition: "x"})
	}
	all := map[metamorphic.ItemKey]expectedVisibleItem{}
	for id, it := range want {
		it.ts += 1_700_000_000
		all[metamorphic.ItemKey{ID: id, Partition: "x"}] = it
	}
	if err := lookAt(g.ctx, c, keys, all); err != nil {
		g.t.Errorf("%s, second %d: %v", row, g.now(), err)
	}
}

// owns are the ttl values of the items in the tests: none (0), never (-1), the shortest, one shorter and
// one longer than the default, and the longest.
var owns = []int64{0, -1, 1, 4, 25, maxLife}

const maxLife = int64(ttl.Max)

// matrix holds, for each default TTL, how many seconds an item lives with each of the ttl values that the
// tests use (owns): none, -1, 1, 4, 25 and the maximum. 0: it never expires.
var matrix = []struct {
	def   int64 // 0 off
	lives [6]int64
}{
	{0, [6]int64{0, 0, 0, 0, 0, 0}},
	{-1, [6]int64{0, 0, 1, 4, 25, maxLife}},
	{1, [6]int64{1, 0, 1, 4, 25, maxLife}},
	{10, [6]int64{10, 0, 1, 4, 25, maxLife}},
	{maxLife, [6]int64{maxLife, 0, 1, 4, 25, maxLife}},
}

// TestTTLMatrix checks each combination of default TTL and ttl in matrix, in the second before each
// expiry, in that second and after it.
func TestTTLMatrix(t *testing.T) {
	t.Parallel()
	for _, row := range matrix {
		t.Run(fmt.Sprint("default=", row.def), func(t *testing.T) {
			onFixtures(t, func(g *ttlSuiteRig) {
				g.container("c", ttl.Seconds(row.def), "")
				var ids []string
				for _, own := range owns {
					ids = append(ids, fmt.Sprint("ttl=", own))
					g.put(g.c, ids[len(ids)-1], own)
				}
				for _, second := range []int64{0, 1, 2, 3, 4, 5, 9, 10, 11, 24, 25, 26, maxLife - 1, maxLife,
					maxLife + 1} {
					g.until(second)
					want := map[string]expectedVisibleItem{}
					for i, life := range row.lives {
						if life == 0 || second < life {
							want[ids[i]] = expectedVisibleItem{ttl: owns[i]}
						}
					}
					g.alive(t.Name(), g.c, ids, want)
				}
			})
		})
	}
}

// TestTTLRefused checks that every kind of write with an invalid ttl fails and changes nothing, whatever
// the default TTL.
func TestTTLRefused(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	if _, _, err := b.c.Create(b.ctx, pk("x"), []byte(`{"id":"old","pk":"x","ttl":7}`),
		store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, def := range []string{"null", "-1", "10"} {
		b.setDefault(def)
		for _, token := range []string{"null", "0", "-2", "-10", `"60"`, "1.5", "2147483648", "1e300", "true",
			"false", "{}", "[1]"} {
			fresh, old := []byte(`{"id":"new","pk":"x","ttl":`+token+
				`}`), []byte(`{"id":"old","pk":"x","ttl":`+token+`}`)
			ops := []store.ItemOperation{{Kind: store.OperationCreate, ID: "first",
				Body: []byte(`{"id":"first","pk":"x"}`)}, {
				Kind: store.OperationCreate, ID: "new", Body: fresh}}
			for verb, do := range map[string]func() error{
				"create": func() error {
					_, _,
						err := b.c.Create(b.ctx, pk("x"), fresh, store.WriteOptions{})
					return err
				},
				"upsert": func() error {
					_, _,
						err := b.c.Upsert(b.ctx, pk("x"), old, store.WriteOptions{})
					return err
				},
				"replace": func() error {
					_, _, err := b.c.Replace(b.ctx, pk("x"), "old", old,
						store.WriteOptions{})
					return err
				},
				"import": func() error {
					_, _, err := b.c.Import(b.ctx, pk("x"), fresh,
						store.ImportTimestampOptions{Age: time.Second})
					return err
				},
				"patch": func() error {
					_, _, err := b.c.Patch(b.ctx, pk("x"), "old",
						*patchOf(t, `{"op":"set","path":"/ttl","value":`+token+`}`), store.WriteOptions{})
					return err
				},
				"batch": func() error {
					out, _, err := b.c.Batch(b.ctx, pk("x"), ops, store.BatchOptions{Atomic: true})
					if err == nil {
						err = out.Results[1].Err
					}
					return err
				},
			} {
				if err := do(); !is(err, fault.CodeBadRequest) {
					t.Errorf("default %s, %s with a ttl of %s: %v", def, verb, token, err)
				}
			}
		}
		page, _, err := b.c.List(b.ctx, store.ListOptions{})
		if err != nil || len(page.Items) != 1 ||
			string(page.Items[0].Body()) != `{"id":"old","pk":"x","ttl":7}` {
			t.Errorf("default %s: %v %v", def, page.Items, err)
		}
	}
}

// TestTTLDefaults checks which default TTLs are accepted when a container is created and when it is
// replaced.
func TestTTLDefaults(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	d, err := b.db.Database("db")
	if err != nil {
		t.Fatal(err)
	}
	none := `,"indexingPolicy":{"indexingMode":"none","automatic":false}`
	for _, row := range []struct {
		more string
		def  int64
		ok   bool
	}{
		{``, 0, true}, {`,"defaultTtl":null`, 0, true}, {`,"defaultTtl":-1`, -1, true}, {`,"defaultTtl":1`, 1,
			true},
		{`,"defaultTtl":2147483647`, maxLife, true}, {`,"defaultTtl":60.0`, 60, true},
		{`,"defaultTtl":0`, 0, false}, {`,"defaultTtl":-2`, 0, false}, {`,"defaultTtl":-10`, 0,
			false}, {`,"defaultTtl":2147483648`, 0, false},
		{`,"defaultTtl":1.5`, 0, false}, {`,"defaultTtl":"5"`, 0, false}, {`,"defaultTtl":true`, 0, false},
		{`,"ttlPropertyPath":"/when"`, 0, false},
		{none, 0, true}, {`,"defaultTtl":5` + none, 0, false}, {`,"defaultTtl":-1` + none, 0, false},
	} {
		for _, id := range []string{"c", "new"} {
			spec, _, err := definition.ParseContainerSpec([]byte(`{"id":"`+id+
				`","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}`+row.more+`}`), true)
			c := b.c
			if err == nil && id == "c" {
				c, err = d.ReplaceContainer(b.ctx, id, spec, store.WriteOptions{})
			} else if err == nil {
				c, err = d.CreateContainer(b.ctx, spec, definition.Throughput{})
			}
			switch {
			case !row.ok && !is(err, fault.CodeBadRequest):
				t.Errorf("%s of %s: %v", row.more, id, err)
			case row.ok && (err != nil || int64(c.Info().Spec.DefaultTTL) != row.def):
				t.Errorf("%s of %s: %v, the default is %d", row.more, id, err, c.Info().Spec.DefaultTTL)
			case row.ok && id == "new":
				if err := d.DeleteContainer(b.ctx, id, store.WriteOptions{}); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
