package hook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/hook"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// sleepReportingClock is a virtual clock that sends the duration of each wait for it to the channel asleep
// when the wait begins.
type sleepReportingClock struct {
	*ttl.VirtualClock
	asleep chan time.Duration
}

func (c sleepReportingClock) After(d time.Duration) (<-chan time.Time, func()) {
	ch, stop := c.VirtualClock.After(d)
	c.asleep <- d
	return ch, stop
}

// deliveryFixture is a store with one container whose items can expire, queues, a Deliverer, and two
// clocks that only the test moves.
type deliveryFixture struct {
	t     *testing.T
	ctx   context.Context
	fs    vfs.FS
	clock *ttl.VirtualClock
	wall  sleepReportingClock
	db    *store.DB
	q     *queue.Queues
	to    hook.QueueSender // where changes go; nil: q
	c     *store.Container
	d     *hook.Deliverer
	allow hook.AllowedAddresses
	log   *slog.Logger
}

func newDeliveryFixture(t *testing.T, allow ...string) *deliveryFixture {
	t.Helper()
	if allow == nil {
		allow = []string{"localhost"}
	}
	others := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, others) })
	g := &deliveryFixture{t: t, ctx: context.Background(), fs: vfs.NewMem(),
		clock: ttl.NewManual(time.Unix(1_700_000_000, 0)),
		wall: sleepReportingClock{ttl.NewManual(time.Unix(1_700_000_000, 0)), make(chan time.Duration,
			1000)}}
	var err error
	g.allow, err = hook.ParseAllow(allow)
	g.must(err)
	g.open()
	d, err := g.db.CreateDatabase(g.ctx, "db", definition.Throughput{})
	g.must(err)
	spec, _, err := definition.ParseContainerSpec(
		[]byte(`{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":-1}`), true)
	g.must(err)
	g.c, err = d.CreateContainer(g.ctx, spec, definition.Throughput{})
	g.must(err)
	t.Cleanup(g.close)
	return g
}

func (g *deliveryFixture) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *deliveryFixture) open() {
	g.t.Helper()
	e, err := pebble.Open(g.ctx, pebble.Options{Dir: "data", FS: g.fs, Strict: true})
	g.must(err)
	g.q = queue.New(queue.Options{})
	g.db, err = store.Open(g.ctx, e, store.Options{Clock: g.clock, Ranges: 2, ManualReaper: true},
		g.q.Tenant())
	g.must(err)
	to := g.to
	if to == nil {
		to = g.q
	}
	g.d = hook.Open(hook.Options{DB: g.db, Wall: g.wall, Batch: 3, Allow: g.allow, Queues: to,
		Logger: g.log})
}

func (g *deliveryFixture) close() {
	g.d.Close()
	g.must(g.db.Close())
}

func (g *deliveryFixture) reopen() {
	g.t.Helper()
	g.close()
	g.open()
	d, err := g.db.Database("db")
	g.must(err)
	g.c, err = d.Container("c")
	g.must(err)
}

func (g *deliveryFixture) webhooks(list ...store.WebhookSettings) {
	g.t.Helper()
	_, err := g.c.ChangeSettings(g.ctx, func(s *store.ContainerSettings) error {
		s.ExpiryEvents = &store.ExpiryEventSettings{Webhooks: list}
		return nil
	})
	g.must(err)
}

// die creates n items with the ids from, from+1 and so on, in several partitions, and lets them expire.
func (g *deliveryFixture) die(from, n int) {
	g.t.Helper()
	for i := from; i < from+n; i++ {
		pk := fmt.Sprint("p", i%4)
		body := fmt.Appendf(nil, `{"id":"i%03d","pk":%q,"ttl":1}`, i, pk)
		_, _, err := g.c.Create(g.ctx, definition.NewPartitionKey(jsondoc.StringValue(pk)), body,
			store.WriteOptions{})
		g.must(err)
	}
	g.clock.Advance(time.Second)
	_, err := g.db.SweepNow(g.ctx)
	g.must(err)
}

// webhookTestServer is a webhook's HTTP server for tests. It checks each request, responds with the statuses
// that the test sets, and passes the ids of the received items to the channel got.
type webhookTestServer struct {
	*httptest.Server
	secret string
	got    chan []string // ids of each request

	mu      sync.Mutex
	answers []int // of the next requests; then 204
	bodies  []string
}

func newEndpoint(t *testing.T, secret string, answers ...int) *webhookTestServer {
	e := &webhookTestServer{secret: secret, answers: answers, got: make(chan []string, 1000)}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		mac := hmac.New(sha256.New, []byte(e.secret))
		mac.Write(body)
		want := ""
		if e.secret != "" {
			want = "sha256=" + hex.EncodeToString(mac.Sum(nil))
		}
		if r.Header.Get(hook.SignatureHeader) != want || r.Method != "POST" ||
			r.Header.Get("Content-Type") != "application/json" || jsondoc.Valid(body, jsondoc.Limits{}) != nil {
			t.Errorf("%s %v %s", r.Method, r.Header, body)
		}
		e.mu.Lock()
		status := http.StatusNoContent
		if len(e.answers) > 0 {
			status, e.answers = e.answers[0], e.answers[1:]
		}
		e.bodies = append(e.bodies, string(body))
		e.mu.Unlock()
		var ids []string
		jsondoc.Of(body).Member("events").Each(func(_ string, v jsondoc.Value) bool {
			ids = append(ids, v.Member("id").Str())
			return true
		})
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		e.got <- ids
	}))
	t.Cleanup(e.Close)
	return e
}

// take waits until the endpoint has received at least n events, and returns the ids of their items in the
// order in which they came.
func (e *webhookTestServer) take(n int) (ids []string) {
	for len(ids) < n {
		ids = append(ids, <-e.got...)
	}
	return ids
}

