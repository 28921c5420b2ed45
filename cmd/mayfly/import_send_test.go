package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mayflydb/mayfly/internal/metamorphic"
)

// crowded starts an HTTP proxy in front of the server at host that refuses a random quarter of the
// requests with status 429. It returns the address of the proxy and the number of requests refused so far.
func crowded(t *testing.T, host string, seed uint64) (address string, refused *int) {
	t.Helper()
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 33))
	refused = new(int)
	through := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: host})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		busy := r.IntN(4) == 0
		if busy {
			*refused++
		}
		mu.Unlock()
		if busy {
			w.Header().Set("X-Ms-Retry-After-Ms", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		// A proxy that still reads a request when its answer comes may lose that.
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		through.ServeHTTP(w, req)
	}))
	t.Cleanup(front.Close)
	return front.URL, refused
}

// TestImportWithDuplicateIDs checks that, if a file contains several documents with the same id, the last
// one is stored, even with many concurrent requests and a server that refuses some of them with 429.
func TestImportWithDuplicateIDs(t *testing.T) {
	t.Parallel()
	seed := metamorphic.FirstSeed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 32))
	b := boot(t, "--memory")
	b.makeContainer(t)
	var in strings.Builder
	last := map[int]int{}
	for line := range 3000 {
		id := r.IntN(700)
		last[id] = line
		spelled := fmt.Sprint(id)
		if r.IntN(2) == 0 { // another spelling of the same id
			spelled = fmt.Sprintf(`\u%04x%s`, spelled[0], spelled[1:])
		}
		fmt.Fprintf(&in, `{"id":"%s","pk":"x","line":%d}`+"\n", spelled, line)
	}
	front, refused := crowded(t, b.host, seed)
	code, out, errs := mayfly(
		t,
		"import",
		file(t, "in.ndjson", in.String()),
		"--parallel",
		"8",
		"--url",
		front,
		"--db",
		"db",
		"--container",
		"c",
	)
	if code != 0 || !strings.HasPrefix(out, "3000 documents imported") || moreThanProgress(errs) ||
		*refused == 0 {
		t.Fatalf("%d %s%s, %d requests refused", code, out, errs, *refused)
	}
	to := filepath.Join(t.TempDir(), "out")
	if code, _, errs := mayfly(
		t,
		"export",
		"--to",
		to,
		"--url",
		"http://"+b.host,
		"--db",
		"db",
		"--container",
		"c",
	); code != 0 {
		t.Fatal(errs)
	}
	lines := bytes.Split(bytes.TrimSpace(read(t, to)), []byte("\n"))
	if len(lines) != len(last) {
		t.Errorf("%d documents of %d", len(lines), len(last))
	}
	for _, l := range lines {
		var item struct {
			ID   string
			Line int
		}
		if err := json.Unmarshal(l, &item); err != nil {
			t.Fatalf("%s: %v", l, err)
		}
		if id, err := strconv.Atoi(item.ID); err != nil || item.Line != last[id] {
			t.Errorf("document %s is of line %d, not %d", item.ID, item.Line, last[id])
		}
	}
}

