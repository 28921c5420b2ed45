package seed

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// TestDocumentation checks that the seed files shown in docs/seeds.md can be read and applied.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/seeds.md")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	block := regexp.MustCompile("(?s)```(?:yaml|js)\n(?:#|//) (\\S+)\n(.*?)```")
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		files[m[1]] = &fstest.MapFile{Data: []byte(m[2])}
	}
	one := files["shop.yaml"]
	delete(files, "shop.yaml")
	if one == nil || len(files) != 5 {
		t.Fatalf("there are %d files", len(files))
	}
	for name, seed := range map[string]fstest.MapFS{"one file": {"shop.yaml": one}, "a folder": files} {
		s, err := OpenFS(seed, ".")
		if err == nil {
			err = s.DryRun(t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	files["shop/carts/container.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(
		string(files["shop/carts/container.yaml"].Data), "descending", "down", 1))}
	if _, err := OpenFS(files, "."); err == nil || !strings.Contains(string(text), err.Error()[:90]) {
		t.Errorf("the page tells of another error than %v", err)
	}
}
