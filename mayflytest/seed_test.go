package mayflytest

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mayflydb/mayfly/store"
)

const seedText = `
databases:
  - id: shop
    containers:
      - id: carts
        partitionKey: /pk
        defaultTtl: 3600
        settings: {onExpire: {forwardTo: left}}
        documents:
          - {id: old, pk: p, _mayfly: {age: 50m}}
          - {id: new, pk: p}
queues: [{name: left}]
`

// TestSeed fills servers from a folder and from a file system in memory, and checks that a document of the
// seed that is already 50 minutes old expires when its hour is over and is forwarded to the queue.
func TestSeed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte(seedText), 0o600); err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"seed/shop.yaml": &fstest.MapFile{Data: []byte(seedText)}}
	for _, option := range []Option{WithSeed(dir), WithSeedFS(files, "seed")} {
		m := New(t, option)
		carts := m.Container("shop/carts", "/pk")
		reads := func(id string) bool {
			_, _, err := carts.Read(ctx, key("p"), id, store.ReadOptions{})
			return err == nil
		}
		if !reads("old") || !reads("new") {
			t.Error("the documents are not there")
		}
		m.Advance(11 * time.Minute)
		if reads("old") || !reads("new") {
			t.Error("what is old has not expired, or what is new has")
		}
		res, err := m.HTTPClient().Get(m.URL() + "/_mayfly/entities/left")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || !strings.Contains(string(body), `"active":1`) {
			t.Errorf("%s %v", body, err)
		}
	}
	r := &recordingTB{TB: t}
	r.run(func(t testing.TB) { New(t, WithSeed(filepath.Join(dir, "none"))) })
	if !r.fatal || !strings.Contains(strings.Join(r.said, ""), "none") {
		t.Errorf("%q", r.said)
	}
}
