package sdktest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// runTime is how long a runner may take for all scenarios.
const runTime = 3 * time.Minute

// suite is the scenarios in one language.
type suite struct {
	name    string   // as the tables of scenarios.md spell it
	tools   []string // programs that have to be there
	needs   string   // the variable that names the runner, for one that is not made from this folder
	prepare func(t *testing.T) (argv []string)
	trust   func(t *testing.T, cert string) (env []string) // makes the runner trust the certificate in that file
}

// suites lists the languages. What prepare installs goes into folders that git ignores, and is used again.
var suites = []suite{
	{
		name: "Go",
		prepare: func(t *testing.T) []string {
			bin := filepath.Join(t.TempDir(), "scenarios")
			command(t, ".", "go", "build", "-o", bin, "./go")
			return []string{bin}
		},
		trust: func(_ *testing.T, cert string) []string { return []string{"SSL_CERT_FILE=" + cert} },
	},
	{
		name:  "JavaScript",
		tools: []string{"node", "npm"},
		prepare: func(t *testing.T) []string {
			if stale("js/package-lock.json", "js/node_modules/.package-lock.json") {
				command(t, "js", "npm", "ci", "--no-audit", "--no-fund", "--loglevel", "error")
			}
			return []string{"node", "js/run.js"}
		},
		trust: func(_ *testing.T, cert string) []string { return []string{"NODE_EXTRA_CA_CERTS=" + cert} },
	},
	{
		name:  "Python",
		tools: []string{"python3"},
		prepare: func(t *testing.T) []string {
			python := filepath.Join("python", ".venv", "bin", "python")
			if stale("python/requirements.txt", "python/.venv/installed") {
				command(t, "python", "python3", "-m", "venv", ".venv")
				command(t, ".", python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", "python/requirements.txt")
				must(t, os.WriteFile("python/.venv/installed", nil, 0o644))
			}
			return []string{python, "python/run.py"}
		},
		trust: func(_ *testing.T, cert string) []string {
			return []string{"REQUESTS_CA_BUNDLE=" + cert, "SSL_CERT_FILE=" + cert}
		},
	},
	{
		name:  "Java",
		tools: []string{"java", "keytool", "mvn"},
		prepare: func(t *testing.T) []string {
			command(t, "java", "mvn", "-q", "-B", "compile", "dependency:copy-dependencies")
			return []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", strings.Join([]string{"java/target/classes", "java/target/dependency/*"}, string(os.PathListSeparator)), "scenarios.Run"}
		},
		trust: func(t *testing.T, cert string) []string {
			store := filepath.Join(t.TempDir(), "trust.p12")
			command(t, ".", "keytool", "-importcert", "-noprompt", "-alias", "mayfly", "-file", cert, "-keystore", store, "-storetype", "PKCS12", "-storepass", "changeit")
			return []string{"JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=" + store + " -Djavax.net.ssl.trustStorePassword=changeit"}
		},
	},
	{
		name:  "Rust",
		tools: []string{"cargo"},
		prepare: func(t *testing.T) []string {
			command(t, "rust", "cargo", "build", "--locked", "--quiet", "--target-dir", "target")
			return []string{filepath.Join("rust", "target", "debug", "scenarios")}
		},
		trust: func(_ *testing.T, cert string) []string { return []string{"SSL_CERT_FILE=" + cert} },
	},
	{
		name:    ".NET",
		needs:   "MAYFLY_DOTNET_SCENARIOS",
		prepare: func(*testing.T) []string { return []string{os.Getenv("MAYFLY_DOTNET_SCENARIOS")} },
		trust:   func(_ *testing.T, cert string) []string { return []string{"SSL_CERT_FILE=" + cert} },
	},
}

// TestScenarios runs the scenarios of each language against a server of its own, over http and https, with
// one range and with five. Every name of scenarios.md has to be told of, and "no-api" exactly where its
// tables say so.
func TestScenarios(t *testing.T) {
	list := scenarioList(t)
	if len(list) < 64 {
		t.Fatalf("scenarios.md lists %d", len(list))
	}
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			runnable(t, s)
			argv := s.prepare(t)
			for _, scheme := range []string{"http", "https"} {
				for _, ranges := range []int{1, 5} {
					t.Run(fmt.Sprintf("%s-%d", scheme, ranges), func(t *testing.T) { runSuite(t, s, argv, list, scheme, ranges) })
				}
			}
		})
	}
}

// runnable skips a suite that this machine cannot run. With CI=true only one whose runner nobody has named is
// skipped.
func runnable(t *testing.T, s suite) {
	t.Helper()
	if s.needs != "" && os.Getenv(s.needs) == "" {
		t.Skipf("skipped: %s does not name the runner", s.needs)
	}
	for _, tool := range s.tools {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("CI has to run every language: %v", err)
			}
			t.Skipf("skipped: %v", err)
		}
	}
}

// scenarioList reads the tables of scenarios.md: for each name the languages that have no API for it.
func scenarioList(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("scenarios.md")
	must(t, err)
	list := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|.*\\|(.*)\\|$").FindAllStringSubmatch(string(text), -1) {
		if _, twice := list[row[1]]; twice {
			t.Errorf("scenarios.md has %s twice", row[1])
		}
		list[row[1]] = nil
		for _, part := range strings.Split(row[2], ";") {
			if language, reason, ok := strings.Cut(part, ":"); ok && strings.TrimSpace(reason) != "" {
				list[row[1]] = append(list[row[1]], strings.TrimSpace(language))
			}
		}
	}
	return list
}

func runSuite(t *testing.T, s suite, argv []string, list map[string][]string, scheme string, ranges int) {
	server := start(t, "--data", t.TempDir(), "--virtual-clock", "--ranges", strconv.Itoa(ranges))
	cert := filepath.Join(t.TempDir(), "mayfly.pem")
	must(t, os.WriteFile(cert, get(t, server.URL("http")+"_explorer/emulator.pem"), 0o644))

	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], "--endpoint", server.URL(scheme), "--ranges", strconv.Itoa(ranges), "--control", control(t, server))...)
	cmd.Env = os.Environ()
	if scheme == "https" {
		cmd.Env = append(cmd.Env, s.trust(t, cert)...)
	}
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}

	seen := map[string]bool{}
	sum := ""
	for _, line := range strings.Split(string(out), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		name, _, _ := strings.Cut(rest, ":")
		switch word {
		case "ok", "FAIL", "no-api":
			if _, listed := list[name]; !listed || seen[name] && word != "FAIL" {
				t.Errorf("scenarios.md does not list %q, or it ran twice", name)
			}
			seen[name] = true
			if excused := slices.Contains(list[name], s.name); excused != (word == "no-api") && word != "FAIL" {
				t.Errorf("%s: scenarios.md says no API: %v", line, excused)
			}
			if word == "FAIL" {
				t.Error(line)
			}
		default:
			if regexp.MustCompile(`: \d+/\d+ \(\d+ no-api\)$`).MatchString(line) {
				sum = line
			}
		}
	}
	for name := range list {
		if !seen[name] {
			t.Errorf("%s did not run", name)
		}
	}
	if err != nil && !t.Failed() || sum == "" {
		t.Errorf("the runner: %v\n%s", err, out)
	}
	t.Logf("over %s, %d range(s): %s", scheme, ranges, sum)
	must(t, server.Stop())
	check(t, server.Args[slices.Index(server.Args, "--data")+1])
}

// control lets a runner end the server and start it again: POST stop, POST kill. It returns the URL before
// these.
func control(t *testing.T, s *Server) string {
	t.Helper()
	again := func(end func() error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if err := errors.Join(end(), s.Start(context.WithoutCancel(r.Context()))); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /stop", again(func() error { return s.Stop() }))
	mux.HandleFunc("POST /kill", again(func() error { return s.Kill() }))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := &http.Server{Handler: mux}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ln) }()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	return "http://" + ln.Addr().String() + "/"
}

// command runs a program that prepares a suite.
func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// stale tells whether what was made from a file is missing or older than it.
func stale(source, made string) bool {
	from, err := os.Stat(source)
	if err != nil {
		return true
	}
	to, err := os.Stat(made)
	return err != nil || to.ModTime().Before(from.ModTime())
}
