package sdktest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

var binary string // of the server, built once

func TestMain(m *testing.M) { os.Exit(RunTests(&binary, m.Run)) }

// start starts a server with these arguments. It is stopped at the end of the test.
func start(t *testing.T, args ...string) *Server {
	t.Helper()
	return startAt(t, "", args...)
}

// startAt starts a server that listens on the address host. It is stopped at the end of the test.
func startAt(t *testing.T, host string, args ...string) *Server {
	t.Helper()
	s := &Server{Bin: binary, Host: host, Args: append([]string{"--log-level", "warn"}, args...)}
	must(t, s.Start(t.Context()))
	t.Cleanup(func() {
		if s.Running() {
			if err := s.Stop(); err != nil {
				t.Errorf("stop: %v", err)
			}
		}
		if t.Failed() {
			t.Logf("the server's output:\n%s", s.Output())
		}
	})
	return s
}

// check runs the command "mayfly check" on a data folder, and fails the test if it reports an
// inconsistency.
func check(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command(binary, "check", dir).CombinedOutput(); err != nil {
		t.Fatalf("mayfly check: %v\n%s", err, out)
	}
}

// connect returns an SDK client of the server that does not retry. With the scheme https it trusts only
// the certificate that the server publishes.
func connect(t *testing.T, s *Server, scheme string) *azcosmos.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	if scheme == "https" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(get(t, s.URL("http")+"_explorer/emulator.pem")) {
			t.Fatal("the certificate is not one")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	t.Cleanup(transport.CloseIdleConnections)
	cred, err := azcosmos.NewKeyCredential(EmulatorKey)
	must(t, err)
	client, err := azcosmos.NewClientWithKey(s.URL(scheme), cred, &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: &http.Client{Transport: transport},
		Retry:     policy.RetryOptions{MaxRetries: -1}, // a failure is to be seen
	}})
	must(t, err)
	return client
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	res, err := http.Get(url)
	must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s: %s", url, res.Status, body)
	}
	return body
}

// moveClock changes the server's clock; change is the body of PUT /_mayfly/clock.
func moveClock(t *testing.T, s *Server, change string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL("http")+"_mayfly/clock", strings.NewReader(change))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+EmulatorKey)
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		t.Fatalf("clock %s: %s: %s", change, res.Status, body)
	}
}

func advance(t *testing.T, s *Server, d time.Duration) {
	t.Helper()
	if d > 0 {
		moveClock(t, s, fmt.Sprintf(`{"advance": %q}`, d))
	}
}

// newDatabase creates a database.
func newDatabase(t *testing.T, c *azcosmos.Client, id string) *azcosmos.DatabaseClient {
	t.Helper()
	_, err := c.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: id}, nil)
	must(t, err)
	db, err := c.NewDatabase(id)
	must(t, err)
	return db
}

// newContainer creates a container, partitioned by /pk unless the properties say otherwise.
func newContainer(t *testing.T, db *azcosmos.DatabaseClient,
	p azcosmos.ContainerProperties) *azcosmos.ContainerClient {
	t.Helper()
	if len(p.PartitionKeyDefinition.Paths) == 0 {
		p.PartitionKeyDefinition = azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}
	}
	_, err := db.CreateContainer(t.Context(), p, nil)
	must(t, err)
	c, err := db.NewContainer(p.ID)
	must(t, err)
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// status returns the HTTP status of an error of the SDK. It returns 0 if err is nil, and -1 if err is not
// a response of the server.
func status(err error) int {
	if err == nil {
		return 0
	}
	var r *azcore.ResponseError
	if errors.As(err, &r) {
		return r.StatusCode
	}
	return -1
}

// wantStatus fails the test unless err is a response with the status want, and contains all texts in says.
func wantStatus(t *testing.T, err error, want int, says ...string) {
	t.Helper()
	if got := status(err); got != want {
		t.Fatalf("status %d, want %d: %v", got, want, err)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Fatalf("the error does not say %q: %v", text, err)
		}
	}
}

// decode decodes a JSON object. Numbers become json.Number, which keeps their spelling.
func decode(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var m map[string]any
	must(t, d.Decode(&m))
	return m
}

// user removes the system properties, such as _rid and _etag, from a document.
func user(m map[string]any) map[string]any {
	for _, name := range []string{"_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"} {
		delete(m, name)
	}
	return m
}

// wantSame fails the test unless the document got, without its system properties, equals the document
// sent.
func wantSame(t *testing.T, got, sent []byte) {
	t.Helper()
	if a, b := user(decode(t, got)), decode(t, sent); !reflect.DeepEqual(a, b) {
		t.Fatalf("the server gave\n%v\nbut was sent\n%v", a, b)
	}
}

// queryAll runs a query to its end, and returns its items and the number of items of each page.
func queryAll(t *testing.T, c *azcosmos.ContainerClient, text string, pk azcosmos.PartitionKey,
	o *azcosmos.QueryOptions) (items [][]byte, pages []int) {
	t.Helper()
	for p := c.NewQueryItemsPager(text, pk, o); p.More(); {
		page, err := p.NextPage(t.Context())
		must(t, err)
		items = append(items, page.Items...)
		pages = append(pages, len(page.Items))
	}
	return items, pages
}

// eachScheme runs a test over HTTP and over HTTPS, against one server.
func eachScheme(t *testing.T, s *Server, f func(t *testing.T, c *azcosmos.Client, db string)) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			f(t, connect(t, s, scheme), "db-"+scheme)
		})
	}
}

// inParallel calls f with 0 to n-1 in several goroutines, and returns the first error. After an error it
// makes no further calls.
func inParallel(ctx context.Context, n, workers int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	done := make(chan struct{})
	for range workers {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range next {
				if err := f(ctx, i); err != nil {
					cancel(fmt.Errorf("%d: %w", i, err))
				}
			}
		}()
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	for range workers {
		<-done
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func ptr[T any](v T) *T { return &v }
