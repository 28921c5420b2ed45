// Package sdktest proves Mayfly from outside: it builds the binary, runs it as a process and drives it with
// the official, unmodified Azure SDK for Go. It is a module of its own, so that the SDK is no dependency of
// the product, and it knows nothing of the product but its command line and its wire.
//
//	go test ./...                 everything, a few minutes
//	MAYFLY_BIN=path go test ./... against a binary that is there already
//	go test -v -run TestScenarios the scenarios of scenarios.md in each language, with the counts
//	go test -run TestScenarios/JavaScript/http-5
//
// The scenarios are programs of their own, in the folders go, js, python, java and rust; that for .NET is the
// file that MAYFLY_DOTNET_SCENARIOS names. A language whose tools are missing is skipped, and says so; with
// CI=true it fails, but for .NET where that variable is not set. The folder emulator runs the SDK's own
// emulator tests; it is a module of its own again. The folder upstream has what it takes to run the tests
// that ship with other SDKs, and lists of those that are expected to fail; with the build tag upstream they
// run.
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

// EmulatorKey is the master key that every Cosmos DB emulator is known to have.
const EmulatorKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// startTime is how long a server may take until it is ready. stopTime is how long it may take to end.
const (
	startTime = time.Minute
	stopTime  = 20 * time.Second
)

// Build returns the path of the mayfly binary: that of MAYFLY_BIN, else one built into dir.
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

// RunTests builds the server into a temporary folder, sets *binary to its path, and calls run, which is that of
// a testing.M. It returns the exit code.
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

// Server is one mayfly process after another on the same port. Its fields are set before Start.
type Server struct {
	Bin  string
	Host string   // the address that it listens on; "": localhost
	Port int      // 0: a free one, kept across restarts
	Args []string // of "serve", without --host and --port

	cmd    *exec.Cmd
	output syncBuffer
	exited chan struct{}
	err    error // of the last process, once exited is closed
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

// ready polls until the server says that it is.
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

// Stop ends the server with SIGTERM and fails unless it exits with code 0 in time.
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

// Kill ends the server as a power cut would, and waits for that.
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

// Running reports whether the process is alive.
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

// URL is the endpoint for a scheme, with a slash at its end.
func (s *Server) URL(scheme string) string {
	return scheme + "://" + net.JoinHostPort(cmp.Or(s.Host, "localhost"), strconv.Itoa(s.Port)) + "/"
}

// Output is all that the processes have printed.
func (s *Server) Output() string { return s.output.String() }

// The ports of servers lie below those that kernels give to clients, so that no connection of a suite that
// runs beside takes one between its choice and its use.
const (
	firstPort = 12_000
	lastPort  = 31_000
)

// nextPort is where the search for a free port goes on: no two servers of a run are given the same.
var nextPort atomic.Int64

// PID is the number of the process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// FreePort finds a port that nobody listens on and that nobody was given before.
func FreePort() (int, error) {
	nextPort.CompareAndSwap(0, int64(firstPort+os.Getpid()%(lastPort-firstPort-2000)))
	for {
		port := int(nextPort.Add(1))
		if port > lastPort {
			return 0, errors.New("sdktest: no port is free")
		}
		ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue // somebody listens there
		}
		return port, ln.Close()
	}
}

// syncBuffer is a buffer that a process writes while a test reads it.
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
