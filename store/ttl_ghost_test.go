package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// expiredItem is a partition with one ghost: an item that has expired and may not have been purged yet.
type expiredItem struct {
	*ttlSuiteRig
	pk        definition.PartitionKey
	name      string
	etag, rid string
}

func (h *expiredItem) body(id, unique string) []byte {
	return fmt.Appendf(nil, `{"id":%q,"pk":%q,"u":%q}`, id, h.name, unique)
}

func (h *expiredItem) read(match string) error {
	_, _, err := h.c.Read(h.ctx, h.pk, "ghost", store.ReadOptions{IfNoneMatch: match})
	return err
}

func (h *expiredItem) replace(match string) error {
	_, _, err := h.c.Replace(h.ctx, h.pk, "ghost", h.body("ghost", "taken"),
		store.WriteOptions{IfMatch: match})
	return err
}

func (h *expiredItem) patch(match string) error {
	_, _, err := h.c.Patch(h.ctx, h.pk, "ghost", *patchOf(h.t, `{"op":"set","path":"/v","value":2}`),
		store.WriteOptions{IfMatch: match})
	return err
}

func (h *expiredItem) remove(match string) error {
	_, err := h.c.Delete(h.ctx, h.pk, "ghost", store.WriteOptions{IfMatch: match})
	return err
}

var errOldItem = errors.New("it is the old item still")

// fresh returns err, or an error if it is the expired item and not a new one.
func (h *expiredItem) fresh(it store.Item, err error) error {
	if err == nil && (it.RID() == h.rid || it.ETag() == h.etag) {
		return errOldItem
	}
	return err
}

func (h *expiredItem) create(id, unique string) error {
	it, _, err := h.c.Create(h.ctx, h.pk, h.body(id, unique), store.WriteOptions{})
	return h.fresh(it, err)
}

func (h *expiredItem) upsert(o store.WriteOptions) error {
	it, receipt, err := h.c.Upsert(h.ctx, h.pk, h.body("ghost", "taken"), o)
	if err == nil && !receipt.Inserted {
		return errOldItem
	}
	return h.fresh(it, err)
}

// none runs a query and returns an error if it has a row other than the count 0.
func (h *expiredItem) none(text string) error {
	in := store.ListOptions{Scope: store.KeyOrRange{Partition: h.pk}}
	page, _, err := h.c.Query(h.ctx, store.QueryRequest{Text: text, ListOptions: in})
	if err == nil && len(page.Rows) > 0 && string(page.Rows[0]) != "0" {
		return fmt.Errorf("%s: %s", text, page.Rows)
	}
	return err
}

// batch runs an atomic batch that includes an operation of the given kind on the expired item. It checks
// that nothing takes effect, and returns the operation's error.
func (h *expiredItem) batch(kind store.ItemOperationKind) error {
	ops := []store.ItemOperation{{Kind: store.OperationCreate, ID: "other", Body: h.body("other", "else")},
		{Kind: kind, ID: "ghost", Body: h.body("ghost", "taken")},
		{Kind: store.OperationRead, ID: "other"}}
	if kind == store.OperationPatch {
		ops[1].Patch = patchOf(h.t, `{"op":"set","path":"/v","value":2}`)
	}
	out, _, err := h.c.Batch(h.ctx, h.pk, ops, store.BatchOptions{Atomic: true})
	if err != nil {
		return err
	}
	for _, i := range []int{0, 2} {
		if !is(out.Results[i].Err, fault.CodeFailedDependency) {
			return fmt.Errorf("operation %d: %w", i, out.Results[i].Err)
		}
	}
	if err := h.none("SELECT * FROM c"); err != nil {
		return err
	}
	return out.Results[1].Err
}

