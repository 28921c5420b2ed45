package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

const (
	aUser    = `{"id":"u"}`
	aKey     = `{"id":"k","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256","wrappedDataEncryptionKey":"AA==","keyWrapMetadata":{"type":"t","name":"n","value":"v","algorithm":"a"}}`
	aSproc   = `{"id":"s","body":"function () { return 1 < 2 && '\u003c' }"}`
	aTrigger = `{"id":"t","body":"function () {}","triggerType":"pre","triggerOperation":"All"}`
)

// resourceRig is a testStore with one small resource of every kind: a user, a permission, an encryption
// key and scripts.
type resourceRig struct {
	*testStore
	d *store.Database
}

func newResourceRig(t *testing.T, fs *testdisk.EngineStorage) *resourceRig {
	t.Helper()
	b := &testStore{t: t, ctx: context.Background(), clock: ttl.NewManual(time.Unix(1_700_000_000, 0))}
	w := &resourceRig{testStore: b}
	var err error
	if b.db, err = openAt(b.ctx, fs, b.clock); err == nil {
		w.d, err = b.db.CreateDatabase(b.ctx, "db", definition.Throughput{})
	}
	if err == nil {
		b.c, err = w.d.CreateContainer(b.ctx, specOf(t, ""), definition.Throughput{})
	}
	if err != nil {
		t.Fatal(err)
	}
	d := w.d
	w.create(d.Resources(store.KindUser), aUser)
	w.create(d.Resources(store.KindEncryptionKey), aKey)
	w.create(w.permissions("u"), `{"id":"p","permissionMode":"Read","resource":"dbs/db/colls/c"}`)
	w.create(b.c.Resources(store.KindStoredProcedure), aSproc)
	w.create(b.c.Resources(store.KindTrigger), aTrigger)
	w.create(b.c.Resources(store.KindFunction), `{"id":"f","body":"x"}`)
	return w
}

func (w *resourceRig) create(in store.ChildResources, body string) store.UserOrScriptResource {
	w.t.Helper()
	r, err := in.Create(w.ctx, []byte(body))
	if err != nil {
		w.t.Fatalf("%s: %v", body, err)
	}
	return r
}