func numbered(from, n int) (ids []string) {
	for i := from; i < from+n; i++ {
		ids = append(ids, fmt.Sprintf("i%03d", i))
	}
	return ids
}

func (g *deliveryFixture) wantAll(what string, got []string, from, n int) {
	g.t.Helper()
	slices.Sort(got)
	if !slices.Equal(got, numbered(from, n)) {
		g.t.Errorf("%s: got %v", what, got)
	}
}

// confirmed waits until the stored position of the webhook with a URL is at the end of the log of
// expiries.
func (g *deliveryFixture) confirmed(url string) {
	g.t.Helper()
	for {
		at, err := g.c.Confirmed(g.ctx, url)
		g.must(err)
		page, err := g.c.Expirations(g.ctx, at, 1)
		g.must(err)
		if at != "" && len(page.Expirations) == 0 {
			return
		}
	}
}

func TestDelivery(t *testing.T) {
	g := newDeliveryFixture(t)
	plain, signed := newEndpoint(t, ""), newEndpoint(t, "s3cret")
	g.webhooks(store.WebhookSettings{URL: plain.URL},
		store.WebhookSettings{URL: signed.URL, Secret: "s3cret"})
	g.die(0, 20)
	g.wantAll("plain", plain.take(20), 0, 20)
	g.wantAll("signed", signed.take(20), 0, 20)
	g.confirmed(plain.URL)
	g.confirmed(signed.URL)
	g.reopen()
	g.die(20, 5)
	g.wantAll("after a restart", plain.take(5), 20, 5)
}

// TestFailingEndpoint checks that a batch is sent again until the endpoint confirms it, after pauses of
// one, two and four seconds, that no other batch is sent before, and that other endpoints are not delayed.
func TestFailingEndpoint(t *testing.T) {
	g := newDeliveryFixture(t)
	good, bad := newEndpoint(t, ""), newEndpoint(t, "", 500, 302, 404)
	g.webhooks(store.WebhookSettings{URL: bad.URL}, store.WebhookSettings{URL: good.URL})
	g.die(0, 2)
	g.wantAll("the good one", good.take(2), 0, 2)
	first := <-bad.got
	for _, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		if got := <-g.wall.asleep; got != pause {
			t.Errorf("a pause of %v, want %v", got, pause)
		}
		g.wall.Advance(pause - time.Millisecond)
		select {
		case again := <-bad.got:
			t.Errorf("%v comes before %v are over", again, pause)
		default:
		}
		g.wall.Advance(time.Millisecond)
		if again := <-bad.got; !slices.Equal(again, first) {
			t.Errorf("%v is sent again as %v", first, again)
		}
	}
	bad.take(2 - len(first))
	g.confirmed(bad.URL)
	g.die(2, 3)
	g.wantAll("afterwards", bad.take(3), 2, 3)
	g.confirmed(bad.URL)
	for _, s := range g.d.Status() {
		if s.Failures != 0 || s.Err != nil {
			t.Errorf("%+v", s)
		}
	}
}

// TestWebhookRemovedAndAddedAgain checks that a webhook that is removed from the settings receives no more
// events. If it is added again, it receives the log of expiries from its beginning.
func TestWebhookRemovedAndAddedAgain(t *testing.T) {
	g := newDeliveryFixture(t)
	e := newEndpoint(t, "")
	g.webhooks(store.WebhookSettings{URL: e.URL})
	g.die(0, 2)
	g.wantAll("first", e.take(2), 0, 2)
	g.confirmed(e.URL)
	g.webhooks()
	for len(g.d.Status()) > 0 {
		runtime.Gosched()
	}
	g.die(2, 2)
	if _, err := g.c.Confirmed(g.ctx, e.URL); fault.ErrorCode(err) != fault.CodeNotFound {
		t.Errorf("%v", err)
	}
	g.webhooks(store.WebhookSettings{URL: e.URL})
	g.wantAll("again", e.take(4), 0, 4)
	d, err := g.db.Database("db")
	g.must(err)
	g.must(d.DeleteContainer(g.ctx, "c", store.WriteOptions{}))
}

// TestLostEvents checks that an endpoint that was not served for longer than the log's retention receives
// a batch with "lost": true.
func TestLostEvents(t *testing.T) {
	g := newDeliveryFixture(t)
	e := newEndpoint(t, "")
	g.webhooks(store.WebhookSettings{URL: e.URL})
	g.die(0, 4)
	e.take(4)
	g.confirmed(e.URL)
	g.d.Close()
	g.die(4, 4)
	g.clock.Advance(2 * time.Hour)
	g.die(8, 1)
	g.d = hook.Open(hook.Options{DB: g.db, Wall: g.wall, Allow: g.allow})
	g.wantAll("what is kept", e.take(1), 8, 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, body := range e.bodies {
		if lost := jsondoc.Of([]byte(body)).Member("lost").Bool(); lost != (i == len(e.bodies)-1) {
			t.Errorf("request %d of %d: lost is %t", i, len(e.bodies), lost)
		}
	}
}

// TestCloseWithUnresponsiveEndpoint checks that Close does not wait for the response of an endpoint that
// never responds.
func TestCloseWithUnresponsiveEndpoint(t *testing.T) {
	g := newDeliveryFixture(t)
	hang := make(chan struct{})
	called := make(chan struct{}, 10)
	dead := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		called <- struct{}{}
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(dead.Close)
	t.Cleanup(func() { close(hang) })
	g.webhooks(store.WebhookSettings{URL: dead.URL})
	g.die(0, 1)
	<-called
	g.reopen() // closes
	<-called
}