// ghostRows are operations on an expired item with their expected results: an error code, or 0 for
// success.
var ghostRows = []struct {
	name string
	code fault.Code
	do   func(h *expiredItem) error
}{
	{"point read", fault.CodeNotFound, func(h *expiredItem) error { return h.read("") }},
	{"read If-None-Match its etag", fault.CodeNotFound, func(h *expiredItem) error { return h.read(h.etag) }},
	{"read If-None-Match anything", fault.CodeNotFound, func(h *expiredItem) error { return h.read("*") }},
	{"read of many", 0, func(h *expiredItem) error {
		got, _, err := h.c.ReadMany(h.ctx, []store.ItemKey{{Partition: h.pk, ID: "ghost"}}, store.ReadOptions{})
		if len(got) > 0 {
			return errOldItem
		}
		return err
	}},
	{"read by resource id", fault.CodeNotFound,
		func(h *expiredItem) error { _, err := h.c.ResolveRID(h.ctx, h.rid); return err }},
	{"list", 0, func(h *expiredItem) error {
		page, _, err := h.c.List(h.ctx, store.ListOptions{Scope: store.KeyOrRange{Partition: h.pk}})
		if len(page.Items) > 0 {
			return errOldItem
		}
		return err
	}},
	{"replace under another id", fault.CodeNotFound, func(h *expiredItem) error {
		_, _, err := h.c.Replace(h.ctx, h.pk, "ghost", h.body("other", "else"), store.WriteOptions{})
		return err
	}},
	{"latest feed", 0, func(h *expiredItem) error {
		page, _, err := h.c.Changes(h.ctx, store.ChangesRequest{Scope: store.KeyOrRange{Partition: h.pk}})
		if len(page.Changes) > 0 {
			return errOldItem
		}
		return err
	}},
	{"query of all", 0, func(h *expiredItem) error { return h.none("SELECT * FROM c") }},
	{"query by id", 0, func(h *expiredItem) error { return h.none("SELECT * FROM c WHERE c.id = 'ghost'") }},
	{"query by index", 0, func(h *expiredItem) error {
		return h.none("SELECT VALUE c.u FROM c WHERE c.u = 'taken'")
	}},
	{"query in order", 0, func(h *expiredItem) error { return h.none("SELECT TOP 1 * FROM c ORDER BY c.u") }},
	{"COUNT", 0, func(h *expiredItem) error { return h.none("SELECT VALUE COUNT(1) FROM c") }},
	{"COUNT by index", 0, func(h *expiredItem) error {
		return h.none("SELECT VALUE COUNT(1) FROM c WHERE c.u = 'taken'")
	}},
	{"MAX", 0, func(h *expiredItem) error { return h.none("SELECT VALUE MAX(c.u) FROM c") }},
	{"DISTINCT", 0, func(h *expiredItem) error { return h.none("SELECT DISTINCT VALUE c.u FROM c") }},
	{"GROUP BY", 0, func(h *expiredItem) error { return h.none("SELECT c.u, COUNT(1) AS n FROM c GROUP BY c.u") }},
	{"replace", fault.CodeNotFound, func(h *expiredItem) error { return h.replace("") }},
	{"replace If-Match its etag", fault.CodeNotFound, func(h *expiredItem) error { return h.replace(h.etag) }},
	{"replace If-Match another", fault.CodeNotFound,
		func(h *expiredItem) error { return h.replace(`"00000000-0000-0000-0000-000000000000"`) }},
	{"patch", fault.CodeNotFound, func(h *expiredItem) error { return h.patch("") }},
	{"patch If-Match another", fault.CodeNotFound,
		func(h *expiredItem) error { return h.patch(`"00000000-0000-0000-0000-000000000000"`) }},
	{"delete", fault.CodeNotFound, func(h *expiredItem) error { return h.remove("") }},
	{"delete If-Match another", fault.CodeNotFound,
		func(h *expiredItem) error { return h.remove(`"00000000-0000-0000-0000-000000000000"`) }},
	{"lease", fault.CodeNotFound,
		func(h *expiredItem) error { _, err := h.c.Lease(h.ctx, h.pk, "ghost", 5); return err }},
	{"release of a lease", fault.CodeNotFound,
		func(h *expiredItem) error { return h.c.ReleaseLease(h.ctx, h.pk, "ghost") }},
	{"create with its id", 0, func(h *expiredItem) error { return h.create("ghost", "taken") }},
	{"create with its unique key", 0, func(h *expiredItem) error { return h.create("heir", "taken") }},
	{"create beside it", 0, func(h *expiredItem) error { return h.create("heir", "free") }},
	{"upsert", 0, func(h *expiredItem) error { return h.upsert(store.WriteOptions{}) }},
	{"upsert If-Match its etag", 0,
		func(h *expiredItem) error { return h.upsert(store.WriteOptions{IfMatch: h.etag}) }},
	{"upsert If-Match another", 0, func(h *expiredItem) error {
		return h.upsert(store.WriteOptions{IfMatch: `"00000000-0000-0000-0000-000000000000"`})
	}},
	{"upsert If-None-Match anything", 0,
		func(h *expiredItem) error { return h.upsert(store.WriteOptions{IfNoneMatch: "*"}) }},
	{"batch with a read", fault.CodeNotFound, func(h *expiredItem) error { return h.batch(store.OperationRead) }},
	{"batch with a replace", fault.CodeNotFound,
		func(h *expiredItem) error { return h.batch(store.OperationReplace) }},
	{"batch with a patch", fault.CodeNotFound, func(h *expiredItem) error { return h.batch(store.OperationPatch) }},
	{"batch with a delete", fault.CodeNotFound,
		func(h *expiredItem) error { return h.batch(store.OperationDelete) }},
	{"delete of its partition", 0,
		func(h *expiredItem) error { _, err := h.c.DeletePartition(h.ctx, h.pk); return err }},
}

