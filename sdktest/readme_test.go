package sdktest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// blocks returns the code blocks of the project's README in one language.
func blocks(t *testing.T, language string) (code []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	must(t, err)
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		code = append(code, m[1])
	}
	return code
}

// TestReadmeCurl runs the README's tour as it stands, but for the port.
func TestReadmeCurl(t *testing.T) {
	s := start(t, "--memory", "--virtual-clock")
	script := strings.ReplaceAll(strings.Join(blocks(t, "bash"), "echo\n"), "localhost:8081", fmt.Sprintf("localhost:%d", s.Port))
	out, err := exec.Command("bash", "-euo", "pipefail", "-c", script).CombinedOutput()
	must(t, err)
	for _, want := range []string{`{"id":"shop",`, `"defaultTtl":3600`, `"ttl":60,`, `"virtual":true}`, "404\n", `"_count":1}`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

// TestReadmeGo runs the README's program for the Go SDK, with this module's version of it.
func TestReadmeGo(t *testing.T) {
	s := start(t, "--memory")
	var program string
	for _, b := range blocks(t, "go") {
		if strings.Contains(b, "azcosmos") {
			program = strings.ReplaceAll(b, "localhost:8081", fmt.Sprintf("localhost:%d", s.Port))
		}
	}
	// An overlay puts the program into this module without writing into its folder.
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	must(t, os.WriteFile(source, []byte(program), 0o600))
	here, err := os.Getwd()
	must(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	must(t, os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, filepath.Join(here, "readme", "main.go"), source), 0o600))
	out, err := exec.Command("go", "run", "-overlay", overlay, "./readme").CombinedOutput()
	if err != nil || strings.Count(string(out), `"user":"ada"`) != 3 {
		t.Errorf("%v\n%s", err, out)
	}
}
