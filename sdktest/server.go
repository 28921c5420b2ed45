// Package sdktest tests Mayfly from outside: it builds the binary, runs it as a process, and uses it through
// the official, unmodified SDKs. It is a separate module, so that the SDKs are no dependencies of Mayfly. It
// depends only on Mayfly's command line and protocols, not on its packages.
//
//	go test ./...                 all tests, a few minutes
//	MAYFLY_BIN=path go test ./... the same, with an existing binary
//	go test -v -run TestScenarios the scenarios of scenarios.md in each language, and their numbers
//	go test -run TestScenarios/JavaScript/http-5
//
// A program for each language runs the scenarios; the sources are in the folders go, js, python, java and
// rust. The program for .NET is not in the repository: the variable MAYFLY_DOTNET_SCENARIOS has its path. A
// language whose tools are missing is skipped; with CI=true its test fails, except that .NET is skipped if
// the variable is not set. The folder emulator, a separate module, runs the emulator tests of the SDK for Go.
// The folder upstream has what is needed to run the tests that ship with other SDKs, and the lists of those
// that are expected to fail; they run with the build tag upstream.
package sdktest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// EmulatorKey is the public master key of every Cosmos DB emulator.
const EmulatorKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// startTime is the time within which a server must become ready, stopTime the time within which it must end.
const (
	startTime = time.Minute
	stopTime  = 20 * time.Second
)

// Build returns the path of the mayfly binary: the one in the variable MAYFLY_BIN, or else a binary that it
// builds in the folder dir.
func Build(dir string) (string, error) {
	if bin := os.Getenv("MAYFLY_BIN"); bin != "" {
		return filepath.Abs(bin)
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/mayflydb/mayfly").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	bin := filepath.Join(dir, "mayfly")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/mayfly")
	cmd.Dir = strings.TrimSpace(string(root))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return bin, nil
}

// RunTests builds the server in a temporary folder, sets *binary to its path, and calls run, the method Run
// of a testing.M. It returns the exit code of the tests.
func RunTests(binary *string, run func() int) int {
	dir, err := os.MkdirTemp("", "mayfly-sdktest-")
	if err == nil {
		defer os.RemoveAll(dir)
		*binary, err = Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}

// Server runs a mayfly process. After it has ended, another one can be started on the same port. The exported
// fields are set before Start.
type Server struct {
	Bin  string
	Host string   // the address to listen on; "": localhost
	Port int      // 0: a free port, which stays the same across restarts
	Args []string // arguments of mayfly serve, without --host and --port

	cmd    *exec.Cmd
	output syncBuffer
	exited chan struct{}
	err    error // the error of the last process; set before exited is closed
}

// Start runs the server and returns when it is ready.
func (s *Server) Start(ctx context.Context) error {
	if s.Port == 0 {
		port, err := FreePort()
		if err != nil {
			return err
		}
		s.Port = port
	}
	args := []string{"serve", "--port", strconv.Itoa(s.Port)}
	if s.Host != "" {
		args = append(args, "--host", s.Host)
	}
	s.cmd = exec.Command(s.Bin, append(args, s.Args...)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	if err := s.cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	s.exited = exited
	go func() {
		s.err = s.cmd.Wait()
		close(exited)
	}()
	if err := s.ready(ctx); err != nil {
		return errors.Join(err, s.Kill(), errors.New(s.Output()))
	}
	return nil
}

// ready polls the server until it reports that it is ready.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL("http")+"_mayfly/readyz", nil)
		if err != nil {
			return err
		}
		if res, err := client.Do(req); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server did not become ready: %w", ctx.Err())
		case <-s.exited:
			return fmt.Errorf("the server ended: %w", s.err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Stop ends the server with SIGTERM. It fails unless the process exits with code 0 within stopTime.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-s.exited:
		return s.err
	case <-time.After(stopTime):
		return errors.Join(fmt.Errorf("the server did not stop within %v", stopTime), s.Kill())
	}
}

// Kill ends the process at once with SIGKILL, so that it cannot finish anything, and waits until it has
// ended.
func (s *Server) Kill() error {
	err := s.cmd.Process.Kill()
	<-s.exited
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Signal sends a signal to the process.
func (s *Server) Signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// Running reports whether the process is running.
func (s *Server) Running() bool {
	if s.exited == nil {
		return false
	}
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// URL returns the endpoint for the scheme http or https, with a slash at its end.
func (s *Server) URL(scheme string) string {
	return scheme + "://" + net.JoinHostPort(cmp.Or(s.Host, "localhost"), strconv.Itoa(s.Port)) + "/"
}

// Output returns everything that the processes have printed so far.
func (s *Server) Output() string { return s.output.String() }

// The ports of servers are below the range from which kernels choose ports of clients. So no connection of
// another test can take a port between the call of FreePort and the start of the server.
const (
	firstPort = 12_000
	lastPort  = 31_000
)

// nextPort is the port at which the next search for a free port begins. It only rises, so that FreePort never
// returns the same port twice in a run.
var nextPort atomic.Int64

// PID returns the process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// FreePort returns a port on which no process listens and which it has not returned before.
func FreePort() (int, error) {
	nextPort.CompareAndSwap(0, int64(firstPort+os.Getpid()%(lastPort-firstPort-2000)))
	for {
		port := int(nextPort.Add(1))
		if port > lastPort {
			return 0, errors.New("sdktest: no port is free")
		}
		ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue // another process listens on this port
		}
		return port, ln.Close()
	}
}

// syncBuffer is a buffer that a process writes to while a test reads it.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
