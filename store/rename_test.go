package store_test

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// renameSpec is the definition of the container in the tests of renames. A rename is a replace by a
// document with another id.
const renameSpec = `"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":10},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`

func body(id, more string) []byte { return []byte(`{"id":"` + id + `","pk":"x"` + more + `}`) }

// write creates an item with the given id. more holds further members of the document as JSON.
func (b *testStore) write(id, more string) store.Item {
	b.t.Helper()
	it, _, err := b.c.Create(b.ctx, pk("x"), body(id, more), store.WriteOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return it
}

func (b *testStore) rename(id, to, more string) (store.Item, error) {
	it, _, err := b.c.Replace(b.ctx, pk("x"), id, body(to, more), store.WriteOptions{})
	return it, err
}

func (b *testStore) read(id string) (store.Item, error) {
	it, _, err := b.c.Read(b.ctx, pk("x"), id, store.ReadOptions{})
	return it, err
}

func TestRename(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, renameSpec, 1)
	defer b.close()
	a := b.write("a", `,"u":1,"n":1`)
	b.write("taken", `,"u":2`)
	for _, id := range []string{"a", "a"} { // both ways of a point read know it
		if _, err := b.read(id); err != nil {
			t.Fatal(err)
		}
	}
	lease, err := b.c.Lease(b.ctx, pk("x"), "a", 100)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.rename("a", "taken", `,"u":1`); !is(err, fault.CodeConflict) {
		t.Errorf("a taken id: %v", err)
	}
	if _, err := b.rename("a", "b", `,"u":2`); !is(err, fault.CodeConflict) {
		t.Errorf("a taken unique key: %v", err)
	}
	if _, err := b.rename("none", "b", ""); !is(err, fault.CodeNotFound) {
		t.Errorf("an absent item: %v", err)
	}
	now, err := b.rename("a", "b", `,"u":1,"n":2`)
	if err != nil || now.RID() != a.RID() || now.ID() != "b" || now.ETag() == a.ETag() {
		t.Fatalf("%v: %s", err, now.AppendJSON(nil))
	}
	if _, err := b.read("a"); !is(err, fault.CodeNotFound) {
		t.Errorf("the old id: %v", err)
	}
	if it, err := b.read("b"); err != nil || it.ETag() != now.ETag() {
		t.Errorf("the new id: %v", err)
	}
	if key, err := b.c.ResolveRID(b.ctx, a.RID()); err != nil || key.ID != "b" {
		t.Errorf("the rid leads to %v, %v", key, err)
	}
	if e, err := b.c.ExplainItem(b.ctx, pk("x"), "b"); err != nil || e.LeaseUntil != lease.Until {
		t.Errorf("the lease: %+v, %v", e, err)
	}
	other := b.write("a", `,"u":3`) // the old id is free
	if other.RID() == a.RID() {
		t.Error("a new item has the rid of the old one")
	}
	if it, err := b.read("a"); err != nil || it.RID() != other.RID() {
		t.Errorf("the old id made anew: %v", err)
	}
	page, _, err := b.c.Query(b.ctx,
		store.QueryRequest{Text: `SELECT VALUE c.n FROM c WHERE c.id = "b" OR c.n = 1`})
	if err != nil || len(page.Rows) != 1 || string(page.Rows[0]) != "2" {
		t.Errorf("%v: %s", err, page.Rows)
	}
	checkClean(t, b.db)
}

// TestRenameOntoGhost checks that an item can be renamed to the id of an expired item that is not purged
// yet.
func TestRenameOntoGhost(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, renameSpec, 1)
	defer b.close()
	b.write("ghost", `,"u":1,"ttl":5`)
	a := b.write("a", `,"u":2`)
	b.pass(5)
	it, err := b.rename("a", "ghost", `,"u":1`)
	if err != nil || it.RID() != a.RID() {
		t.Fatalf("%v: %s", err, it.RID())
	}
	if it, err = b.read("ghost"); err != nil || it.RID() != a.RID() {
		t.Errorf("%v: %s", err, it.RID())
	}
	checkClean(t, b.db)
}

// TestRenameInBatch checks that after a rename in a batch later operations find the item by its new id,
// and that a failed batch renames nothing.
func TestRenameInBatch(t *testing.T) {
	t.Parallel()
	for _, atomic := range []bool{true, false} {
		b := newTestStore(t, "", 2)
		b.write("a", "")
		o := store.BatchOptions{Atomic: atomic, ContinueOnError: !atomic}
		rename := op(store.OperationReplace, "a", string(body("b", "")))
		read := func(id string) store.ItemOperation { return op(store.OperationRead, id, "") }
		if atomic {
			b.batch(pk("x"), o, rename, op(store.OperationDelete, "none", ""))
			if _, err := b.read("a"); err != nil {
				t.Errorf("the batch was undone, and the item is not there: %v", err)
			}
			if _, err := b.read("b"); !is(err, fault.CodeNotFound) {
				t.Errorf("the batch was undone, and the new id is there: %v", err)
			}
		}
		out := b.batch(pk("x"), o, rename, read("b"), op(store.OperationCreate, "", string(body("a", ""))),
			read("a"))
		for i, r := range out.Results {
			if r.Err != nil {
				t.Errorf("atomic=%v, operation %d: %v", atomic, i, r.Err)
			}
		}
		checkClean(t, b.db)
		b.close()
	}
}

// TestRenameInScript checks that a stored procedure can rename an item by replaceDocument, as Microsoft's
// sample does.
func TestRenameInScript(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	b.procedure("swap", `function () {
		var c = getContext().getCollection();
		c.createDocument(c.getSelfLink(), {id: "1", pk: "a"}, function (e, d) {
			if (e) throw e;
			d.id = "2";
			c.replaceDocument(d._self, d, {etag: d._etag}, function (e, now) {
				if (e) throw e;
				c.replaceDocument(c.getAltLink() + "/docs/none", {id: "3", pk: "a"}, function (e) {
					getContext().getResponse().setBody([now.id, now._rid === d._rid, e.number]);
				});
			});
		});
	}`)
	if out, err := b.execute("swap"); err != nil || out != `["2",true,404]` {
		t.Errorf("%s, %v", out, err)
	}
	if _, _, err := b.c.Read(b.ctx, definition.NewPartitionKey(jsondoc.StringValue("a")), "2",
		store.ReadOptions{}); err != nil {
		t.Error(err)
	}
	checkClean(t, b.db)
}

// TestRenameKeepsPartition checks that an item cannot be renamed if its id is its partition key.
func TestRenameKeepsPartition(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	c := b.container("by-id", "/id", "")
	if _, _, err := c.Create(b.ctx, definition.PartitionKey{}, []byte(`{"id":"a"}`),
		store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []definition.PartitionKey{{}, pk("a"), pk("b")} {
		_, _, err := c.Replace(b.ctx, key, "a", []byte(`{"id":"b"}`), store.WriteOptions{})
		if key.String() != `["b"]` && !is(err, fault.CodePartitionKeyMismatch) || err == nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, _, err := b.c.Create(b.ctx, pk("x"), body("a", ""), store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.c.Replace(b.ctx, pk("x"), "a", []byte(`{"id":"b","pk":"y"}`),
		store.WriteOptions{}); !is(err, fault.CodePartitionKeyMismatch) {
		t.Errorf("another partition: %v", err)
	}
}
