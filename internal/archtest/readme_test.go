package archtest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page returns the text of a Markdown page of the project.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReadmeCommands(t *testing.T) {
	lines := strings.Split(page(t, "README.md"), "\n")
	for _, command := range []string{"go run ./cmd/mayfly serve", "go test ./..."} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.TrimSpace(l) == command }) {
			t.Errorf("README.md:1: no line says %q", command)
		}
	}
}

// TestDocumentationLinks checks that the links in README.md and in the pages in docs lead to existing files
// and headings, and that docs/README.md lists every page.
func TestDocumentationLinks(t *testing.T) {
	pages := []string{"README.md", "CONTRIBUTING.md"}
	docs := filepath.Join("..", "..", "docs")
	err := filepath.WalkDir(docs, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".md" {
			name, err = filepath.Rel(filepath.Join("..", ".."), name)
			pages = append(pages, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	contents := page(t, "docs/README.md")
	for _, name := range pages {
		file, listed := strings.CutPrefix(name, "docs/")
		if listed && file != "README.md" && !strings.Contains(contents, "]("+file+")") {
			t.Errorf("docs/README.md:1: no list leads to %s", file)
		}
		checkPage(t, name)
	}
}

var (
	fenced    = regexp.MustCompile("(?ms)^```.*?^```$")
	pageLink  = regexp.MustCompile(`\]\(([^)#:\s]*)(#[^)\s]*)?\)`)
	subtitles = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	unslugged = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func checkPage(t *testing.T, name string) {
	t.Helper()
	blank := func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }
	for i, line := range strings.Split(fenced.ReplaceAllStringFunc(page(t, name), blank), "\n") {
		for _, m := range pageLink.FindAllStringSubmatch(line, -1) {
			to := filepath.ToSlash(filepath.Join(filepath.Dir(name), m[1]))
			if m[1] == "" {
				to = name
			}
			if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(to))); err != nil {
				t.Errorf("%s:%d: there is no %s", name, i+1, to)
				continue
			}
			if m[2] == "" || filepath.Ext(to) != ".md" {
				continue
			}
			headings := subtitles.FindAllStringSubmatch(page(t, to), -1)
			there := slices.ContainsFunc(headings, func(h []string) bool {
				slug := unslugged.ReplaceAllString(strings.ToLower(h[1]), "")
				return "#"+strings.ReplaceAll(slug, " ", "-") == m[2]
			})
			if !there {
				t.Errorf("%s:%d: %s has no heading %s", name, i+1, to, m[2])
			}
		}
	}
}

// TestLibraryExample runs the first program in the documentation page about the store as a Go library. It
// uses a build overlay, so that no file is written into the module's folder.
func TestLibraryExample(t *testing.T) {
	first := regexp.MustCompile("(?ms)^```go\n(.*?)^```")
	program := first.FindStringSubmatch(page(t, "docs/embedding.md"))[1]
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	place, err := filepath.Abs(filepath.Join("example", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	overlay := write("overlay.json", fmt.Sprintf(`{"Replace": {%q: %q}}`, place, write("main.go", program)))
	out, err := exec.Command("go", "run", "-overlay", overlay, "./example").CombinedOutput()
	if want := "[book] true\n1 <nil>\n"; err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}
