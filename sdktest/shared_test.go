package sdktest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
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

// sharedDatabase creates a PostgreSQL database for the test and returns its URL. It skips the test if
// MAYFLY_POSTGRES is not set.
func sharedDatabase(t *testing.T) string {
	t.Helper()
	server := os.Getenv("MAYFLY_POSTGRES")
	if server == "" {
		t.Skip("MAYFLY_POSTGRES names no PostgreSQL")
	}
	at, err := url.Parse(server)
	must(t, err)
	name := strings.ToLower(fmt.Sprintf("mayfly_%s_%d", t.Name(), os.Getpid()))
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

// roundRobinProxy is an HTTP proxy that passes each request to the next of several servers in turn.
// Passing on whole connections would not be enough, since a client sends most requests over one
// connection.
type roundRobinProxy struct {
	port   int            // that clients use
	served []atomic.Int64 // requests of each server
}

func takeTurns(t *testing.T, servers ...*Server) *roundRobinProxy {
	t.Helper()
	var next atomic.Int64
	front := &roundRobinProxy{served: make([]atomic.Int64, len(servers))}
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	proxy := &http.Server{Handler: &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			i := int(next.Add(1)) % len(servers)
			front.served[i].Add(1)
			r.Out.URL.Scheme, r.Out.URL.Host = "http", at(servers[i].Port)
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			panic(http.ErrAbortHandler) // the client loses its connection, as it would without the proxy
		},
	}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	front.port = ln.Addr().(*net.TCPAddr).Port
	done := make(chan error, 1)
	go func() { done <- proxy.Serve(ln) }()
	t.Cleanup(func() {
		proxy.Close()
		<-done
		transport.CloseIdleConnections()
	})
	return front
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

func TestScenariosOfOneDatabase(t *testing.T) { runOfOneDatabase(t, "Go") }

// TestJavaScenariosOfOneDatabase runs the Java scenarios on two servers that share one database. It is a
// separate test because it takes minutes, and because Maven downloads the SDK in the first run.
func TestJavaScenariosOfOneDatabase(t *testing.T) { runOfOneDatabase(t, "Java") }

// runOfOneDatabase runs the scenarios of a language on two servers that share one PostgreSQL database. The
// requests go to the two servers alternately.
func runOfOneDatabase(t *testing.T, language string) {
	s := suites[slices.IndexFunc(suites, func(s scenarioSuite) bool { return s.name == language })]
	database := sharedDatabase(t)
	runnable(t, s)
	list := scenarioList(t, "scenarios.md")
	only := chooseScenarios(list)
	argv := s.prepare(t)
	const ranges = "5"
	open := func() *Server {
		return start(t, "--data", t.TempDir(), "--virtual-clock", "--engine", database, "--ranges", ranges)
	}
	a, b := open(), open()
	front := takeTurns(t, a, b)
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	args := append(argv[1:], "--endpoint", (&Server{Port: front.port}).URL("http"), "--ranges", ranges,
		"--control", control(t, a), "--running-clock")
	if only {
		args = append(args, "--only", strings.Join(slices.Sorted(maps.Keys(list)), ","))
	}
	passed, refused := outcomesOfServers(t, exec.CommandContext(ctx, argv[0], args...), list)
	t.Logf("%d scenarios passed, %d move the clock; the servers got %d and %d requests", passed, refused,
		front.served[0].Load(), front.served[1].Load())
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
