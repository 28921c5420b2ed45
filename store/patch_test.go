package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

func (b *testStore) patch(id, operations, condition string, o store.WriteOptions) (store.Item, error) {
	b.t.Helper()
	p := patchOf(b.t, operations)
	p.Condition = condition
	it, r, err := b.c.Patch(b.ctx, pk("p"), id, *p, o)
	if r.Charge <= 0 || r.Range == "" {
		b.t.Errorf("receipt %+v", r)
	}
	return it, err
}

// patches patches the item "1" and checks the result: the new document want, or if code is an error code,
// an error with this code and the text want that has changed nothing.
func (b *testStore) patches(operations, condition, want string, code fault.Code) {
	b.t.Helper()
	before := b.dump()
	it, err := b.patch("1", operations, condition, store.WriteOptions{})
	if code != fault.CodeInternal {
		if !is(err, code) || !strings.Contains(err.Error(), want) {
			b.t.Errorf("%s %s: %v, want %v: %s", operations, condition, err, code, want)
		}
		if after := b.dump(); after != before {
			b.t.Errorf("%s %s has failed and changed\n%sto\n%s", operations, condition, before, after)
		}
		return
	}
	if err != nil || string(it.Body()) != want {
		b.t.Errorf("%s %s: %s, %v; want %s", operations, condition, it.Body(), err, want)
	}
}

const fine = fault.CodeInternal // the zero Code: no failure

func TestPatchItem(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 2)
	defer b.close()
	b.put(`{"id":"1","pk":"p","n":1}`)
	first, _, err := b.c.Read(b.ctx, pk("p"), "1", store.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(5 * time.Second)
	it, err := b.patch("1", `{"op":"incr","path":"/n","value":1},{"op":"add","path":"/l","value":[]},{"op":"add","path":"/l/-","value":"x"}`, "", store.WriteOptions{IfMatch: first.ETag()})
	if err != nil || string(it.Body()) != `{"id":"1","pk":"p","n":2,"l":["x"]}` ||
		it.ETag() == first.ETag() || it.RID() != first.RID() || it.Timestamp() != first.Timestamp()+5 {
		t.Fatalf("%s %s, %v", it.ETag(), it.Body(), err)
	}
	if got, _, err := b.c.Read(b.ctx, pk("p"), "1", store.ReadOptions{}); err != nil ||
		got.ETag() != it.ETag() || string(got.Body()) != string(it.Body()) {
		t.Errorf("read %s %s, %v", got.ETag(), got.Body(), err)
	}
	b.expect("SELECT VALUE c.id FROM c WHERE c.n = 2 AND ARRAY_CONTAINS(c.l, 'x')", `"1"`)
	b.expect("SELECT VALUE c.id FROM c WHERE c.n = 1", "")
	if _, err := b.patch("1", `{"op":"set","path":"/n","value":3}`, "",
		store.WriteOptions{IfMatch: first.ETag()}); !is(err, fault.CodePreconditionFailed) {
		t.Errorf("an old etag: %v", err)
	}
	if _, err := b.patch("2", `{"op":"set","path":"/n","value":3}`, "", store.WriteOptions{}); !is(err,
		fault.CodeNotFound) {
		t.Errorf("an item that is not there: %v", err)
	}
	if _, _, err := b.c.Patch(b.ctx, definition.PartitionKey{}, "1",
		*patchOf(t, `{"op":"set","path":"/n","value":3}`), store.WriteOptions{}); !is(
		err, fault.CodeBadRequest) {
		t.Errorf("without a partition key: %v", err)
	}
	if _, _, err := b.c.Patch(b.ctx, pk("p"), "1", store.Patch{}, store.WriteOptions{}); !is(err,
		fault.CodeBadRequest) {
		t.Errorf("without operations: %v", err)
	}
}

