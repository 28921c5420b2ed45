package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly/httpapi"
)

// TestMain runs the tests. In a process whose environment has the variable asMain it runs `mayfly` itself
// instead, so that tests can start the command as a process from their own binary.
func TestMain(m *testing.M) {
	const threads, asMain = "GOMAXPROCS", "TEST_BINARY_IS_MAYFLY"
	if os.Getenv(asMain) != "" {
		os.Unsetenv(threads)
		main()
	}
	os.Setenv(asMain, "1")
	debug.SetGCPercent(400)
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	// With this variable serve does not add threads to its process. Servers that overlap in the process of
	// the tests would each double what the others have added.
	os.Setenv(threads, strconv.Itoa(runtime.GOMAXPROCS(0)))
	goleak.VerifyTestMain(m)
}

// mayflyServerUnderTest is a Mayfly server that a test has started with `mayfly serve`, either in the process
// of the test (boot) or in a process of its own (spawn).
type mayflyServerUnderTest struct {
	host   string // localhost:port
	greet  string // what it printed first
	proc   *exec.Cmd
	stderr *lockedBuffer
	cancel context.CancelFunc
	code   chan int
}

// boot runs `mayfly serve` in the process of the test, on any free port. The server runs until stop is
// called or the test ends.
func boot(t *testing.T, args ...string) *mayflyServerUnderTest {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b := &mayflyServerUnderTest{stderr: &lockedBuffer{}, cancel: cancel, code: make(chan int, 1)}
	read, write := io.Pipe()
	go func() {
		code := execute(ctx, append([]string{"serve", "--port", "0"}, args...), write, b.stderr)
		b.code <- code
		write.Close()
	}()
	b.await(t, read)
	t.Cleanup(func() { b.stop(t) })
	return b
}

// spawn runs `mayfly serve` in a process of its own, on any free port, until the test ends.
func spawn(t *testing.T, args ...string) *mayflyServerUnderTest {
	t.Helper()
	b := &mayflyServerUnderTest{stderr: &lockedBuffer{}, proc: exec.Command(os.Args[0],
		append([]string{"serve", "--port", "0"}, args...)...)}
	b.proc.Stderr = b.stderr
	out, err := b.proc.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.proc.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if b.proc.ProcessState == nil {
			_ = b.proc.Process.Kill()
			_ = b.proc.Wait()
		}
	})
	b.await(t, out)
	return b
}

// await reads what the starting server prints on its standard output until the server is ready, and finds
// its port there.
func (b *mayflyServerUnderTest) await(t *testing.T, out io.Reader) {
	t.Helper()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		b.greet += lines.Text() + "\n"
		if m := regexp.MustCompile(`http://(localhost:\d+)/$`).FindStringSubmatch(lines.Text()); m != nil {
			b.host = m[1]
		}
		if strings.Contains(lines.Text(), "Ctrl+C") {
			go io.Copy(io.Discard, out) // until the server ends, which every test makes it do
			return
		}
	}
	t.Fatalf("the server did not start: %s%s", b.greet, b.stderr)
}

// stop stops a server that boot has started and returns its exit code.
func (b *mayflyServerUnderTest) stop(t *testing.T) int {
	t.Helper()
	b.cancel()
	code := <-b.code
	b.code <- code
	return code
}

// do sends a request that is authorized with the emulator's well-known key, and returns the status and the
// body of the response. headers are pairs of a name and a value.
func (b *mayflyServerUnderTest) do(t *testing.T, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	return b.ask(t, method, path, body, func(*http.Request) {}, headers...)
}

// ask sends a request that is authorized with the emulator's well-known key, after change has modified it,
// and returns the status and the body of the response. headers are pairs of a name and a value.
func (b *mayflyServerUnderTest) ask(t *testing.T, method, path, body string, change func(*http.Request),
	headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+b.host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+httpapi.EmulatorKey)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	change(req)
	return send(t, client(nil), req)
}

// must sends a request, returns the body of the response, and fails the test unless the response has the
// status want.
func (b *mayflyServerUnderTest) must(t *testing.T, want int, method, path, body string,
	headers ...string) string {
	t.Helper()
	got, text := b.do(t, method, path, body, headers...)
	if got != want {
		t.Fatalf("%s %s: %d, want %d: %s", method, path, got, want, text)
	}
	return text
}

// makeContainer creates database "db" with container "c", partitioned by /pk.
func (b *mayflyServerUnderTest) makeContainer(t *testing.T) {
	t.Helper()
	b.must(t, 201, "POST", "/dbs", `{"id":"db"}`)
	b.must(t, 201, "POST", "/dbs/db/colls", `{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`)
}

func client(conf *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: conf}}
}

func trusting(pem string) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(pem))
	return &tls.Config{RootCAs: pool}
}

func send(t *testing.T, c *http.Client, req *http.Request) (int, string) {
	t.Helper()
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// mayfly runs a command to its end and returns its exit code and output.
func mayfly(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// lockedBuffer is a buffer for log output that is safe for concurrent use, so that tests can read the log
// of a running server.
type lockedBuffer struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	written chan struct{} // closed by the next Write; nil: nobody waits
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.written != nil {
		close(b.written)
		b.written = nil
	}
	return b.buf.Write(p)
}

// await waits until the log contains text.
func (b *lockedBuffer) await(t *testing.T, text string) {
	t.Helper()
	for {
		b.mu.Lock()
		if b.written == nil {
			b.written = make(chan struct{})
		}
		there, written := strings.Contains(b.buf.String(), text), b.written
		b.mu.Unlock()
		if there {
			return
		}
		select {
		case <-written:
		case <-t.Context().Done():
			t.Fatalf("%q was not logged: %s", text, b)
		}
	}
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
