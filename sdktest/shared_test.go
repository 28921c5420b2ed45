package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// The scenarios with the SDKs for Go and Java, whose clients are spread over two servers of one PostgreSQL
// database. MAYFLY_POSTGRES names a PostgreSQL in which databases may be made.

// postgresAddress returns the URL of the PostgreSQL in which the test may create databases. It skips the test
// if MAYFLY_POSTGRES is not set.
func postgresAddress(t *testing.T) string {
	t.Helper()
	server := os.Getenv("MAYFLY_POSTGRES")
	if server == "" {
		t.Skip("MAYFLY_POSTGRES names no PostgreSQL")
	}
	return server
}

// sharedDatabase makes a database for the test and returns its address.
func sharedDatabase(t *testing.T) string {
	t.Helper()
	server := postgresAddress(t)
	at, err := url.Parse(server)
	must(t, err)
	name := strings.ToLower(fmt.Sprintf("mayfly_%s_%d", strings.ReplaceAll(t.Name(), "/", "_"), os.Getpid()))
	execute := func(sql string) {
		if out, err := exec.Command("psql", "-c", sql, server).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", sql, err, out)
		}
	}
	execute("CREATE DATABASE " + name)
	t.Cleanup(func() { execute("DROP DATABASE " + name + " WITH (FORCE)") })
	at.Path = "/" + name
	return at.String()
}

// spread listens on a port, which it returns, and passes each TCP connection to the next of the given
// ports in turn.
func spread(t *testing.T, ports ...int) int {
	t.Helper()
	port, err := FreePort()
	must(t, err)
	ln, err := net.Listen("tcp", at(port))
	must(t, err)
	var open sync.Map
	var work sync.WaitGroup
	var next atomic.Int64
	work.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", at(ports[int(next.Add(1))%len(ports)]))
			if err != nil { // it is being started again
				client.Close()
				continue
			}
			for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
				open.Store(from, nil)
				work.Go(func() {
					_, _ = io.Copy(to, from) // one of the two has ended
					from.Close()
					to.Close()
					open.Delete(from)
				})
			}
		}
	})
	t.Cleanup(func() {
		ln.Close()
		open.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		work.Wait()
	})
	return port
}

// chooseScenarios removes all scenarios from list that the variable MAYFLY_SCENARIOS does not name. If the
// variable is not set, it removes none and returns false.
func chooseScenarios(list map[string][]string) bool {
	names := os.Getenv("MAYFLY_SCENARIOS")
	if names == "" {
		return false
	}
	maps.DeleteFunc(list, func(name string, _ []string) bool {
		return !slices.Contains(strings.Split(names, ","), name)
	})
	return true
}

// keptLocks maps the scenarios that may fail with several servers to a part of their error text: the locks
// of a server that was killed last until their time is over.
var keptLocks = map[string]string{"restart-session": "session-cannot-be-locked"}

// outcomesOfServers runs a scenario program whose requests go to several servers, and checks the result of
// each scenario in list. passed is the number of scenarios that succeeded, and refused the number of those
// that failed because the clock of several servers cannot be moved.
func outcomesOfServers(t *testing.T, runner *exec.Cmd, list map[string][]string) (passed, refused int) {
	t.Helper()
	out, _ := runner.CombinedOutput() // it fails because of the clock
	left := maps.Clone(list)
	for line := range strings.Lines(string(out)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, why, _ := strings.Cut(rest, ":")
		switch {
		case word == "ok":
			passed++
		case word == "FAIL" && strings.Contains(why, "_mayfly/clock") && strings.Contains(why, ": 403"):
			refused++
		case word == "FAIL" && keptLocks[name] != "" && strings.Contains(why, keptLocks[name]):
		case word == "FAIL":
			t.Error(strings.TrimSpace(line))
		case word != "no-api":
			continue
		}
		delete(left, name)
	}
	if len(left) > 0 {
		t.Errorf("%v did not run:\n%s", slices.Sorted(maps.Keys(left)), out)
	}
	return passed, refused
}

func TestScenariosOfOneDatabase(t *testing.T) { runOfOneDatabase(t, "Go", "http", "https") }

// TestJavaScenariosOfOneDatabase runs the Java scenarios on two servers that share one database. It is a
// separate test because it takes several minutes, most of them in direct mode, and because Maven downloads
// the SDK in the first run.
func TestJavaScenariosOfOneDatabase(t *testing.T) {
	runOfOneDatabase(t, "Java", "http", "https", "direct", "balanced")
}

