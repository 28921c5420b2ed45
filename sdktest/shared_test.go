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

// sharedDatabase makes a database for the test and returns its address.
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

// spread passes connections on to the ports in turn, and returns the port that clients use.
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

// roundRobinProxy passes HTTP requests on to servers in turn. A client sends most requests over one
// connection, so that spread would leave most of them to one server.
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

// chooseScenarios removes the scenarios that the variable MAYFLY_SCENARIOS does not name from a list, if it is
// set. It reports whether it is.
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

// keptLocks are scenarios that fail because the locks of a killed server last until their time is over, and
// how they fail.
var keptLocks = map[string]string{"restart-session": "session-cannot-be-locked"}

// outcomesOfServers is outcomes for a runner whose clients have several servers. A scenario that moves the
// clock fails, since several servers do not move it; it returns how many do.
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

// Its runner takes minutes, and the first time Maven brings the SDK.
func TestJavaScenariosOfOneDatabase(t *testing.T) { runOfOneDatabase(t, "Java") }

// runOfOneDatabase runs the scenarios of a language. Each request goes to another server than the one before
// it.
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