func TestPatchCondition(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	b.put(`{"id":"1","pk":"p","n":1,"s":"it's","l":[1,2,3]}`)
	const set, done = `{"op":"set","path":"/v","value":1}`, `{"id":"1","pk":"p","n":1,"s":"it's","l":[1,2,3],"v":1}`
	for condition, code := range map[string]fault.Code{
		"FROM c WHERE c.n = 1":                     fine,
		"from products p where p.n = 1":            fine,
		"FROM c":                                   fine,
		`FROM c WHERE c.s = "it's" AND c.id = '1'`: fine,
		"FROM c WHERE EXISTS(SELECT VALUE x FROM x IN c.l WHERE x = 3)": fine,
		"FROM c WHERE c._ts = 1700000000 AND IS_DEFINED(c._etag)":       fine,
		"FROM c WHERE c.n = 2":          fault.CodePreconditionFailed,
		"FROM c WHERE c.nothing = 1":    fault.CodePreconditionFailed,
		"FROM c WHERE c.n":              fault.CodePreconditionFailed,
		"FROM c WHERE":                  fault.CodeBadRequest,
		"WHERE c.n = 1":                 fault.CodeBadRequest,
		"SELECT * FROM c WHERE c.n = 1": fault.CodeBadRequest,
		"FROM c WHERE d.n = 1":          fault.CodeBadRequest,
		"FROM c WHERE c.n = @p":         fault.CodePreconditionFailed, // an unknown parameter is undefined
		"FROM c WHERE NOSUCH(c.n)":      fault.CodeBadRequest,
		"FROM c WHERE c.n = 1; DROP":    fault.CodeBadRequest,
		"FROM c WHERE udf.f(c.n)":       fault.CodeBadRequest,
		"FROM c WHERE EXISTS(SELECT VALUE x FROM x IN c.l WHERE x = 30)": fault.CodePreconditionFailed,
	} {
		want := ""
		if code == fine {
			want = done
		}
		b.patches(set, condition, want, code)
	}
}

// TestPatchConditionEnds checks that a patch whose condition takes too long ends with its context or its
// time limit, changes nothing and does not block the range.
func TestPatchConditionEnds(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	b.put(`{"id":"1","pk":"p","l":[` + strings.Repeat("0,", 2000) + `0]}`)
	p := patchOf(t, `{"op":"set","path":"/v","value":1}`)
	p.Condition = "FROM c WHERE EXISTS(SELECT VALUE 1 FROM x IN c.l JOIN y IN c.l JOIN z IN c.l WHERE x + y + z = 1)"
	ctx, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
	defer cancel()
	if _, _, err := b.c.Patch(ctx, pk("p"), "1", *p, store.WriteOptions{}); !is(err, fault.CodeCanceled) {
		t.Error(err)
	}
	b.expect("SELECT VALUE IS_DEFINED(c.v) FROM c", "false")
}

func TestPatchOfImmutableProperties(t *testing.T) {
	t.Parallel()
	for _, paths := range []string{`["/address/zip"]`, `["/address/zip","/pk"]`} {
		t.Run(paths, func(t *testing.T) {
			kind := definition.KindHash
			if strings.Contains(paths, ",") {
				kind = definition.KindMultiHash
			}
			b := newTestStore(t, "", 1)
			defer b.close()
			d, err := b.db.Database("db")
			if err != nil {
				t.Fatal(err)
			}
			spec, _, err := definition.ParseContainerSpec([]byte(`{"id":"deep","partitionKey":{"paths":`+
				paths+`,"kind":"`+kind+`","version":2}}`), true)
			if err != nil {
				t.Fatal(err)
			}
			if b.c, err = d.CreateContainer(b.ctx, spec, definition.Throughput{}); err != nil {
				t.Fatal(err)
			}
			key := definition.NewPartitionKey(jsondoc.StringValue("z"))
			if kind == definition.KindMultiHash {
				key = definition.NewPartitionKey(jsondoc.StringValue("z"), jsondoc.StringValue("p"))
			}
			b.put(`{"id":"1","address":{"zip":"z","city":"c"},"pk":"p","l":[{"id":1}]}`)
			for _, c := range []struct{ ops, text string }{
				{`{"op":"set","path":"/address/zip","value":"y"}`, "partition key"},
				{`{"op":"set","path":"/address/zip","value":"z"}`, "partition key"},
				{`{"op":"set","path":"/address","value":{"zip":"z"}}`, "partition key"},
				{`{"op":"remove","path":"/address"}`, "partition key"},
				{`{"op":"add","path":"/x","value":1},{"op":"move","from":"/address","path":"/y"}`,
					"For Operation(2)"},
				{`{"op":"move","from":"/address/zip","path":"/y"}`, "partition key"},
				{`{"op":"move","from":"/l","path":"/address"}`, "partition key"},
				{`{"op":"set","path":"/address/zip/x","value":1}`, "partition key"},
				{`{"op":"set","path":"/id","value":"2"}`, "Can't patch system property /id"},
				{`{"op":"move","from":"/id","path":"/x"}`, "Can't patch system property /id"},
				{`{"op":"set","path":"/_ts","value":1}`, "Can't patch system property"},
				{`{"op":"remove","path":"/_etag"}`, "Can't patch system property"},
				{`{"op":"replace","path":"/_rid","value":1}`, "Can't patch system property"},
				{`{"op":"add","path":"/_self","value":1}`, "Can't patch system property"},
				{`{"op":"add","path":"/_attachments/x","value":1}`, "Can't patch system property"},
			} {
				if _, _, err := b.c.Patch(b.ctx, key, "1", *patchOf(t, c.ops), store.WriteOptions{}); !is(err,
					fault.CodeBadRequest) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%s: %v, want %s", c.ops, err, c.text)
				}
			}
			it, _, err := b.c.Patch(b.ctx, key, "1",
				*patchOf(t, `{"op":"set","path":"/address/city","value":"d"},{"op":"set","path":"/l/0/id","value":2},{"op":"set","path":"/x_id","value":{"id":3}}`), store.WriteOptions{})
			if want := `{"id":"1","address":{"zip":"z","city":"d"},"pk":"p","l":[{"id":2}],"x_id":{"id":3}}`; err != nil || string(it.Body()) != want {
				t.Errorf("%s, %v", it.Body(), err)
			}
		})
	}
}

