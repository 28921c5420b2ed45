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

// TestReadmeSDKs runs the README's programs for other SDKs over HTTPS, with the certificate that the server gives out.
func TestReadmeSDKs(t *testing.T) {
	s := start(t, "--memory")
	for _, p := range []struct {
		name, language, file, says string
		environment                func(cert string) []string
	}{
		{"JavaScript", "js", "tour.mjs", "javascript sees tour", func(cert string) []string { return []string{"NODE_EXTRA_CA_CERTS=" + cert} }},
		{"Python", "python", "tour.py", "python sees tour", func(string) []string { return nil }},
	} {
		t.Run(p.name, func(t *testing.T) {
			code := blocks(t, p.language)
			if len(code) != 1 {
				t.Fatalf("the README has %d programs", len(code))
			}
			argv := prepared(t, p.name)
			dir := t.TempDir()
			cert, source := filepath.Join(dir, "mayfly.pem"), filepath.Join(dir, p.file)
			must(t, os.WriteFile(cert, get(t, s.URL("http")+"_mayfly/cert.pem"), 0o600))
			must(t, os.WriteFile(source, []byte(strings.ReplaceAll(code[0], "localhost:8081", fmt.Sprintf("localhost:%d", s.Port))), 0o600))
			program, err := filepath.Abs(argv[0])
			if !strings.Contains(argv[0], "/") {
				program, err = exec.LookPath(argv[0])
			}
			must(t, err)
			if p.language == "js" { // node looks for packages beside the program
				modules, err := filepath.Abs(filepath.Join("js", "node_modules"))
				must(t, err)
				must(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
			}
			cmd := exec.CommandContext(t.Context(), program, source)
			cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "KEY="+EmulatorKey), p.environment(cert)...)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), p.says) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// prepared installs a language's SDK and returns how its programs are run.
func prepared(t *testing.T, name string) []string {
	t.Helper()
	for _, s := range suites {
		if s.name != name {
			continue
		}
		for _, tool := range s.tools {
			if _, err := exec.LookPath(tool); err != nil {
				t.Skipf("skipped: %v", err)
			}
		}
		return s.prepare(t)
	}
	t.Fatalf("there is no suite in %s", name)
	return nil
}
