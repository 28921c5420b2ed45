package sdktest

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ownKey is the master key of a server that does not accept the emulator's well-known key.
const ownKey = "bXkgb3duIGtleSBvZiB0aGlzIHNlcnZlcg=="

// TestExplorer tests the explorer, the server's web application, in Chromium: keyboard use, forms, large
// data, all views, attacks by pages of other origins, and a server with another master key. If
// MAYFLY_IMAGES names a folder, it stores screenshots there.
func TestExplorer(t *testing.T) {
	t.Parallel()
	failures := failureSummary(t)
	s := startBus(t, "--memory")
	keyed := start(t, "--memory", "--key", ownKey, "--san", "elsewhere.example") // a name beside loopback
	chromium(t, failures, "run.js", s.Server, "--keyed", keyed.URL("http"), "--key", ownKey, "--mayfly",
		binary)
	must(t, s.Stop())
}

// TestExplorerDocs tests the pages of the documentation in Chromium.
func TestExplorerDocs(t *testing.T) {
	t.Parallel()
	failures := failureSummary(t)
	chromium(t, failures, "docs.js", start(t, "--memory"))
}

// failureSummary returns a list of lines that is logged at the end of the test, after the output of the
// servers, which may be long. It must be called before servers are started.
func failureSummary(t *testing.T) *[]string {
	t.Helper()
	lines := new([]string)
	t.Cleanup(func() {
		if len(*lines) > 0 {
			t.Logf("what failed in the browser:\n%s", strings.Join(*lines, "\n"))
		}
	})
	return lines
}

// chromium runs a Node.js program of the folder explorer, which tests a server's pages in Chromium. It
// appends the lines of its output that report failures to failures.
func chromium(t *testing.T, failures *[]string, program string, s *Server, more ...string) {
	t.Helper()
	runnable(t, scenarioProgram{tools: append([]string{"chromium"}, nodeTools...)})
	nodeProgram("explorer")(t)
	path, err := exec.LookPath("chromium")
	must(t, err)
	argv := append([]string{"node", filepath.Join("explorer", program), "--endpoint", s.URL("http"),
		"--chromium", path}, more...)
	if images := os.Getenv("MAYFLY_IMAGES"); images != "" {
		argv = append(argv, "--images", images)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*runTime) // it looks at each view four times
	defer cancel()
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	t.Logf("%s", out)
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "FAIL ") {
			*failures = append(*failures, strings.TrimSpace(line))
		}
	}
	must(t, err)
}

// TestExplorerBuild builds the web application and the documentation from their sources, and checks that
// the committed builds are equal.
func TestExplorerBuild(t *testing.T) {
	t.Parallel()
	runnable(t, scenarioProgram{tools: nodeTools})
	for _, build := range []struct{ sources, into, flag string }{
		{"web", "dist", "--outDir"},
		{"site", "docs", "--output"},
	} {
		t.Run(build.sources, func(t *testing.T) {
			dir, fresh := filepath.Join("..", "httpapi", "explorer", build.sources), t.TempDir()
			nodeModules(t, dir)
			command(t, dir, "npm", "run", "build", "--", build.flag, fresh)
			want, got := unpackedBuild(t, fresh), unpackedBuild(t, filepath.Join(dir, "..", build.into))
			for name, text := range want {
				if got[name] != text {
					t.Errorf("%s differs from what %s gives: npm run build", name, dir)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d files, and the sources give %d", len(got), len(want))
			}
		})
	}
}

// unpackedBuild returns the files of a build by name, decompressed from their .gz files, since the
// compressed bytes may differ. It fails the test if a file has no .br version.
func unpackedBuild(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		plain, packed := strings.CutSuffix(name, ".gz")
		if err != nil || entry.IsDir() || !packed {
			return err
		}
		if _, err := os.Stat(plain + ".br"); err != nil {
			return err
		}
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		unpacked, err := gzip.NewReader(file)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(unpacked)
		at, _ := filepath.Rel(dir, plain)
		files[at] = string(text)
		return err
	}))
	return files
}
