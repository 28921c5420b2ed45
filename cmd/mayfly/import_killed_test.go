package main

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mayflydb/mayfly/internal/seed"
)

// blockingImportProxy is an HTTP proxy in front of a server, which can be replaced by another one. It lets
// a given number of requests with documents pass. The next one waits until the channel open is closed, and
// then fails.
type blockingImportProxy struct {
	*httptest.Server
	host    atomic.Pointer[string]
	left    atomic.Int64
	waiting chan struct{} // a request does
	open    chan struct{}
}

func newBlockingImportProxy(t *testing.T, b *mayflyServerUnderTest, left int64) *blockingImportProxy {
	t.Helper()
	v := &blockingImportProxy{waiting: make(chan struct{}, 100), open: make(chan struct{})}
	v.host.Store(&b.host)
	v.left.Store(left)
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // only then the end of the connection is seen
		if err != nil {
			return
		}
		if strings.HasSuffix(r.URL.Path, "/import") && v.left.Add(-1) < 0 {
			v.waiting <- struct{}{}
			select {
			case <-r.Context().Done():
			case <-v.open:
				panic(http.ErrAbortHandler)
			}
			return
		}
		v.pass(w, r, body)
	}))
	t.Cleanup(v.Close)
	return v
}

// pass forwards a request with the given body to the server and copies the response. If the server does not
// answer, pass aborts the connection of the client.
func (v *blockingImportProxy) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	req := r.Clone(r.Context())
	req.RequestURI, req.URL.Scheme, req.URL.Host = "", "http", *v.host.Load()
	req.Body = io.NopCloser(bytes.NewReader(body))
	res, err := client(nil).Do(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(answer) // the client may be gone
}

// TestKilledStoreImport kills an import of a whole store several times and continues it. In the end every
// document is there exactly once.
func TestKilledStoreImport(t *testing.T) {
	t.Parallel()
	source := stocked(t, 900)
	source.must(t, 201, "POST", "/dbs/db/colls", `{"id":"d","partitionKey":{"paths":["/pk"]}}`)
	many(t, source, "d", 700)
	want := source.exported(t)
	target := boot(t, "--memory")
	v := newBlockingImportProxy(t, target, 0)
	args := []string{"import", want, "--continue", "--url", v.URL}
	for stop := range 5 {
		v.left.Store(int64(stop%3) + 1)
		proc := exec.Command(os.Args[0], args...)
		var told bytes.Buffer
		proc.Stdout, proc.Stderr = &told, &told
		if err := proc.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- proc.Wait() }()
		select {
		case <-v.waiting:
		case err := <-ended:
			t.Fatalf("it has ended by itself: %v %s", err, &told)
		}
		if err := proc.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-ended
	}
	v.left.Store(1000)
	code, out, errs := mayfly(t, args...)
	if code != 0 || !strings.HasPrefix(out, "1600 documents imported, 0 were there") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	sameFolders(t, want, target.exported(t))
	if notes, err := filepath.Glob(filepath.Join(want, "*/*/*.imported")); err != nil || len(notes) != 0 {
		t.Errorf("left: %v %v", notes, err)
	}
}

// TestImportWhileServerIsKilled kills the server in the middle of an import. After a restart with the data,
// the import continues with --continue; on a server that has lost them, it starts from the beginning.
func TestImportWhileServerIsKilled(t *testing.T) {
	t.Parallel()
	source := boot(t, "--memory")
	source.makeContainer(t)
	many(t, source, "c", 1500)
	want := source.exported(t)
	for _, kept := range []bool{true, false} {
		where := []string{"--data", t.TempDir()}
		if !kept {
			where = []string{"--memory"}
		}
		target := spawn(t, where...)
		v := newBlockingImportProxy(t, target, 7)
		died := make(chan struct{})
		go func() {
			defer close(died)
			<-v.waiting
			if err := target.proc.Process.Kill(); err != nil {
				t.Error(err)
			}
			close(v.open)
		}()
		code, out, errs := mayfly(t, "import", want, "--url", v.URL)
		<-died
		if code != exitFailed || !strings.Contains(errs, "--continue goes on there") {
			t.Fatalf("%d %s%s", code, out, errs)
		}
		_ = target.proc.Wait() // it was killed
		again := spawn(t, where...)
		v.host.Store(&again.host)
		v.left.Store(1000)
		code, out, errs = mayfly(t, "import", want, "--continue", "--url", v.URL)
		if code != 0 || !strings.HasPrefix(out, "1500 documents imported, 0 were there") {
			t.Errorf("%d %s%s", code, out, errs)
		}
		sameFolders(t, want, again.exported(t))
	}
}

// TestKilledStoreExport kills an export of a whole store several times and continues it. Until it is
// complete, its folder cannot be imported as a seed; then the folder equals that of an uninterrupted
// export.
func TestKilledStoreExport(t *testing.T) {
	t.Parallel()
	b := stocked(t, 3500)
	want := b.exported(t)
	to := filepath.Join(t.TempDir(), "export")
	for n, pages := range []int64{5, 1, 1, 1} { // of nine
		args := []string{"--to", to}
		if n > 0 {
			args = append(args, "--continue")
		}
		killedExport(t, b, pages, args...)
		b.refuses(t, exitFailed, "was not completed", "import", to)
	}
	b.run(t, "export", "--to", to, "--continue")
	sameFolders(t, want, to)
	b.must(t, 204, "DELETE", "/dbs/Shop", "")
	gone := filepath.Join(t.TempDir(), "export")
	if err := os.CopyFS(gone, os.DirFS(to)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(gone, seed.UnfinishedMarker), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.refuses(t, exitFailed, "the server has no more", "export", "--to", gone, "--continue")
}
