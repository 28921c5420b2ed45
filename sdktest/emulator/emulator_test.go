package emulator

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/sdktest"
)

// sdk is the package whose tests are run. They expect an emulator on port 8081 and its second gateway on
// 8903.
const (
	sdk  = "github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	port = 8081
)

func TestEmulator(t *testing.T) {
	must, fails := list(t, "expected-pass.txt"), list(t, "expected-fail.txt")
	wanted := slices.Sorted(maps.Keys(must))
	wanted = slices.AppendSeq(wanted, maps.Keys(fails))
	slices.Sort(wanted)
	if there := emulatorTests(t); !slices.Equal(wanted, there) {
		t.Fatalf("the lists name %d tests, the SDK has %d:\n%v\n%v", len(wanted), len(there), wanted, there)
	}
	// As a newcomer runs it, Mayfly passes those that need no flags; by the flags that the others need it
	// passes all.
	byFlags := map[string][]string{"": nil}
	for _, flags := range must {
		byFlags[flags] = nil
	}
	for flags := range byFlags {
		byFlags[flags] = slices.Collect(maps.Keys(fails))
		for name, needs := range must {
			if needs == "" || needs == flags {
				byFlags[flags] = append(byFlags[flags], name)
			}
		}
	}
	bin := compile(t)
	for _, flags := range slices.Sorted(maps.Keys(byFlags)) {
		t.Run("serve "+flags, func(t *testing.T) {
			names := slices.Sorted(slices.Values(byFlags[flags]))
			results, output := run(t, bin, serve(t, strings.Fields(flags)), names)
			passed := 0
			for _, name := range names {
				result := results[name]
				if result == "pass" {
					passed++
				}
				want := "pass"
				if _, known := fails[name]; known {
					want = "fail"
				}
				if result != want {
					t.Errorf("%-4s %s, want %s\n%s", result, name, want, output[name])
					continue
				}
				t.Logf("%-4s %s", result, name)
			}
			t.Logf("%d of %d tests passed", passed, len(wanted))
		})
	}
}

// list reads a file with one test per line. It maps the name of each test to the rest of its line: a
// reason, or flags of the server. Lines that begin with # are comments.
func list(t *testing.T, file string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			name, rest, _ := strings.Cut(line, " ")
			names[name] = strings.TrimSpace(rest)
		}
	}
	return names
}

// emulatorTests returns the names of all emulator tests in the SDK's source, sorted.
func emulatorTests(t *testing.T) (names []string) {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", sdk).Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "emulator_*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	test := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range test.FindAllSubmatch(src, -1) {
			names = append(names, string(m[1]))
		}
	}
	slices.Sort(names)
	return names
}

// serve starts Mayfly with these flags on the emulator's port until the test ends. It returns the path of
// a file with the server's certificate.
func serve(t *testing.T, flags []string) string {
	t.Helper()
	bin, err := sdktest.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &sdktest.Server{Bin: bin, Port: port, Args: append([]string{"--memory"}, flags...)}
	if err := s.Start(t.Context()); err != nil {
		t.Fatalf("the emulator's port must be free: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop: %v\n%s", err, s.Output())
		}
	})
	res, err := http.Get(s.URL("http") + "_explorer/emulator.pem")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	pem, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "emulator.pem")
	if err := os.WriteFile(file, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// compile builds the SDK's tests and returns the path of the binary. Building is separate from running,
// because a go command whose environment has SSL_CERT_FILE cannot download modules.
func compile(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "azcosmos.test")
	if out, err := exec.Command("go", "test", "-c", "-o", bin, sdk).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// run runs the named tests of the SDK. It returns the result of each ("pass", "fail", "skip", or none if
// it did not run) and its output.
func run(t *testing.T, bin, certificate string, names []string) (results, output map[string]string) {
	t.Helper()
	cmd := exec.Command("go", "tool", "test2json", bin, "-test.v=test2json", "-test.timeout=5m", "-test.run=^("+strings.Join(names, "|")+")$")
	cmd.Env = append(os.Environ(), "EMULATOR=true", "SSL_CERT_FILE="+certificate)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	results, output = map[string]string{}, map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var e struct{ Action, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%v\n%s\n%s", err, lines.Bytes(), stderr.String())
		}
		name, _, _ := strings.Cut(e.Test, "/")
		switch e.Action {
		case "output":
			output[name] += e.Output
		case "pass", "fail", "skip":
			if e.Test == name {
				results[name] = e.Action
			}
		}
	}
	if len(results) == 0 {
		t.Fatalf("no test was run: %s\n%s", stderr.String(), out)
	}
	return results, output
}
