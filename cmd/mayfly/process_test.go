package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/mayflydb/mayfly/httpapi"
)

// halfway sends a request that creates a document, but not the last byte of its body. The returned
// function sends this byte and returns the status of the response.
func halfway(t *testing.T, b *mayflyServerUnderTest) (finish func() (int, error)) {
	t.Helper()
	conn, err := net.Dial("tcp", b.host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	body := `{"id":"late","pk":"a"}`
	_, err = fmt.Fprintf(conn, "POST /dbs/db/colls/c/docs HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
		b.host, httpapi.EmulatorKey, len(body))
	if err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	// The server says "100 Continue" when a handler has begun to read the body.
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := answers.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, body[:len(body)-1]); err != nil {
		t.Fatal(err)
	}
	return func() (int, error) {
		if _, err := io.WriteString(conn, body[len(body)-1:]); err != nil {
			return 0, err
		}
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		return res.StatusCode, nil
	}
}

// terminate sends SIGTERM to the server's process and waits until it accepts no more connections.
func (b *mayflyServerUnderTest) terminate(t *testing.T) {
	t.Helper()
	if err := b.proc.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for {
		conn, err := net.Dial("tcp", b.host)
		if err != nil {
			return
		}
		conn.Close()
	}
}

// TestGracefulShutdown checks that a request that is running when the server gets SIGTERM is answered, and
// that its write is stored.
func TestGracefulShutdown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := spawn(t, "--data", dir)
	b.makeContainer(t)
	finish := halfway(t, b)
	b.terminate(t)
	if status, err := finish(); status != 201 {
		t.Errorf("the request under way: %d, %v", status, err)
	}
	if err := b.proc.Wait(); err != nil {
		t.Errorf("the exit: %v\n%s", err, b.stderr)
	}
	b = spawn(t, "--data", dir)
	b.must(t, 200, "GET", "/dbs/db/colls/c/docs/late", "", "x-ms-documentdb-partitionkey", `["a"]`)
}

// TestSecondSignal checks that a second SIGTERM ends the server at once, although a request is still
// running.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	b := spawn(t, "--memory")
	b.makeContainer(t)
	halfway(t, b)
	b.terminate(t)
	if err := b.proc.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := b.proc.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("the exit: %v", err)
	}
}

// TestSecondServerOnFolder checks that a second server on the same data folder is refused with the id of the
// first process, and that the first server continues.
func TestSecondServerOnFolder(t *testing.T) {
	dir := t.TempDir()
	b := spawn(t, "--data", dir)
	by := "another process:"
	if runtime.GOOS == "linux" {
		by = fmt.Sprintf("another process (%d):", b.proc.Process.Pid)
	}
	code, _, errs := mayfly(t, "serve", "--port", "0", "--data", dir)
	if code != exitLocked || !strings.Contains(errs, "the data folder "+dir+" is in use by "+by) {
		t.Errorf("%d %s", code, errs)
	}
	b.makeContainer(t)
}

// TestDataFolderAfterKill checks that the data folder of a killed server has no violations and can be opened
// again with all data.
func TestDataFolderAfterKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := spawn(t, "--data", dir)
	b.makeContainer(t)
	b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"1","pk":"a"}`)
	if err := b.proc.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := b.proc.Wait(); err == nil {
		t.Error("killed, but the exit code is 0")
	}
	if code, out, errs := mayfly(t, "check", dir); code != 0 ||
		!strings.HasPrefix(out, "format 3\n1 database, 1 container, 1 document: 0 violations") {
		t.Errorf("check: %d %s%s", code, out, errs)
	}
	b = spawn(t, "--data", dir)
	b.must(t, 200, "GET", "/dbs/db/colls/c/docs/1", "", "x-ms-documentdb-partitionkey", `["a"]`)
}