// TestTTLGhost checks that each operation on an item expired by its own ttl or by the default has the same
// result as if the item had never existed, in the second of the expiry and much later.
func TestTTLGhost(t *testing.T) {
	t.Parallel()
	for _, later := range []int64{0, 1, 3600} {
		for _, own := range []string{"", `,"ttl":5`} {
			by := map[bool]string{true: "its own ttl", false: "the default"}[own != ""]
			t.Run(fmt.Sprintf("%d seconds later by %s", later, by), func(t *testing.T) {
				onFixtures(t, func(g *ttlSuiteRig) {
					g.container("c", 5, `"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`)
					haunts := make([]expiredItem, len(ghostRows))
					for i, row := range ghostRows {
						h := expiredItem{ttlSuiteRig: g, name: row.name, pk: pk(row.name)}
						it, _, err := g.c.Create(g.ctx, h.pk,
							fmt.Appendf(nil, `{"id":"ghost","pk":%q,"u":"taken"%s}`, row.name,
								own), store.WriteOptions{})
						g.must(err)
						h.etag, h.rid = it.ETag(), it.RID()
						haunts[i] = h
					}
					g.until(4)
					if err := haunts[0].read(""); err != nil {
						t.Fatal(err)
					}
					g.until(5 + later)
					for i, row := range ghostRows {
						if err := row.do(&haunts[i]); row.code == 0 && err != nil || row.code != 0 &&
							!is(err, row.code) {
							g.t.Errorf("%s: %v, want %v", row.name, err, row.code)
						}
					}
				})
			})
		}
	}
}

