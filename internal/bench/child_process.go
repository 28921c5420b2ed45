package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// AnswerCPU runs in the process of a measured server. It prints the server's address. Then, for each line
// that it reads from in, it prints the CPU time that the process has used, in nanoseconds (-1 if the system
// does not report it). It returns when its input ends, so that the server never outlives the bench.
func AnswerCPU(address net.Addr, in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, address); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		cpu, ok := processCPU()
		if !ok {
			cpu = -1
		}
		if _, err := fmt.Fprintln(out, cpu.Nanoseconds()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// StartEmpty starts the empty server, with which servers are compared: it sends the response in file to
// every request.
func StartEmpty(ctx context.Context, file string) (net.Addr, func(context.Context) error, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	var a cannedResponse
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, nil, err
	}
	e := echo.New()
	e.GET("/*", func(c echo.Context) error {
		maps.Copy(c.Response().Header(), a.Header)
		return c.Blob(http.StatusOK, a.Header.Get("Content-Type"), a.Body)
	})
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return nil, nil, err
	}
	server := &http.Server{Handler: e}
	return ln.Addr(), func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, func() { _ = server.Close() })
		defer stop()
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, nil
}

// loopback is the address on which the servers listen that the benchmark starts.
const loopback = "127.0.0.1"

// childProcess is a child process that runs this binary. It is killed at the latest when the context of
// startChild ends.
type childProcess struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr strings.Builder
}

// startChild starts a child. The user's MAYFLY_ variables are not passed on.
func startChild(ctx context.Context, args ...string) (*childProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &childProcess{cmd: exec.CommandContext(ctx, self, args...)}
	c.cmd.Env = slices.DeleteFunc(os.Environ(),
		func(v string) bool { return strings.HasPrefix(v, "MAYFLY_") })
	c.cmd.Stderr = &c.stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	return c, c.cmd.Start()
}

// line reads the child's next line.
func (c *childProcess) line() (string, error) {
	text, err := c.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("a server that was started said nothing: %w", err)
	}
	return strings.TrimSpace(text), nil
}

// end waits until the process has ended. The caller must have closed its input or interrupted it before.
func (c *childProcess) end() error {
	_, _ = io.Copy(io.Discard, c.out) // the pipe must be empty before Wait closes it
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("the server ended with %w: %s", err, strings.TrimSpace(c.stderr.String()))
	}
	return nil
}

// benchServer is a measured server, started by `mayfly bench server`.
type benchServer struct {
	*childProcess
	address string
	counts  bool // the system reports its CPU time
	conns   []*rawHTTPConn
}

func startBenchServer(ctx context.Context, kind, arg string) (*benchServer, error) {
	c, err := startChild(ctx, "bench", "server", kind, arg)
	if err != nil {
		return nil, err
	}
	s := &benchServer{childProcess: c}
	if s.address, err = c.line(); err == nil {
		_, err = s.cpu()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// cpu returns the CPU time that the server has used.
func (s *benchServer) cpu() (time.Duration, error) {
	if _, err := fmt.Fprintln(s.in); err != nil {
		return 0, err
	}
	text, err := s.line()
	if err != nil {
		return 0, err
	}
	var n int64
	_, err = fmt.Sscan(text, &n)
	s.counts = n >= 0
	return time.Duration(n), err
}

// Close ends the server.
func (s *benchServer) Close() error {
	for _, w := range s.conns {
		_ = w.conn.Close()
	}
	_ = s.in.Close()
	return s.end()
}