// runOfOneDatabase runs the scenarios of a language on two servers that share one PostgreSQL database, by
// each of these ways:
//
//	http      over HTTP; each request goes to another server than the one before it
//	https     over HTTPS; each request goes to another server than the one before it
//	direct    direct mode: a range has replicas on both servers; requests over HTTPS go to the servers in turn
//	balanced  direct mode, in which each connection goes to another server than the one before it, and each
//	          client has connections of its own
func runOfOneDatabase(t *testing.T, language string, ways ...string) {
	s := suites[slices.IndexFunc(suites, func(s scenarioProgram) bool { return s.name == language })]
	postgresAddress(t)
	runnable(t, s)
	list := scenarioList(t, "scenarios.md")
	only := chooseScenarios(list)
	argv := s.prepare(t)
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			more := []string{}
			if only {
				more = append(more, "--only", strings.Join(slices.Sorted(maps.Keys(list)), ","))
			}
			runOnTwoServers(t, s, slices.Concat(argv, more), list, way)
		})
	}
}

// runOnTwoServers runs the scenarios of a language's SDK against two servers that share a new database, with
// requests distributed between them. argv is the command of the scenario program, list the scenarios. way
// says how clients connect: "http" or "https", or in direct mode as "direct", or as "balanced", which passes
// connections on by a TCP proxy instead of an HTTP proxy.
func runOnTwoServers(t *testing.T, s scenarioProgram, argv []string, list map[string][]string, way string) {
	database := sharedDatabase(t)
	const ranges = "5"
	open := func() *Server {
		return start(t, "--data", t.TempDir(), "--virtual-clock", "--engine", database, "--ranges", ranges)
	}
	a, b := open(), open()
	args := append(argv[1:], "--ranges", ranges, "--control", control(t, a), "--running-clock")
	scheme := way
	direct := way == "direct" || way == "balanced"
	if direct {
		scheme, args = "https", append(args, "--direct")
	}
	front := &roundRobinProxy{served: make([]atomic.Int64, 2)}
	if way == "balanced" {
		front.port, args = spread(t, a.Port, b.Port), append(args, "--separate")
	} else {
		front = takeTurns(t, scheme, a, b)
	}
	args = append(args, "--endpoint", (&Server{Port: front.port}).URL(scheme))
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], args...)
	cmd.Env = os.Environ()
	if scheme == "https" {
		cmd.Env = append(cmd.Env, s.trust(t, authority(a))...)
	}
	passed, refused := outcomesOfServers(t, cmd, list)
	t.Logf("%d scenarios passed, %d move the clock; the proxy passed on %d and %d requests", passed, refused,
		front.served[0].Load(), front.served[1].Load())
	if direct {
		first, second := loggedRequests(t, a, "direct"), loggedRequests(t, b, "direct")
		t.Logf("of the last requests, %d and %d came in direct mode", first, second)
		// The first server has been restarted, which empties its log. Few scenarios may use one connection.
		if second == 0 && os.Getenv("MAYFLY_SCENARIOS") == "" {
			t.Error("the second server got no requests in direct mode")
		}
	}
}

// loggedRequests returns how many requests of a protocol are in the log of a server's latest requests.
func loggedRequests(t *testing.T, s *Server, protocol string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		s.URL("http")+"_mayfly/requests?limit=1000&protocol="+protocol, nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+EmulatorKey)
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer res.Body.Close()
	var log struct {
		Requests []json.RawMessage `json:"requests"`
	}
	must(t, json.NewDecoder(res.Body).Decode(&log))
	return len(log.Requests)
}

func TestServiceBusOfOneDatabase(t *testing.T) {
	database := sharedDatabase(t)
	list := scenarioList(t, "servicebus.md")
	chooseScenarios(list)
	argv := goProgram("./servicebus/go")(t)
	open := func() serviceBusServer {
		return startBus(t, "--data", t.TempDir(), "--engine", database,
			"--servicebus-key", "RootManageSharedAccessKey:Manage:SAS_KEY_VALUE")
	}
	a, b := open(), open()
	front := serviceBusServer{Server: &Server{Port: spread(t, a.Port, b.Port)}, amqp: spread(t, a.amqp,
		b.amqp),
		admin: spread(t, a.admin, b.admin), tls: spread(t, a.tls, b.tls)}
	ctx, cancel := context.WithTimeout(t.Context(), busTime)
	defer cancel()
	args := slices.Concat(argv[1:], front.flags(), []string{"--control", control(t, a.Server),
		"--running-clock", "--only", strings.Join(slices.Sorted(maps.Keys(list)), ",")})
	cmd := exec.CommandContext(ctx, argv[0], args...)
	cmd.Env = append(os.Environ(), trustByFile(t, a.certificate(t))...)
	passed, refused := outcomesOfServers(t, cmd, list)
	t.Logf("%d scenarios passed, %d move the clock", passed, refused)
}