// TestTTLGhostTakesSpace checks that an expired item counts in the storage use until it is purged.
func TestTTLGhostTakesSpace(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":5`, 1)
	defer b.close()
	if _, _, err := b.c.Create(b.ctx, pk("x"), []byte(`{"id":"ghost","pk":"x"}`),
		store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(5 * time.Second)
	for _, want := range []int64{1, 0} {
		if u, err := b.c.Usage(b.ctx); err != nil || u.Documents != want {
			t.Errorf("%+v %v, want %d documents", u, err, want)
		}
		if _, err := b.db.SweepNow(b.ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// refreshes are operations on a live item. fresh says whether the operation restarts the item's time to
// live.
var refreshes = []struct {
	name  string
	fresh bool
	do    func(h *expiredItem) error
}{
	{"replace", true, func(h *expiredItem) error { return h.replace("") }},
	{"upsert", true, func(h *expiredItem) error {
		_, _, err := h.c.Upsert(h.ctx, h.pk, h.body("ghost", "taken"), store.WriteOptions{})
		return err
	}},
	{"patch", true, func(h *expiredItem) error { return h.patch("") }},
	{"patch to the ttl that it has", true, func(h *expiredItem) error {
		_, _, err := h.c.Patch(h.ctx, h.pk, "ghost", *patchOf(h.t, `{"op":"set","path":"/ttl","value":8}`),
			store.WriteOptions{})
		return err
	}},
	{"patch that takes the ttl away", true, func(h *expiredItem) error {
		_, _, err := h.c.Patch(h.ctx, h.pk, "ghost", *patchOf(h.t, `{"op":"remove","path":"/ttl"}`),
			store.WriteOptions{})
		return err
	}},
	{"batch", true, func(h *expiredItem) error { return h.within(true) }},
	{"bulk", true, func(h *expiredItem) error { return h.within(false) }},
	{"delete and create", true,
		func(h *expiredItem) error { return errors.Join(h.remove(""), h.create("ghost", "taken")) }},
	{"point read", false, func(h *expiredItem) error { return h.read("") }},
	{"query", false, func(h *expiredItem) error { _, err := h.query(); return err }},
	{"feed", false, func(h *expiredItem) error {
		_, _, err := h.c.Changes(h.ctx, store.ChangesRequest{Scope: store.KeyOrRange{Partition: h.pk}})
		return err
	}},
	{"batch with a read", false, func(h *expiredItem) error {
		_, _, err := h.c.Batch(h.ctx, h.pk, []store.ItemOperation{{Kind: store.OperationRead, ID: "ghost"}},
			store.BatchOptions{Atomic: true})
		return err
	}},
	{"refused replace", false, func(h *expiredItem) error {
		if err := h.replace(`"00000000-0000-0000-0000-000000000000"`); !is(err,
			fault.CodePreconditionFailed) {
			return fmt.Errorf("not refused: %w", err)
		}
		return nil
	}},
	{"lease that is over in time", false,
		func(h *expiredItem) error { _, err := h.c.Lease(h.ctx, h.pk, "ghost", 2); return err }},
	{"another indexing policy", false, func(h *expiredItem) error {
		_, err := h.d.ReplaceContainer(h.ctx, "c",
			specOf(h.t, `"defaultTtl":8,"indexingPolicy":{"excludedPaths":[{"path":"/*"}]}`), store.WriteOptions{})
		return err
	}},
}

func (h *expiredItem) query() ([][]byte, error) {
	page, _, err := h.c.Query(h.ctx, store.QueryRequest{Text: "SELECT * FROM c WHERE c.id = 'ghost'",
		ListOptions: store.ListOptions{Scope: store.KeyOrRange{Partition: h.pk}}})
	return page.Rows, err
}

func (h *expiredItem) within(atomic bool) error {
	ops := []store.ItemOperation{{Kind: store.OperationReplace, ID: "ghost", Partition: h.pk,
		Body: h.body("ghost", "taken")}}
	out, _, err := h.c.Batch(h.ctx, h.pk, ops, store.BatchOptions{Atomic: atomic})
	if err == nil {
		err = out.Results[0].Err
	}
	return err
}

// TestTTLRefresh performs each operation in refreshes in second 3 on an item written in second 0 with a
// ttl of 8, and checks that the item then lives through second 10 if it was written, and 7 if not.
func TestTTLRefresh(t *testing.T) {
	t.Parallel()
	onFixtures(t, func(g *ttlSuiteRig) {
		g.container("c", 8, "")
		haunts := make([]expiredItem, len(refreshes))
		for i, row := range refreshes {
			h := expiredItem{ttlSuiteRig: g, name: row.name, pk: pk(row.name)}
			_, _, err := g.c.Create(g.ctx, h.pk, fmt.Appendf(nil, `{"id":"ghost","pk":%q,"ttl":8}`, row.name),
				store.WriteOptions{})
			g.must(err)
			haunts[i] = h
		}
		g.until(3)
		for i, row := range refreshes {
			if err := row.do(&haunts[i]); err != nil {
				g.t.Errorf("%s: %v", row.name, err)
			}
		}
		for _, second := range []int64{3, 7, 8, 10, 11} {
			g.until(second)
			for i, row := range refreshes {
				want, h := second < 8 || row.fresh && second < 11, &haunts[i]
				rows, err := h.query()
				g.must(err)
				if err := h.read(""); want != (err == nil) || err != nil && !is(err, fault.CodeNotFound) ||
					want != (len(rows) == 1) {
					g.t.Errorf("%s, second %d: %v, %d rows", row.name, second, err, len(rows))
				} else if want {
					wrote := map[bool]int64{true: 3}[row.fresh]
					if ts := int64(jsondoc.Of(rows[0]).Member("_ts").Num()) - 1_700_000_000; ts != wrote {
						g.t.Errorf("%s: its _ts is %d, not %d", row.name, ts, wrote)
					}
				}
			}
		}
	})
}

// TestTTLWholeSeconds checks that an item written late in a second expires as if written at its beginning.
func TestTTLWholeSeconds(t *testing.T) {
	t.Parallel()
	onFixtures(t, func(g *ttlSuiteRig) {
		g.container("c", -1, "")
		g.clock.Advance(900 * time.Millisecond)
		g.put(g.c, "late", 1)
		g.clock.Advance(99 * time.Millisecond)
		g.settle()
		g.alive("0.999", g.c, []string{"late"}, map[string]expectedVisibleItem{"late": {ttl: 1}})
		g.clock.Advance(time.Millisecond)
		g.settle()
		g.alive("1.000", g.c, []string{"late"}, nil)
	})
}

// TestTTLRefreshByProcedure checks that a write by a stored procedure restarts an item's time to live.
func TestTTLRefreshByProcedure(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":8`, 1)
	defer b.close()
	b.procedure("touch", `function () {
		__.replaceDocument(__.getAltLink() + "/docs/i", { id: "i", pk: "a" }, err => { if (err) throw err; });
	}`)
	b.put(`{"id":"i","pk":"a"}`)
	b.clock.Advance(3 * time.Second)
	if _, err := b.execute("touch"); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		after time.Duration
		code  fault.Code
	}{{7 * time.Second, 0}, {time.Second, fault.CodeNotFound}} {
		b.clock.Advance(row.after)
		if _, _, err := b.c.Read(b.ctx, pk("a"), "i", store.ReadOptions{}); row.code == 0 && err != nil ||
			row.code != 0 && !is(err, row.code) {
			t.Errorf("second %d: %v", b.seconds()-1_700_000_000, err)
		}
	}
	if _, err := b.execute("touch"); err == nil {
		t.Error("a procedure replaced an item that has expired")
	}
}
