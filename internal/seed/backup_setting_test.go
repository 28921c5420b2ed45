package seed

import (
	"errors"
	"testing"

	"github.com/mayflydb/mayfly/store"
)

// keepsVersions reports whether a container has a feed of all versions and deletes.
func (w *testStoreAndQueues) keepsVersions(database, container string) bool {
	w.t.Helper()
	d, err := w.db.Database(database)
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := d.Container(container)
	if err != nil {
		w.t.Fatal(err)
	}
	_, _, err = c.Changes(w.t.Context(),
		store.ChangesRequest{Mode: store.AllVersions, Start: store.ChangesStart{Now: true}})
	return err == nil
}

const backedUp = `
continuousBackup: true
databases:
  - id: shop
    containers:
      - {id: carts, partitionKey: /user}
`

// TestContinuousBackup checks that a seed with continuousBackup: true turns continuous backup on before it
// creates containers: those created from then on have a change feed of all versions and deletes, and
// existing ones do not.
func TestContinuousBackup(t *testing.T) {
	w := newTestServer(t)
	w.must(text(t, "databases: [{id: old, containers: [{id: c, partitionKey: /pk}]}]"))
	if w.db.ContinuousBackup() || w.keepsVersions("old", "c") {
		t.Error("nobody has asked for continuous backup")
	}
	if r := w.must(text(t, backedUp)); r.Changed != 1 || r.Made != 2 {
		t.Errorf("%+v", r)
	}
	if !w.db.ContinuousBackup() || !w.keepsVersions("shop", "carts") || w.keepsVersions("old", "c") {
		t.Error("the seed's container keeps no versions, or another one does")
	}
	if r := w.must(text(t, backedUp)); r != (ApplyReport{}) {
		t.Errorf("once more: %+v", r)
	}
	d, err := Describe(t.Context(), w.db, w.queues)
	if err != nil || d.Files[accountFile] != "{\n  \"continuousBackup\": true\n}\n" {
		t.Errorf("%v %v", d, err)
	}

	off := text(t, "continuousBackup: false")
	_, err = off.Apply(t.Context(), ApplyTarget{DB: w.db, Queues: w.queues, Keep: true})
	var differs *DifferencesError
	if !errors.As(err, &differs) || len(differs.List) != 1 || !w.db.ContinuousBackup() {
		t.Errorf("kept as it is: %v", err)
	}
	w.must(text(t, "continuousBackup: false"))
	if w.db.ContinuousBackup() || !w.keepsVersions("shop", "carts") {
		t.Error("turned off: it is still on, or a container that was made before has changed")
	}
}

// TestContinuousBackupUndone checks that continuous backup stays off if a seed that turns it on cannot be
// applied completely.
func TestContinuousBackupUndone(t *testing.T) {
	w := newTestServer(t)
	bad := backedUp + `    users:
      - {id: ada, permissions: [{id: p, permissionMode: Read, resource: dbs/shop/colls/none}]}
`
	if _, err := w.plant(text(t, bad)); err == nil {
		t.Fatal("planted")
	}
	if w.db.ContinuousBackup() {
		t.Error("the setting of a failed seed has stayed")
	}
}

// TestContinuousBackupContradiction checks that two files of a seed cannot set continuousBackup to
// different values.
func TestContinuousBackupContradiction(t *testing.T) {
	_, err := OpenFiles(map[string]string{
		"a.yaml": "continuousBackup: true",
		"b.yaml": "continuousBackup: false",
	}, ".", "")
	if err == nil || err.Error() != "b.yaml:1:19: another file has the opposite value: a.yaml:1:19" {
		t.Error(err)
	}
	if _, err := OpenFiles(map[string]string{"a.yaml": "continuousBackup: soon"}, ".", ""); err == nil {
		t.Error("a word is taken for a bool")
	}
}