// TestPatchedDocumentRules checks that the document after a patch must fulfil the rules for every document:
// unique keys, a valid ttl, and the limits of size and depth.
func TestPatchedDocumentRules(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":100,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`, 1)
	defer b.close()
	b.put(`{"id":"1","pk":"p","u":1,"s":"`+strings.Repeat("x", 1<<20)+`"}`, `{"id":"2","pk":"p","u":2}`)
	b.patches(`{"op":"set","path":"/u","value":2}`, "", "unique index already exists", fault.CodeConflict)
	b.patches(`{"op":"remove","path":"/u"},{"op":"set","path":"/ttl","value":0}`, "",
		"The input ttl '0' is invalid", fault.CodeBadRequest)
	b.patches(`{"op":"set","path":"/ttl","value":null}`, "", "The input ttl 'null' is invalid",
		fault.CodeBadRequest)
	b.patches(`{"op":"set","path":"/ttl","value":"10"}`, "", "is invalid", fault.CodeBadRequest)
	b.patches(`{"op":"set","path":"/more","value":"`+strings.Repeat("y", 1<<20)+`"}`, "", "too large",
		fault.CodeTooLarge)
	b.patches(`{"op":"remove","path":"/nothing"}`, "",
		"For Operation(1): Node(/nothing) to be removed is absent", fault.CodeBadRequest)
	deep := strings.Repeat("[", 127) + strings.Repeat("]", 127)
	b.patches(`{"op":"remove","path":"/s"},{"op":"set","path":"/deep","value":`+deep+`}`, "",
		`{"id":"1","pk":"p","u":1,"deep":`+deep+`}`, fine)
	b.patches(`{"op":"set","path":"/o","value":{}},{"op":"set","path":"/o/deep","value":`+deep+`}`, "",
		"levels deep", fault.CodeBadRequest)
	b.patches(`{"op":"set","path":"/u","value":3},{"op":"remove","path":"/deep"}`, "",
		`{"id":"1","pk":"p","u":3}`, fine)
	b.put(`{"id":"3","pk":"p","u":1}`) // which is free again
}

// TestPatchedDocumentExpiry checks that a patch sets _ts, so that the item expires counted from the patch, by
// the ttl that it has afterwards.
func TestPatchedDocumentExpiry(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":10`, 1)
	defer b.close()
	read := func(id string, there bool) {
		t.Helper()
		if _, _, err := b.c.Read(b.ctx, pk("p"), id, store.ReadOptions{}); there && err != nil || !there &&
			!is(err, fault.CodeNotFound) {
			t.Errorf("at %d: item %s: %v", b.seconds(), id, err)
		}
	}
	for i, patch := range []string{
		`{"op":"set","path":"/v","value":1}`, `{"op":"set","path":"/ttl","value":3}`, `{"op":"set","path":"/ttl","value":-1}`, `{"op":"remove","path":"/ttl"}`, `{"op":"incr","path":"/ttl","value":-1}`,
	} {
		b.put(fmt.Sprintf(`{"id":"%d","pk":"p"%s}`, i, map[bool]string{true: `,"ttl":20`}[i > 2]))
		b.clock.Advance(8 * time.Second)
		if _, err := b.patch(fmt.Sprint(i), patch, "", store.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		life := []int{10, 3, 1 << 20, 10, 19}[i]
		b.clock.Advance(time.Duration(life-1) * time.Second)
		read(fmt.Sprint(i), true)
		b.clock.Advance(time.Second)
		read(fmt.Sprint(i), life > 1<<19)
		if _, err := b.patch(fmt.Sprint(i), patch, "", store.WriteOptions{}); (err == nil) != (life > 1<<19) {
			t.Errorf("item %d was patched after its end: %v", i, err)
		}
		if i == 2 {
			continue
		}
		if n, err := b.db.SweepNow(b.ctx); err != nil || n == 0 {
			t.Errorf("item %d: %d swept, %v", i, n, err)
		}
	}
}
