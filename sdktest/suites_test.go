package sdktest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
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

// runTime is the time limit for all scenarios in one language.
const runTime = 10 * time.Minute

// scenarioProgram describes the program that runs the scenarios in one language.
type scenarioProgram struct {
	name    string   // as the tables of scenarios.md spell it
	tools   []string // programs that have to be there
	direct  bool     // the SDK has a direct mode
	needs   string   // the variable that names the runner, for one that is not made from this folder
	lacks   []string // scenarios that such a runner does not have
	prepare func(t *testing.T) (argv []string)
	trust   func(t *testing.T, cert string) (env []string) // makes the runner trust the certificate in that file
}

// suites lists the languages in which the scenarios of scenarios.md run, each with the function that builds
// the program. The dependencies that it installs are in folders that git ignores, and are used again in the
// next run.
var suites = []scenarioProgram{
	{name: "Go", prepare: goProgram("./go"), trust: trustByFile},
	{name: "JavaScript", tools: nodeTools, prepare: nodeProgram("js"), trust: trustByNode},
	{name: "Python", tools: pythonTools, prepare: pythonProgram("python"), trust: trustByRequests},
	{name: "Java", tools: javaTools, direct: true, prepare: javaProgram("java"), trust: trustByStore},
	{
		name:  "Rust",
		tools: []string{"cargo"},
		prepare: func(t *testing.T) []string {
			target := rustTarget(t)
			command(t, "rust", "cargo", "build", "--locked", "--quiet", "--target-dir", target)
			return []string{filepath.Join(target, "debug", "scenarios")}
		},
		trust: trustByFile,
	},
	{
		name:    ".NET",
		direct:  true,
		needs:   "MAYFLY_DOTNET_SCENARIOS",
		lacks:   []string{"container-recreated"}, // TestRecreatedDotnet
		prepare: func(*testing.T) []string { return []string{os.Getenv("MAYFLY_DOTNET_SCENARIOS")} },
		trust:   trustByFile,
	},
}

// connectionVariant is a protocol by which the scenarios reach a server, and the number of partition
// ranges of its containers.
type connectionVariant struct {
	way    string // http, https, or direct
	ranges int
}

// connections lists the protocols, with numbers of partition ranges, by which the scenarios of every language
// run. A test binary that is built with the tag long has additional ones, longConnections.
var connections = append([]connectionVariant{{"http", 1}, {"https", 5}, {"direct", 1}, {"direct", 5}},
	longConnections...)

// TestScenarios runs the scenarios of each language with each connectionVariant, each time with a new
// server. Languages whose SDK has no direct mode skip it. The program must report every scenario of
// scenarios.md, and report "no-api" for exactly those for which the tables there say that the SDK has no
// API.
func TestScenarios(t *testing.T) {
	t.Parallel()
	list := scenarioList(t, "scenarios.md")
	if len(list) < 64 {
		t.Fatalf("scenarios.md lists %d", len(list))
	}
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			runnable(t, s)
			argv := s.prepare(t)
			for _, c := range connections {
				if c.way == "direct" && !s.direct {
					continue
				}
				t.Run(fmt.Sprintf("%s-%d", c.way, c.ranges), func(t *testing.T) { runSuite(t, s, argv, list, c.way, c.ranges) })
			}
		})
	}
}

