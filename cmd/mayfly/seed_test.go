package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/seed"
)

// seedFolder writes a folder of seed files with a container, a queue and a document, and returns its path.
func seedFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"queues.yaml": "queues: [{name: orders}]\n",
		"shop/carts/container.yaml": "partitionKey: /user\ndefaultTtl: 3600\nsettings:\n" +
			"  onExpire: {forwardTo: orders}\n",
		"shop/carts/ann.yaml": "- {id: a, user: ann, _mayfly: {age: 50m}}\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestSeedFolder checks that a server with a data folder and a seed has the same content at each start and
// after a reset, and that a seed that has become invalid changes nothing.
func TestSeedFolder(t *testing.T) {
	t.Parallel()
	dir, data := seedFolder(t), t.TempDir()
	const item = "/dbs/shop/colls/carts/docs/a"
	first := ""
	for round := range 2 {
		b := boot(t, "--data", data, "--seed", dir, "--virtual-clock")
		now := b.must(t, 200, "GET", item, "", "x-ms-documentdb-partitionkey", `["ann"]`)
		if first == "" {
			first = now
		}
		if now != first {
			t.Errorf("the document has become %s, it was %s", now, first)
		}
		if round == 0 {
			b.stop(t)
			continue
		}
		b.must(t, 201, "POST", "/dbs", `{"id":"more"}`)
		b.must(t, 200, "PUT", "/_mayfly/clock", `{"advance":"24h"}`)
		if code, _, errs := mayfly(t, "queue", "send", "orders", "x", "--url", "http://"+b.host); code != 0 {
			t.Error(errs)
		}
		if got := b.must(t, 200, "GET", "/_mayfly/entities", ""); strings.Contains(got, `"active":0`) {
			t.Error(got)
		}
		code, out, errs := mayfly(t, "reset", "--url", "http://"+b.host)
		if code != 0 || out != "databases: shop\n" {
			t.Errorf("reset: %d %s%s", code, out, errs)
		}
		b.must(t, 200, "GET", item, "", "x-ms-documentdb-partitionkey", `["ann"]`)
		if got := b.must(t, 200, "GET", "/_mayfly/entities", ""); !strings.Contains(got, `"path":"orders"`) ||
			!strings.Contains(got, `"active":0`) {
			t.Error(got)
		}
		b.stop(t)
	}
	wrong := filepath.Join(dir, "shop", "carts", "container.yaml")
	const archive = "partitionKey: /user\nsettings:\n  onExpire: {moveTo: none}\n"
	if err := os.WriteFile(wrong, []byte(archive), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := mayfly(t, "serve", "--data", data, "--port", "0", "--seed", dir)
	if code != exitFailed || !strings.Contains(errs, "container.yaml:3:3: settings: The archive 'none'") {
		t.Errorf("%d %s", code, errs)
	}
	code, _, errs = mayfly(t, "seed", "check", dir)
	if code != exitFailed || !strings.Contains(errs, "container.yaml:3:3: ") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestSeedCommands(t *testing.T) {
	t.Parallel()
	dir := seedFolder(t)
	const good = "the seed is good: 1 database, 1 container, 1 document, " +
		"1 queue, topic or subscription\n"
	if code, out, errs := mayfly(t, "seed", "check", dir); code != 0 || out != good {
		t.Errorf("%d %s%s", code, out, errs)
	}
	code, out, errs := mayfly(t, "seed", "check", "--json", dir)
	var c seed.ObjectCounts
	err := json.Unmarshal([]byte(out), &c)
	if code != 0 || err != nil ||
		c != (seed.ObjectCounts{Databases: 1, Containers: 1, Documents: 1, Entities: 1}) {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if code, out, _ := mayfly(t, "seed", "schema"); code != 0 || !json.Valid([]byte(out)) {
		t.Errorf("%d %s", code, out)
	}
}