// TestImportWithThrottledRequests checks that an import gives up after 12 tries if the server answers 429
// each time, with an error that names the line in the file.
func TestImportWithThrottledRequests(t *testing.T) {
	t.Parallel()
	asked := 0
	full := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet { // what the container is called
			fmt.Fprint(w, `{"_rid":"r"}`)
			return
		}
		asked++
		w.Header().Set("X-Ms-Retry-After-Ms", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(full.Close)
	path := file(t, "in.ndjson", "\n"+`{"id":"1"}`+"\n")
	code, _, errs := mayfly(t, "import", path, "--url", full.URL, "--db", "db", "--container", "c")
	if code != exitFailed || !strings.Contains(errs, path+":2: ") || !strings.Contains(errs, "429") ||
		asked != 12 {
		t.Errorf("%d %s, asked %d times", code, errs, asked)
	}
}

// TestImportIntoAFullDisk checks that an import ends at the first document for which the server's disk is
// full, with the exit code of a full disk, and can be continued later.
func TestImportIntoAFullDisk(t *testing.T) {
	t.Parallel()
	room, requests := 150, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet { // what the container is called
			fmt.Fprint(w, `{"_rid":"r"}`)
			return
		}
		requests++
		var question struct{ Documents []json.RawMessage }
		if err := json.NewDecoder(req.Body).Decode(&question); err != nil {
			t.Error(err)
		}
		results := make([]map[string]any, len(question.Documents))
		for n := range results {
			results[n] = map[string]any{"statusCode": 201}
			if room--; room < 0 {
				results[n] = map[string]any{"statusCode": 507, "message": "The disk is full."}
			}
		}
		if err := json.NewEncoder(w).Encode(results); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	path := file(t, "in.ndjson", strings.Repeat(`{"x":1}`+"\n", 1000))
	args := []string{"import", path, "--url", server.URL, "--db", "db", "--container", "c"}
	code, out, errs := mayfly(t, args...)
	const told = ":151: 507 The disk is full. The import ends here: make room first " +
		"(150 documents were imported before; --continue goes on there)\n"
	if code != exitDisk || out != "" || !strings.HasSuffix(errs, told) || requests != 2 {
		t.Errorf("%d %s%s, %d requests", code, out, errs, requests)
	}
	room = 1000
	code, out, errs = mayfly(t, append(args, "--continue")...)
	if code != 0 || !strings.HasPrefix(out, "1000 documents imported") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

// TestContinueImportWithUnknownContainer checks that a continued import fails if the server does not say
// whether the container is still the same one, and that its progress file is kept.
func TestContinueImportWithUnknownContainer(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(silent.Close)
	const text = `{"id":"1"}` + "\n"
	path := file(t, "in.ndjson", text)
	note := noteOfImport(t, path, silent.URL, "known", len(text), 1)
	code, _, errs := mayfly(t, "import", path, "--continue", "--url", silent.URL, "--db", "db", "--container", "c")
	if left, err := os.ReadFile(path + ".imported"); code != exitFailed || !strings.Contains(errs, "502") ||
		string(left) != note || err != nil {
		t.Errorf("%d %s: %s %v", code, errs, left, err)
	}
}

// noteOfImport writes the progress file of an interrupted import of the file at path into db/c, as if the
// given number of documents had been imported, and returns its content. identity identifies the container.
func noteOfImport(t *testing.T, path, url, identity string, size, documents int) string {
	t.Helper()
	note := fmt.Sprintf(`{"url":%q,"container":"db/c","identity":%q,"size":%d,"documents":%[4]d,"sent":%[4]d,`+
		`"imported":%[4]d,"there":0,"refused":0}`, url, identity, size, documents)
	if err := os.WriteFile(path+".imported", []byte(note), 0o600); err != nil {
		t.Fatal(err)
	}
	return note
}

// TestContinueImportIntoRecreatedContainer checks that --continue continues an import only if the container
// is the one that the import began with. For another container of the same name the import starts from the
// beginning.
func TestContinueImportIntoRecreatedContainer(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	var in strings.Builder
	for i := range 300 {
		fmt.Fprintf(&in, `{"id":"%d","pk":"x"}`+"\n", i)
	}
	path := file(t, "in.ndjson", in.String())
	noteOfImport(t, path, "http://"+b.host, "of a server that is gone", in.Len(), 200)
	code, out, errs := mayfly(
		t,
		"import",
		path,
		"--continue",
		"--url",
		"http://"+b.host,
		"--db",
		"db",
		"--container",
		"c",
	)
	if code != 0 || !strings.HasPrefix(out, "300 documents imported") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if _, out, _ := mayfly(
		t,
		"query",
		"SELECT VALUE COUNT(1) FROM c",
		"--ndjson",
		"--url",
		"http://"+b.host,
		"--db",
		"db",
		"--container",
		"c",
	); out != "300\n" {
		t.Error(out)
	}
}