func (w *resourceRig) permissions(user string) store.ChildResources {
	w.t.Helper()
	p, err := w.d.Permissions(user)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// every returns all small resources of the store as text, with their ids, resource ids, etags and bodies.
func (w *resourceRig) every() string {
	w.t.Helper()
	out := ""
	add := func(in store.ChildResources) {
		for _, r := range in.List() {
			out += fmt.Sprintf("%s %s %s %s %d %s\n", r.ID, r.RID, r.Self, r.ETag, r.Timestamp, r.Body)
		}
	}
	for _, d := range w.db.Databases() {
		add(d.Resources(store.KindUser))
		add(d.Resources(store.KindEncryptionKey))
		for _, u := range d.Resources(store.KindUser).List() {
			p, err := d.Permissions(u.ID)
			if err != nil {
				w.t.Fatal(err)
			}
			add(p)
		}
		for _, c := range d.Containers() {
			add(c.Resources(store.KindStoredProcedure))
			add(c.Resources(store.KindTrigger))
			add(c.Resources(store.KindFunction))
		}
	}
	return out
}

// TestResourcesReopen checks that all small resources are byte for byte the same after a restart.
func TestResourcesReopen(t *testing.T) {
	t.Parallel()
	fs := testdisk.New(t)
	w := newResourceRig(t, fs)
	users := w.d.Resources(store.KindUser)
	w.create(users, `{"id":"second"}`)
	w.create(users, `{"id":"third"}`)
	if err := users.Delete(w.ctx, "second", store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := users.Replace(w.ctx, "u", []byte(`{"id":"renamed"}`), store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := users.Read("u"); !is(err, fault.CodeNotFound) {
		t.Errorf("a user's old name: %v", err)
	}
	before := w.every()
	if n := len(w.permissions("renamed").List()); n != 1 {
		t.Errorf("%d permissions of a renamed user", n)
	}
	w.close()
	var err error
	if w.db, err = openAt(w.ctx, fs, w.clock); err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if after := w.every(); after != before {
		t.Errorf("after a restart:\n%s\nbefore:\n%s", after, before)
	}
	d, err := w.db.Database("db")
	if err != nil {
		t.Fatal(err)
	}
	fresh := w.create(d.Resources(store.KindUser), `{"id":"fourth"}`)
	if old, err := d.Resources(store.KindUser).Read("third"); err != nil || fresh.RID <= old.RID {
		t.Errorf("a new user has the rid %s, the last one before the restart had %s (%v)", fresh.RID, old.RID, err)
	}
}

// TestResourcesCrash crashes the store after every change of a small resource, and checks that exactly the
// acknowledged changes are there.
func TestResourcesCrash(t *testing.T) {
	t.Parallel()
	disk := testdisk.NewCrashable(t)
	w := newResourceRig(t, disk)
	defer w.close()
	users, triggers := w.d.Resources(store.KindUser), w.c.Resources(store.KindTrigger)
	for i, step := range []func() error{
		func() error { return errOf(users.Create(w.ctx, []byte(`{"id":"v"}`))) },
		func() error {
			return errOf(users.Replace(w.ctx, "u", []byte(`{"id":"w","n":1}`), store.WriteOptions{}))
		},
		func() error { return errOf(users.Create(w.ctx, []byte(`{"id":"u","again":true}`))) },
		func() error { return triggers.Delete(w.ctx, "t", store.WriteOptions{}) },
		func() error { return users.Delete(w.ctx, "w", store.WriteOptions{}) },
		func() error { return w.d.DeleteContainer(w.ctx, "c", store.WriteOptions{}) },
		func() error { return w.db.DeleteDatabase(w.ctx, "db", store.WriteOptions{}) },
	} {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		db, err := openAt(w.ctx, disk.CrashClone(vfs.CrashCloneCfg{}), w.clock)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		after := &resourceRig{testStore: &testStore{t: t, ctx: w.ctx, db: db}}
		if got, want := after.every(), w.every(); got != want {
			t.Errorf("step %d: after the crash:\n%s\nbefore:\n%s", i, got, want)
		}
		after.close()
	}
}

// TestResourcesOfDroppedOwners checks that the small resources (users, permissions, scripts and so on) of a
// dropped user, container or database are gone, also on disk, and that calls on a store.Resources value
// obtained before the drop change nothing.
func TestResourcesOfDroppedOwners(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		drop func(w *resourceRig) error
		left int // of the six resources
	}{
		{"user", func(w *resourceRig) error {
			return w.d.Resources(store.KindUser).Delete(w.ctx, "u", store.WriteOptions{})
		}, 4},
		{"container", func(w *resourceRig) error {
			return w.d.DeleteContainer(w.ctx, "c",
				store.WriteOptions{})
		}, 3},
		{"database", func(w *resourceRig) error {
			return w.db.DeleteDatabase(w.ctx, "db",
				store.WriteOptions{})
		}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newResourceRig(t, testdisk.New(t))
			defer w.close()
			permissions, scripts := w.permissions("u"), w.c.Resources(store.KindFunction)
			if err := tc.drop(w); err != nil {
				t.Fatal(err)
			}
			left := 0
			for _, c := range w.every() {
				if c == '\n' {
					left++
				}
			}
			if left != tc.left {
				t.Errorf("%d are left:\n%s", left, w.every())
			}
			_, errPermission := permissions.Create(w.ctx, []byte(`{"id":"q","permissionMode":"All","resource":"dbs/AQAAAA==/colls/AQAAAJ0fgTc="}`))
			_, errScript := scripts.Create(w.ctx, []byte(`{"id":"q","body":"x"}`))
			if got, want := is(errPermission, fault.CodeOwnerNotFound), tc.name != "container"; got != want {
				t.Errorf("a permission: %v", errPermission)
			}
			if got, want := is(errScript, fault.CodeOwnerNotFound), tc.name != "user"; got != want {
				t.Errorf("a script: %v", errScript)
			}
		})
	}
}

// TestResourceRules checks which small resources are refused, and with which error codes.
func TestResourceRules(t *testing.T) {
	t.Parallel()
	w := newResourceRig(t, testdisk.New(t))
	defer w.close()
	users, keys, permissions := w.d.Resources(store.KindUser), w.d.Resources(store.KindEncryptionKey), w.permissions("u")
	sprocs, triggers := w.c.Resources(store.KindStoredProcedure), w.c.Resources(store.KindTrigger)
	u, err := users.Read("u")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.c.Create(w.ctx, pk("a"), []byte(`{"id":"i","pk":"a"}`), store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	create := func(in store.ChildResources,
		body string) error {
		_, err := in.Create(w.ctx, []byte(body))
		return err
	}
	replace := func(in store.ChildResources, id, body, etag string) error {
		_, err := in.Replace(w.ctx, id, []byte(body), store.WriteOptions{IfMatch: etag})
		return err
	}
	permission := func(resource, more string) error {
		return create(permissions, `{"id":"x","permissionMode":"Read","resource":"`+resource+`"`+more+`}`)
	}
	const missing = "The input content is invalid because the required properties - '"
	for i, tc := range []struct {
		err  error
		code fault.Code
		text string // the whole message, or empty
	}{
		{create(users, aUser), fault.CodeConflict, ""},
		{create(users, `{}`), fault.CodeBadRequest, missing + "id; ' - are missing"},
		{create(users, `{"id":7}`), fault.CodeBadRequest, ""},
		{create(users, `{"id":"a/b"}`), fault.CodeBadRequest, ""},
		{create(users, `[]`), fault.CodeBadRequest, ""},
		{create(users, `{"id":"a"`), fault.CodeBadRequest, ""},
		{create(sprocs, `{"id":"a"}`), fault.CodeBadRequest, missing + "body; ' - are missing"},
		{create(sprocs, `{"id":"a","body":{}}`), fault.CodeBadRequest, ""},
		{create(triggers, `{"id":"a","body":"x"}`), fault.CodeBadRequest, missing + "triggerType; triggerOperation; ' - are missing"},
		{create(triggers, `{"id":"a","body":"x","triggerType":"Pre","triggerOperation":"Burn"}`), fault.CodeBadRequest, ""},
		{create(triggers, `{"id":"a","body":"x","triggerType":"Late","triggerOperation":"All"}`), fault.CodeBadRequest, ""},
		{create(keys, `{"id":"a","encryptionAlgorithm":"x","wrappedDataEncryptionKey":"AA==","keyWrapMetadata":"x"}`), fault.CodeBadRequest, ""},
		{create(keys, `{"id":"a"}`), fault.CodeBadRequest, missing + "encryptionAlgorithm; wrappedDataEncryptionKey; keyWrapMetadata; ' - are missing"},
		{create(permissions, `{"id":"a"}`), fault.CodeBadRequest, missing + "permissionMode; resource; ' - are missing"},
		{create(permissions, `{"id":"a","permissionMode":"Some","resource":"dbs/db/colls/c"}`), fault.CodeBadRequest, ""},
		{permission("dbs/db/colls/c", ""), fault.CodeConflict, ""},
		{permission("/dbs/db/colls/c/", ""), fault.CodeConflict, ""},
		{permission("dbs/db/colls/none", ""), fault.CodeNotFound, ""},
		{permission("dbs/none/colls/c", ""), fault.CodeNotFound, ""},
		{permission("dbs/db/colls/c/sprocs/none", ""), fault.CodeNotFound, ""},
		{permission("dbs/db/colls/c/docs/none", `,"resourcePartitionKey":["a"]`), fault.CodeNotFound, ""},
		{permission("dbs/db", ""), fault.CodeBadRequest, ""},
		{permission("dbs/db/users/u", ""), fault.CodeBadRequest, ""},
		{permission("", ""), fault.CodeBadRequest, ""},
		{permission("dbs/db/colls/c", `,"resourcePartitionKey":"a"`), fault.CodeBadRequest, ""},
		{permission("dbs/db/colls/c", `,"resourcePartitionKey":["a","b"]`), fault.CodePartitionKeyMismatch, ""},
		{permission("dbs/AQAAAA==/colls/AQAAAA==", ""), fault.CodeBadRequest, ""},
		{permission("dbs/AQAAAA==/colls/AQAAAJ0fgTc=/docs/AQAAAA==", ""), fault.CodeBadRequest, ""},
		{replace(users, "none", aUser, ""), fault.CodeNotFound, ""},
		{replace(users, "u", aUser, `"other"`), fault.CodePreconditionFailed, ""},
		{replace(users, "u", aUser, u.ETag), fault.CodeInternal, ""},
		{replace(sprocs, "s", `{"id":"t","body":"x"}`, ""), fault.CodeBadRequest, ""},
		{users.Delete(w.ctx, "none", store.WriteOptions{}), fault.CodeNotFound, ""},
		{users.Delete(w.ctx, "u", store.WriteOptions{IfMatch: "other"}), fault.CodePreconditionFailed, ""},
		{errOf(users.ReadByRID("AQAAAA==")), fault.CodeBadRequest, ""},
		{errOf(users.ReadByRID(w.c.Info().RID)), fault.CodeBadRequest, ""},
	} {
		var e *fault.Error
		switch {
		case tc.code == fault.CodeInternal: // it must succeed
			if tc.err != nil {
				t.Errorf("case %d: %v", i, tc.err)
			}
		case !is(tc.err, tc.code) || errors.As(tc.err, &e) && tc.text != "" && e.Message != tc.text:
			t.Errorf("case %d: %v %q, want %v %q", i, fault.ErrorCode(tc.err), tc.err, tc.code, tc.text)
		}
	}
}

// TestPermissionsAccepted checks the accepted forms of the resource link in a permission: names or
// resource ids, escaped or not, and even resource ids that do not exist.
func TestPermissionsAccepted(t *testing.T) {
	t.Parallel()
	w := newResourceRig(t, testdisk.New(t))
	defer w.close()
	item, _, err := w.c.Create(w.ctx, pk("a"), []byte(`{"id":"i /i","pk":"a"}`), store.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	permissions := w.permissions("u")
	rid, drid := w.c.Info().RID, w.d.RID()
	sproc, err := w.c.Resources(store.KindStoredProcedure).Read("s")
	if err != nil {
		t.Fatal(err)
	}
	for i, tc := range []struct {
		body string
		want store.PermissionGrant
	}{
		{`"All","resource":"dbs/db/colls/c/docs/i /i","resourcePartitionKey":["a"]`,
			store.PermissionGrant{Write: true, Container: rid, Type: "docs", ID: "i /i", Partition: pk("a")}},
		{`"all","resource":"/dbs/db/colls/c/docs/i%20%2Fi/","resourcePartitionKey":["a"]`,
			store.PermissionGrant{Write: true, Container: rid, Type: "docs", ID: "i /i", Partition: pk("a")}},
		{`"read","resource":"dbs/` + drid + `/colls/` + rid + `"`, store.PermissionGrant{Container: rid}},
		{`"Read","resource":"dbs/` + drid + `/colls/` + rid + `/docs/` + item.RID() + `/"`,
			store.PermissionGrant{Container: rid, Type: "docs", RID: item.RID()}},
		{`"Read","resource":"dbs/db/colls/c/sprocs/s"`,
			store.PermissionGrant{Container: rid, Type: "sprocs", RID: sproc.RID}},
		{`"Read","resource":"dbs/db/colls/c","resourcePartitionKey":["a"]`,
			store.PermissionGrant{Container: rid, Partition: pk("a")}},
		{`"Read","resource":"dbs/db/colls/c","resourcePartitionKey":[1.0]`,
			store.PermissionGrant{Container: rid, Partition: parsed(t, `[1]`)}},
		{`"Read","resource":"dbs/AQAAAA==/colls/AQAAAJ0fgTc="`,
			store.PermissionGrant{Container: "AQAAAJ0fgTc="}},
	} {
		p := w.create(permissions, fmt.Sprintf(`{"_token":"old","id":"n%d","permissionMode":%s}`, i, tc.body))
		if gjson.GetBytes(p.Body, "_token").Exists() {
			t.Errorf("the token of a client is kept: %s", p.Body)
		}
		got, err := w.db.Grant(w.ctx, p)
		if err != nil || got.Partition.String() != tc.want.Partition.String() {
			t.Errorf("%s: %+v %v", tc.body, got, err)
		}
		got.Partition, tc.want.Partition = definition.PartitionKey{}, definition.PartitionKey{}
		if fmt.Sprint(got) != fmt.Sprint(tc.want) {
			t.Errorf("%s: %+v, want %+v", tc.body, got, tc.want)
		}
	}
}

func parsed(t *testing.T, json string) definition.PartitionKey {
	t.Helper()
	k, err := definition.ParsePartitionKey([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestContainerWithMissingEncryptionKey checks that a container cannot be created with a client encryption
// key that its database does not have.
func TestContainerWithMissingEncryptionKey(t *testing.T) {
	t.Parallel()
	w := newResourceRig(t, testdisk.New(t))
	defer w.close()
	for key, code := range map[string]fault.Code{"k": fault.CodeInternal, "other": fault.CodeBadRequest} {
		spec, _, err := definition.ParseContainerSpec(fmt.Appendf(nil, `{"id":"e%s","partitionKey":{"paths":["/pk"]},"clientEncryptionPolicy":{"policyFormatVersion":2,"includedPaths":[
			{"path":"/secret","clientEncryptionKeyId":"%s","encryptionType":"Randomized","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256"}]}}`, key, key), true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.d.CreateContainer(w.ctx, spec, definition.Throughput{}); (err != nil) != (key == "other") ||
			err != nil && (!is(err, code) || !strings.Contains(err.Error(), "ClientEncryptionKey with id '[other]' does not exist.")) {
			t.Errorf("key %s: %v", key, err)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }

// FuzzPermission checks that any permission is either stored or refused with an error code, and that a
// stored one can be parsed by Grant.
func FuzzPermission(f *testing.F) {
	for _, resource := range []string{"dbs/db/colls/c", "dbs/db/colls/c/docs/i", "/dbs/db/colls/c/sprocs/s/", "dbs/AQAAAA==/colls/AQAAAJ0fgTc=",
		"dbs/AQAAAA==/colls/AQAAAJ0fgTc=/docs/AQAAAJ0fgTcBAAAAAAAAAA==", "dbs//colls/", "dbs/%64b/colls/%zz", "DBS/db/COLLS/c/docs/a/b/c"} {
		f.Add("Read", resource, `["a"]`)
	}
	f.Add("all", "dbs/db/colls/c", `[{}]`)
	f.Add("", "", `{"a":1`)
	ctx := f.Context()
	e, err := testdisk.New(f).Open(ctx)
	if err != nil {
		f.Fatal(err)
	}
	db, err := store.Open(ctx, e, store.Options{ManualReaper: true})
	if err != nil {
		f.Fatal(err)
	}
	defer db.Close()
	d, err := db.CreateDatabase(ctx, "db", definition.Throughput{})
	if err == nil {
		_, err = d.CreateContainer(ctx, definition.ContainerSpec{ID: "c"}, definition.Throughput{})
	}
	if err == nil {
		_, err = d.Resources(store.KindUser).Create(ctx, []byte(aUser))
	}
	if err != nil {
		f.Fatal(err)
	}
	permissions, err := d.Permissions("u")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, mode, resource, partition string) {
		body := append([]byte(`{"id":"fuzz","permissionMode":`), jsondoc.StringValue(mode).Raw()...)
		body = append(append(body, `,"resource":`...), jsondoc.StringValue(resource).Raw()...)
		body = append(append(body, `,"resourcePartitionKey":`+partition...), '}')
		p, _, err := permissions.Upsert(t.Context(), body, store.WriteOptions{})
		if err == nil {
			_, err = db.Grant(t.Context(), p)
		}
		if err != nil && fault.ErrorCode(err) == fault.CodeInternal {
			t.Errorf("%s: %v", body, err)
		}
	})
}