// runnable skips the test if a program that the suite needs is not installed, or fails it if CI=true. It
// always skips a suite whose scenario program must be named by an environment variable that is not set.
func runnable(t *testing.T, s scenarioProgram) {
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

// scenarioList reads the tables of scenarios in a Markdown file. It returns, for the name of each
// scenario, the languages whose SDKs have no API for it.
func scenarioList(t *testing.T, file string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	list := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|.*\\|(.*)\\|$").FindAllStringSubmatch(string(text), -1) {
		if _, twice := list[row[1]]; twice {
			t.Errorf("%s has %s twice", file, row[1])
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

// runSuite runs the scenarios of a language with a new server. way is http, https, or direct for direct
// mode, in which the client first connects by HTTPS. argv is the command of the language's program.
func runSuite(t *testing.T, s scenarioProgram, argv []string, list map[string][]string, way string,
	ranges int) {
	server := start(t, "--data", t.TempDir(), "--virtual-clock", "--ranges", strconv.Itoa(ranges))
	cert := filepath.Join(t.TempDir(), "mayfly.pem")
	must(t, os.WriteFile(cert, get(t, server.URL("http")+"_explorer/emulator.pem"), 0o644))

	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	scheme, args, names := way, slices.Clone(argv[1:]), []string{s.language()}
	if way == "direct" {
		scheme, args, names = "https", append(args, "--direct"), append(names, s.language()+" in direct mode")
	}
	args = append(args, "--endpoint", server.URL(scheme), "--ranges", strconv.Itoa(ranges),
		"--control", control(t, server))
	cmd := exec.CommandContext(ctx, argv[0], args...)
	cmd.Env = os.Environ()
	if scheme == "https" {
		cmd.Env = append(cmd.Env, s.trust(t, cert)...)
	}
	list = maps.Clone(list)
	for _, name := range s.lacks {
		delete(list, name)
	}
	sum := outcomes(t, cmd, list, names...)
	t.Logf("over %s, %d range(s): %s", way, ranges, sum)
	must(t, server.Stop())
	check(t, server.Args[slices.Index(server.Args, "--data")+1])
}

// language returns the name of the suite's language as the tables of scenarios spell it: the suite's name
// up to the first comma.
func (s scenarioProgram) language() string {
	name, _, _ := strings.Cut(s.name, ",")
	return name
}

// outcomes runs a scenario program and returns its summary. The test fails if a scenario fails, does not run,
// or is not in list. list holds, for each scenario, the names of the SDKs that have no call for it. The
// program must report "no-api" for exactly those scenarios for which list has one of names, its own names.
func outcomes(t *testing.T, runner *exec.Cmd, list map[string][]string, names ...string) string {
	t.Helper()
	out, err := runner.CombinedOutput()
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
				t.Errorf("no list has %q, or it ran twice", name)
			}
			seen[name] = true
			excused := slices.ContainsFunc(names, func(n string) bool { return slices.Contains(list[name], n) })
			if excused != (word == "no-api") && word != "FAIL" {
				t.Errorf("%s: the list says no API: %v", line, excused)
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
	return sum
}

// recreate deletes the container "c" and creates it again with seven items, as another client would. how
// has the parameters: the database, the number of partition ranges, the round, which becomes a part of the
// items' ids, and "whole" if the database is to be created again as well.
func recreate(ctx context.Context, s *Server, how url.Values) error {
	db, round := "dbs/"+how.Get("database"), how.Get("round")
	gone := db + "/colls/c"
	steps := []requestWithExpectedStatus{{"DELETE", gone, "", 204}}
	if how.Get("whole") != "" {
		recreated := fmt.Sprintf(`{"id": %q}`, how.Get("database"))
		steps = []requestWithExpectedStatus{{"DELETE", db, "", 204}, {"POST", "dbs", recreated, 201}}
	}
	steps = append(steps, requestWithExpectedStatus{"POST", db + "/colls",
		`{"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}`, 201})
	for i := range 7 {
		steps = append(steps, requestWithExpectedStatus{"POST", db + "/colls/c/docs",
			fmt.Sprintf(`{"id": "r%s-%d", "pk": "k%d", "n": %d}`, round, i, i, i), 201})
	}
	for _, step := range steps {
		req, err := http.NewRequestWithContext(ctx, step.method, s.URL("http")+step.path, strings.NewReader(step.body))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+EmulatorKey)
		req.Header.Set("x-mayfly-ranges", how.Get("ranges"))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		res.Body.Close()
		if res.StatusCode != step.status {
			return fmt.Errorf("%s %s: %s", step.method, step.path, res.Status)
		}
	}
	return nil
}

// requestWithExpectedStatus is one of the requests that the function recreate sends, and the expected status
// of the response.
type requestWithExpectedStatus struct {
	method, path, body string
	status             int
}

// control starts an HTTP server by which a scenario program controls the server under test, and returns
// its URL. POST stop and POST kill restart the server, and POST recreate deletes and creates a container.
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
	mux.HandleFunc("POST /recreate", func(w http.ResponseWriter, r *http.Request) {
		if err := recreate(r.Context(), s, r.URL.Query()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
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
