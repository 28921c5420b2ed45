package archtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReadmeCommands(t *testing.T) {
	lines := strings.Split(readme(t), "\n")
	for _, command := range []string{"go run ./cmd/mayfly serve", "go test ./..."} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.TrimSpace(l) == command }) {
			t.Errorf("README.md:1: no line says %q", command)
		}
	}
}

// TestReadmeExample runs the README's program that uses the store as a library. An overlay puts it into the
// module without writing into its folder.
func TestReadmeExample(t *testing.T) {
	var program string
	for _, m := range regexp.MustCompile("(?ms)^```go\n(.*?)^```").FindAllStringSubmatch(readme(t), -1) {
		if strings.Contains(m[1], module) {
			program = m[1]
		}
	}
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
