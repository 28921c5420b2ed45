package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestContinueFailedSeedImport checks that an import that failed while it created the containers of a seed
// can be continued with --continue. What it has created itself does not count as a conflict with the server's
// definitions.
func TestContinueFailedSeedImport(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	path := file(t, "seed.yaml", `databases: [{id: db, containers: [
{id: a, partitionKey: /pk, settings: {onExpire: {moveTo: none}}},
{id: b, partitionKey: /pk, settings: {ttlCeiling: true}, documents: [{id: d, pk: x}]}]}]`)
	b.refuses(t, exitFailed, "seed.yaml:2:38: settings: The archive 'none'", "import", path)
	b.must(t, 200, "GET", "/dbs/db/colls/b", "")
	b.refuses(t, exitFailed, "--continue goes on there", "import", path, "--continue")
	good := strings.Replace(string(read(t, path)), "moveTo: none", "moveTo: b", 1)
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	b.refuses(t, exitFailed, "'db/b' exists with different settings: ttlCeiling", "import", path)
	if out, _ := b.run(t, "import", path, "--continue"); !strings.HasPrefix(out, "1 document imported") {
		t.Error(out)
	}
	b.run(t, "import", path)
	if left := globbed(t, filepath.Dir(path), "*"); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// TestConcurrentImports checks that several concurrent imports of the same seed into one server succeed and
// leave the same data as one import.
func TestConcurrentImports(t *testing.T) {
	t.Parallel()
	source := stocked(t, 700)
	want := source.exported(t)
	target := boot(t, "--memory")
	var both sync.WaitGroup
	for range 3 {
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(want)); err != nil {
			t.Fatal(err)
		}
		both.Go(func() {
			if code, out, errs := mayfly(t, "import", copied, "--url", "http://"+target.host); code != 0 {
				t.Errorf("%d %s%s", code, out, errs)
			}
		})
	}
	both.Wait()
	got := target.exported(t)
	if !bytes.Equal(sorted(read(t, filepath.Join(want, "db/c/items.ndjson"))),
		sorted(read(t, filepath.Join(got, "db/c/items.ndjson")))) {
		t.Error("other documents")
	}
	for _, name := range []string{"queues.json", "shop%2/db.json", "shop%2/carts/container.json"} {
		if !bytes.Equal(read(t, filepath.Join(want, name)), read(t, filepath.Join(got, name))) {
			t.Errorf("another %s", name)
		}
	}
}

// sorted returns the lines of text in sorted order.
func sorted(text []byte) []byte {
	lines := bytes.Split(text, []byte("\n"))
	slices.SortFunc(lines, bytes.Compare)
	return bytes.Join(lines, []byte("\n"))
}
