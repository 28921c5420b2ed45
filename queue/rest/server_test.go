package rest

import (
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/ttl"
)

// serverUnderTest is a REST server over queues in memory. Its clock moves only when the test calls advance.
type serverUnderTest struct {
	t     *testing.T
	h     *host.Host
	q     *queue.Queues
	web   *httptest.Server
	token string

	faults   *inject.FaultRules
	requests *requestlog.Log
}

func newServerUnderTest(t *testing.T, o access.TokenVerifierOptions) *serverUnderTest {
	t.Helper()
	e, err := testdisk.New(t).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &serverUnderTest{t: t, q: queue.New(queue.Options{})}
	at := time.Date(2026, 7, 2, 1, 32, 27, 0, time.UTC)
	w.h, err = host.Open(t.Context(), e, host.Options{Clock: ttl.NewManual(at), ManualReaper: true},
		w.q.Tenant())
	if err != nil {
		t.Fatal(err)
	}
	w.faults, w.requests = inject.New(w.q.Now), requestlog.New(requestlog.MinMemory)
	o.Entities = w.q
	w.web = httptest.NewServer(
		New(Options{Queues: w.q, Guard: access.New(o), Faults: w.faults, Requests: w.requests}),
	)
	w.token = access.Sign(access.EmulatorKey(), "sb://localhost/", ttl.SystemClock{}.Now().Add(time.Hour))
	t.Cleanup(func() {
		w.web.Close()
		if err := w.q.Check(context.WithoutCancel(t.Context()),
			func(err error) bool { t.Error(err); return true }); err != nil {
			t.Error(err)
		}
		if err := w.h.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// advance moves the clock by d and lets the reaper purge what has expired.
func (w *serverUnderTest) advance(d time.Duration) {
	w.t.Helper()
	if _, err := w.h.Instance().SetClock(w.t.Context(), ttl.ClockChangeRequest{Advance: &d}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.h.Instance().SweepNow(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// testResponse is the response to a request of a test, with its body as text.
type testResponse struct {
	status int
	header http.Header
	body   string
}

// do sends a request and returns the response. headers are alternately names and values.
func (w *serverUnderTest) do(method, path, body string, headers ...string) testResponse {
	w.t.Helper()
	url := path
	if !strings.Contains(path, "://") {
		url = w.web.URL + path
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", w.token)
	for i := 0; i < len(headers); i += 2 {
		r.Header[headers[i]] = []string{headers[i+1]}
	}
	res, err := w.web.Client().Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return testResponse{res.StatusCode, res.Header, string(b)}
}

// must sends a request, checks that the response has the given status, and returns it.
func (w *serverUnderTest) must(status int, method, path, body string, headers ...string) testResponse {
	w.t.Helper()
	a := w.do(method, path, body, headers...)
	if a.status != status {
		w.t.Fatalf("%s %s: %d, not %d: %s", method, path, a.status, status, a.body)
	}
	if status >= 400 {
		var e struct {
			XMLName xml.Name `xml:"Error"`
			Code    int
			Detail  string
		}
		if err := xml.Unmarshal([]byte(a.body), &e); err != nil || e.Code != status ||
			!strings.Contains(e.Detail, "TrackingId:") {
			w.t.Fatalf("%s %s: the error is %q (%v)", method, path, a.body, err)
		}
	}
	return a
}

// put sends a PUT that creates or changes an entity or a rule, and checks the status of the response. kind
// is the name of the description element, and elements is the XML inside of it.
func (w *serverUnderTest) put(status int, path, kind, elements string, headers ...string) testResponse {
	w.t.Helper()
	return w.must(status, http.MethodPut, path,
		`<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><`+
			kind+` xmlns="`+nsBus+`" xmlns:i="`+nsInstance+`" xmlns:x="`+nsSchema+`">`+elements+`</`+kind+
			`></content></entry>`, headers...)
}

func (w *serverUnderTest) queue(path, elements string) {
	w.t.Helper()
	w.put(201, path, "QueueDescription", elements)
}

// atomDocument is a parsed ATOM entry or feed of a response.
type atomDocument struct {
	XMLName xml.Name
	ID      string `xml:"id"`
	Title   string `xml:"title"`
	Links   []struct {
		Rel  string `xml:"rel,attr"`
		Href string `xml:"href,attr"`
	} `xml:"link"`
	Content struct {
		Nodes []xmlNode `xml:",any"`
	} `xml:"content"`
	Entries []atomDocument `xml:"entry"`
}

func (w *serverUnderTest) parse(a testResponse) atomDocument {
	w.t.Helper()
	var p atomDocument
	if err := xml.Unmarshal([]byte(a.body), &p); err != nil {
		w.t.Fatalf("%v: %s", err, a.body)
	}
	return p
}

// description returns the element that describes the entity or rule in the ATOM entry of a response.
func (w *serverUnderTest) description(a testResponse) *xmlNode {
	w.t.Helper()
	p := w.parse(a)
	if len(p.Content.Nodes) != 1 {
		w.t.Fatalf("no description in %s", a.body)
	}
	return &p.Content.Nodes[0]
}
