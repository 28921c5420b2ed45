package main

import (
	"crypto/tls"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/httpapi"
)

func TestServe(t *testing.T) {
	dir := t.TempDir()
	b := boot(t, "--data", dir)
	for _, want := range []string{"https://" + b.host + "/\n", "http://" + b.host + "/\n", dir,
		"AccountEndpoint=https://" + b.host + "/;AccountKey=" + httpapi.EmulatorKey + ";DisableServerCertificateValidation=true;\n",
		".NET         new CosmosClient(connection)\n", "new " +
			"CosmosClientBuilder().endpoint(endpoint).key(key)\n",
		setVariable(runtime.GOOS, "MAYFLY_URL", "http://"+b.host) + "\n",
		"key          " + httpapi.EmulatorKey + "\n", filepath.Join(dir, "tls", "cert.pem")} {
		if !strings.Contains(b.greet, want) {
			t.Errorf("the greeting does not say %q:\n%s", want, b.greet)
		}
	}
	if n := strings.Count(b.greet, httpapi.EmulatorKey); n != 2 {
		t.Errorf("the greeting has the key %d times", n)
	}
	for line := range strings.Lines(b.greet) {
		if len(line) > 81 && !strings.Contains(line, httpapi.EmulatorKey) && !strings.Contains(line, dir) {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
	b.must(t, 200, "GET", "/_mayfly/readyz", "")
	b.makeContainer(t)

	pem := b.must(t, 200, "GET", "/_explorer/emulator.pem", "")
	onDisk, err := os.ReadFile(filepath.Join(dir, "tls", "cert.pem"))
	if err != nil || string(onDisk) != pem {
		t.Errorf("the certificate on disk is not the one that is served: %v", err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+b.host+"/_mayfly/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := send(t, client(trusting(pem)), req); status != 200 {
		t.Errorf("over HTTPS: %d %s", status, body)
	}
	if code := b.stop(t); code != 0 {
		t.Errorf("exit code %d: %s", code, b.stderr)
	}
}

func TestRestartKeepsData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := boot(t, "--data", dir)
	b.makeContainer(t)
	b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"1","pk":"a"}`)
	pem := b.must(t, 200, "GET", "/_mayfly/cert.pem", "")
	was := b.must(t, 200, "GET", "/dbs/db/colls/c/docs/1", "", "x-ms-documentdb-partitionkey", `["a"]`)
	b.stop(t)

	b = boot(t, "--data", dir)
	if now := b.must(t, 200, "GET", "/dbs/db/colls/c/docs/1", "", "x-ms-documentdb-partitionkey", `["a"]`); now != was {
		t.Errorf("the document was %s and is %s", was, now)
	}
	if b.must(t, 200, "GET", "/_mayfly/cert.pem", "") != pem {
		t.Error("the certificate has changed")
	}
	b.stop(t)
	if code, out, errs := mayfly(t, "check", dir); code != 0 ||
		out != "format 3\n1 database, 1 container, 1 document: 0 violations\n" {
		t.Errorf("check: %d %s%s", code, out, errs)
	}
}

// TestPrivateFolder checks that files and folders that the server creates are accessible only to their
// owner, and that it warns if the existing data folder is accessible to others.
func TestPrivateFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	open, fresh := t.TempDir(), filepath.Join(t.TempDir(), "fresh")
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{open, fresh} {
		b := boot(t, "--data", dir)
		b.makeContainer(t)
		b.stop(t)
		if warned := strings.Contains(b.stderr.String(), "chmod 700"); warned != (dir == open) {
			t.Errorf("%s: a warning: %v\n%s", dir, warned, b.stderr)
		}
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 && path != open {
				t.Errorf("%s: %v", path, info.Mode())
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMemoryWritesNothing(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", "")
	b := boot(t, "--memory")
	b.makeContainer(t)
	b.stop(t)
	if names, err := os.ReadDir(home); err != nil || len(names) > 0 {
		t.Errorf("in the home folder: %v %v", names, err)
	}
}

func TestKeyIsNotPrinted(t *testing.T) {
	t.Parallel()
	const secret = "c2VjcmV0IGtleQ=="
	b := boot(t, "--memory", "--key", secret)
	if strings.Contains(b.greet+b.stderr.String(), secret) {
		t.Errorf("the key is in the output:\n%s", b.greet)
	}
	if status, _ := b.do(t, "GET", "/", ""); status != 401 {
		t.Errorf("with the emulator's key: %d", status)
	}
	b.must(t, 200, "GET", "/", "", "Authorization", "Bearer "+secret)
}

func TestNoAuth(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--no-auth")
	b.must(t, 200, "GET", "/", "", "Authorization", "")
}

// TestHostAndOriginHeaders checks which Host and Origin headers a server that listens on all addresses
// accepts: any IP address, the names given by --san and --advertise, and the origins given by --cors-origin.
func TestHostAndOriginHeaders(t *testing.T) {
	for name, way := range map[string][]string{"flag": {"--allow-well-known-key"}, "key": {"--key", "c2VjcmV0IGtleQ=="}, "variable": nil} {
		t.Run(name, func(t *testing.T) {
			if name == "variable" {
				t.Setenv("MAYFLY_ALLOW_WELL_KNOWN_KEY", "true")
			}
			t.Setenv("MAYFLY_CORS_ORIGIN", "https://page.example,https://other.example")
			b := boot(t, append(way, "--memory", "--host", "0.0.0.0", "--san", "mayfly.test", "--advertise", "https://proxy.test/")...)
			for host, want := range map[string]int{"": 200, "10.1.2.3:8081": 200, "mayfly.test": 200, "proxy.test:443": 200, "evil.example": 403} {
				if status, text := b.ask(t, "GET", "/_mayfly/livez", "", func(r *http.Request) { r.Host = host }); status != want {
					t.Errorf("%q: %d %s", host, status, text)
				}
			}
			for origin, want := range map[string]int{"https://page.example": 204, "https://other.example": 204, "http://localhost:1": 204, "https://evil.example": 403} {
				if status, text := b.do(t, "OPTIONS", "/dbs", "", "Origin", origin); status != want {
					t.Errorf("%q: %d %s", origin, status, text)
				}
			}
			if warned := strings.Contains(b.stderr.String(), "level=WARN"); warned == (name == "key") {
				t.Errorf("a warning: %v\n%s", warned, b.stderr)
			}
		})
	}
}

// TestAdvertisedHost checks that the address given by --advertise is printed at the start, and that the
// server's certificate is valid for its host.
func TestAdvertisedHost(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory", "--advertise", "https://mayfly.test:444/")
	if !strings.Contains(b.greet, "advertised   https://mayfly.test:444/\n") {
		t.Error(b.greet)
	}
	conf := trusting(b.must(t, 200, "GET", "/_mayfly/cert.pem", ""))
	conf.ServerName = "mayfly.test"
	conn, err := tls.Dial("tcp", b.host, conf)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// TestCORSWithoutKeyWarning checks that a server logs a warning if --cors-origin admits every web page and
// no secret key is set.
func TestCORSWithoutKeyWarning(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"--cors-origin *": true, "--cors-origin * --no-auth": true, "--cors-origin * --key c2VjcmV0": false, "--cors-origin https://a.test": false,
	} {
		b := boot(t, append(strings.Fields(args), "--memory")...)
		b.stop(t) // so that all of the log is there
		if got := strings.Contains(b.stderr.String(), "every web page"); got != want {
			t.Errorf("%s: a warning: %v\n%s", args, got, b.stderr)
		}
	}
}

func TestVirtualClock(t *testing.T) {
	t.Parallel()
	set := `{"freeze": true, "set": "2040-01-01T00:00:00Z"}`
	b := boot(t, "--memory")
	b.must(t, 403, "PUT", "/_mayfly/clock", set)
	b.stop(t)

	dir := t.TempDir()
	b = boot(t, "--data", dir, "--virtual-clock")
	b.must(t, 200, "PUT", "/_mayfly/clock", set)
	b.makeContainer(t)
	b.stop(t)
	b = boot(t, "--data", dir, "--virtual-clock")
	if got := b.must(t, 200, "GET", "/_mayfly/clock", ""); !strings.Contains(got, "2040-01-01T00:00:00Z") {
		t.Errorf("after a restart the clock says %s", got)
	}
	b.stop(t)
	// Years behind the data, the system's clock is refused, and the error says what helps.
	if code, _, errs := mayfly(t, "serve", "--port", "0", "--data", dir); code != exitFailed || !strings.Contains(errs, "--virtual-clock") {
		t.Errorf("with the system's clock: %d %s", code, errs)
	}
	if code, out, errs := mayfly(t, "check", dir); code != 0 {
		t.Errorf("check: %d %s%s", code, out, errs)
	}
}

func TestComputePort(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(portOf(taken))
	b := boot(t, "--memory", "--compute-port", port)
	if !strings.Contains(b.stderr.String(), "level=WARN") || !strings.Contains(b.stderr.String(), "port in use") {
		t.Errorf("the log: %s", b.stderr)
	}
	b.stop(t)
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	b = boot(t, "--memory", "--compute-port", port)
	b.must(t, 201, "POST", "/dbs", `{"id":"db"}`)
	b.host = "localhost:" + port
	b.must(t, 200, "GET", "/dbs/db", "")
}

// TestServeStartFailures checks that each cause for which `mayfly serve` cannot start has its exit code and
// an error of one line.
func TestServeStartFailures(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	open := t.TempDir()
	if err := os.Chmod(open, 0o700); err != nil { // no warning
		t.Fatal(err)
	}
	running := boot(t, "--data", open)
	_, port, _ := strings.Cut(running.host, ":")
	running.host = "127.0.0.1:" + port
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "not a folder")

	foreign := t.TempDir()
	write(t, filepath.Join(foreign, "holiday.jpg"), "something else")
	corrupt := used(t)
	damage(t, corrupt, "MANIFEST-*")
	newer := used(t)
	for _, name := range globbed(t, newer, "marker.format-version.*") {
		if err := os.Rename(name, filepath.Join(newer, "marker.format-version.000999.999")); err != nil {
			t.Fatal(err)
		}
	}
	fresh := filepath.Join(t.TempDir(), "fresh")

	for _, c := range []struct {
		name, says string
		code       int
		args       []string
	}{
		{"port in use", "port in use", exitPort, []string{"serve", "--data", fresh, "--port", fmt.Sprint(portOf(busy))}},
		{"no such address", "cannot listen", exitPort, []string{"serve", "--data", fresh, "--host", "192.0.2.1", "--key", "c2VjcmV0IGtleQ==", "--port", "0"}},
		{"port of a Mayfly", "a Mayfly server is running on " + running.host + " already (choose " +
			"another", exitPort,
			[]string{"serve", "--data", fresh, "--port", port}},
		{"folder in use", "in use by another process", exitLocked, []string{"serve", "--port", "0", "--data", open}},
		{"remedy for a folder in use", "stop that process, or choose another folder", exitLocked,
			[]string{"serve", "--port", "0", "--data", open}},
		{"check of a folder in use", "in use by another process", exitLocked, []string{"check", open}},
		{"corrupt folder", "corrupt", exitData, []string{"serve", "--port", "0", "--data", corrupt}},
		{"newer format", "newer format", exitData, []string{"serve", "--port", "0", "--data", newer}},
		{"foreign folder", "holiday.jpg", exitData, []string{"serve", "--port", "0", "--data", foreign}},
		{"check of an empty folder", "no data", exitData, []string{"check", t.TempDir()}},
		{"check of nothing", "no such file", exitFailed, []string{"check", fresh}},
		{"data below a file", "data folder", exitFailed, []string{"serve", "--port", "0", "--data", filepath.Join(file, "data")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := mayfly(t, c.args...)
			if code != c.code || !strings.Contains(errs, c.says) || !strings.HasPrefix(errs, "mayfly: ") || strings.Count(errs, "\n") != 1 || out != "" {
				t.Errorf("exit code %d, want %d; stdout %q; stderr %q, want one line with %q", code, c.code, out, errs, c.says)
			}
		})
	}
	if _, err := os.Stat(fresh); !os.IsNotExist(err) {
		t.Errorf("a start that was refused has left a folder: %v", err)
	}
}

// used returns a data folder that a server has used, with one empty container, and that no server has
// open.
func used(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	b := boot(t, "--data", dir)
	b.makeContainer(t)
	b.stop(t)
	return dir
}

func globbed(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return names
}

func damage(t *testing.T, dir, pattern string) {
	t.Helper()
	for _, name := range globbed(t, dir, pattern) {
		write(t, name, strings.Repeat("garbage ", 1000))
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
