//go:build upstream

package sdktest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pythonTestSuite describes how the tests that ship with a Python SDK are run.
type pythonTestSuite struct {
	folder  string // below upstream: requirements.txt, expected-fail.txt, and modules that stand in for others
	sdk     string // the package that they ship in, in the version of requirements.txt
	host    string // where they think that the server is; with a port if they insist on one
	args    []string
	env     []string
	workers int // tests that run at the same time, each with a server of its own: they clear all that is there
	server  func(t *testing.T) (s *Server, port int)
}

// TestUpstreamPython runs the tests that are part of the source distributions of the Python SDKs.
func TestUpstreamPython(t *testing.T) {
	t.Parallel()
	runnable(t, scenarioProgram{tools: pythonTools})
	const host = "upstream.servicebus.test"
	for name, p := range map[string]pythonTestSuite{
		"servicebus": {
			folder: "python-servicebus",
			sdk:    "azure-servicebus",
			host:   host,
			args:   []string{"--ignore", "unittests", "--ignore", "perf_tests"},
			env: []string{
				"MAYFLY_TOKEN=" + webToken(time.Now().Add(24*time.Hour)),
				"SERVICEBUS_RESOURCE_GROUP=group",
				"SERVICEBUS_ENDPOINT_SUFFIX=.servicebus.test",
				"SERVICEBUS_FULLY_QUALIFIED_NAMESPACE=" + host,
				"SERVICEBUS_SAS_POLICY=RootManageSharedAccessKey",
				"SERVICEBUS_SAS_KEY=" + rootKey,
				"SERVICEBUS_CONNECTION_STR=Endpoint=sb://" + host +
					";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=" + rootKey,
			},
			workers: 12, // they wait more than they work
			server: func(t *testing.T) (*Server, int) {
				b := startBus(t, append([]string{"--memory", "--san", host}, upstreamKeys...)...)
				return b.Server, b.tls
			},
		},
		"cosmos": {
			folder: "python-cosmos",
			sdk:    "azure-cosmos",
			host:   "localhost:8081",
			args: []string{"-m", "(cosmosEmulator or cosmosLong or cosmosQuery or cosmosSearchQuery or cosmosSplit)" +
				" and not cosmosMultiRegion and not cosmosAADMultiRegion"}, // the account has one region
			workers: 4,
			server: func(t *testing.T) (*Server, int) {
				s := start(t, "--memory", "--advertise", "https://127.0.0.1:8081")
				return s, s.Port
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expected := readExpectations(t, filepath.Join("upstream", p.folder, "expected-fail.txt"))
			judge(t, p.run(t), expected)
		})
	}
}

// run runs the tests of the SDK with pytest, and returns their results.
func (p pythonTestSuite) run(t *testing.T) map[string]testResult {
	t.Helper()
	dir := filepath.Join("upstream", p.folder)
	python := absolute(t, pythonWith(t, dir, "requirements.txt", ".venv"))
	tests := filepath.Join(sdist(t, dir, python, p.sdk), "tests")
	var ports []string
	var certificates []byte
	for range p.workers {
		s, port := p.server(t)
		ports = append(ports, strconv.Itoa(port))
		certificates = append(certificates, get(t, s.URL("http")+"_mayfly/cert.pem")...)
	}
	out := t.TempDir()
	cert, verdicts := filepath.Join(out, "mayfly.pem"), filepath.Join(out, "verdicts")
	must(t, os.WriteFile(cert, certificates, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), upstreamTime)
	defer cancel()
	// Other tracebacks than native ones make pytest parse the source, which fails in CPython 3.11 after deep
	// recursion.
	cmd := exec.CommandContext(ctx, python, slices.Concat([]string{"-W", "ignore", "-m", "pytest", "-q",
		"--rootdir", ".", "-p", "mayfly_plugin", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto",
		"-n", strconv.Itoa(p.workers), "--dist", "worksteal", "--timeout", "900",
		"--tb", "native", "--show-capture", "no"}, p.args, []string{"."})...)
	cmd.Dir = tests
	path := []string{absolute(t, "upstream", "python"), absolute(t, dir), tests, filepath.Join(tests, "mgmt_tests")}
	cmd.Env = slices.Concat(os.Environ(), trustByRequests(t, cert), p.env, []string{
		"PYTHONPATH=" + strings.Join(path, string(os.PathListSeparator)), "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0",
		"MAYFLY_HOST=" + p.host, "MAYFLY_PORTS=" + strings.Join(ports, ","), "MAYFLY_VERDICTS=" + verdicts})
	text, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	list := pythonVerdicts(t, verdicts)
	if code := cmd.ProcessState.ExitCode(); code < 0 || code > 1 || len(list) == 0 {
		t.Errorf("%d tests ran, not all of them: %v\n%s", len(list), err, text)
	}
	return list
}

// pythonVerdicts reads the results that the pytest plugin has written to a file. If a test occurs several
// times, one failure counts.
func pythonVerdicts(t *testing.T, file string) map[string]testResult {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	verdicts := map[string]testResult{}
	for d := json.NewDecoder(f); ; {
		var line struct{ Name, Result, Says string }
		err := d.Decode(&line)
		if errors.Is(err, io.EOF) {
			return verdicts
		}
		must(t, err)
		if verdicts[line.Name].result != "fail" {
			verdicts[line.Name] = testResult{line.Result, line.Says}
		}
	}
}
