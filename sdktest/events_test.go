package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

const (
	eventKills   = 5
	eventWriters = 8 // a container
	longestTTL   = 5 // seconds
)

// expiryExpectation says whether one version of a document must expire, must not expire, or may do either
// because the response to a write is missing.
type expiryExpectation int

const (
	open     expiryExpectation = iota // an answer never came: it may expire, or not
	expires                           // it has an event, or will have one when its time comes
	survives                          // it has none: it never expires, or was replaced or deleted in time
)

// writtenVersion is one version of a document that the test has written.
type writtenVersion struct {
	id, pk string
	value  int // its number, which nothing else has
	ttl    int // seconds; -1: for ever
	ts     int64
	fate   expiryExpectation
}

func (l *writtenVersion) body() []byte {
	return fmt.Appendf(nil, `{"id":%q,"pk":%q,"value":%d,"ttl":%d,"filler":"%0100d"}`, l.id, l.pk, l.value, l.ttl, l.value)
}

// expiredBy reports whether the version has expired at the given second.
func (l *writtenVersion) expiredBy(second int64) bool {
	return l.ttl > 0 && l.ts+int64(l.ttl) <= second
}

// writtenVersions holds all versions of documents that a test has written to a container, by their value.
// Without the mutex it may be read only when no client writes.
type writtenVersions struct {
	mu   sync.Mutex
	made map[int]*writtenVersion
}

func (g *writtenVersions) add(l *writtenVersion) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.made[l.value] = l
}

// due returns the values of the versions that must have expired, so that there must be an event for each.
func (g *writtenVersions) due() (list []int) {
	for value, l := range g.made {
		if l.fate == expires {
			list = append(list, value)
		}
	}
	return list
}

// check returns an error if an event does not agree with the version that it says has expired.
func (g *writtenVersions) check(e expiryEvent) error {
	g.mu.Lock()
	l := g.made[e.Document.Value]
	g.mu.Unlock()
	switch {
	case l == nil:
		return fmt.Errorf("nobody wrote the document of %+v", e)
	case l.ttl < 0 || e.Document.TTL != l.ttl || e.ID != l.id || e.Document.ID != l.id || e.Document.PK != l.pk ||
		len(e.PartitionKey) != 1 || e.PartitionKey[0] != l.pk || e.Document.Filler != fmt.Sprintf("%0100d", l.value):
		return fmt.Errorf("the event %+v is not of %+v", e, l)
	case e.ExpiredAt != e.Document.TS+int64(l.ttl):
		return fmt.Errorf("the document of %+v expired at another moment", e)
	}
	return nil
}

// expiryEvent is an expiry event as the server sends it, in JSON.
type expiryEvent struct {
	ID           string   `json:"id"`
	PartitionKey []string `json:"partitionKey"`
	ExpiredAt    int64    `json:"expiredAt"`
	Sequence     uint64   `json:"sequence"`
	Range        string   `json:"range"`
	Document     struct {
		ID     string `json:"id"`
		PK     string `json:"pk"`
		Value  int    `json:"value"`
		TTL    int    `json:"ttl"`
		Filler string `json:"filler"`
		TS     int64  `json:"_ts"`
	} `json:"document"`
}

// receivedEvents holds the expiry events of a container that one reader has received: from the stream, by
// a webhook, or from the log.
type receivedEvents struct {
	t      *testing.T
	name   string
	ledger *writtenVersions
	once   bool // it is told nothing twice

	mu      sync.Mutex
	seen    map[int]expiryEvent // by the document's value
	last    map[string]uint64   // the highest sequence of each range
	repeats int
	grown   chan struct{}
}

// follow records events in the order in which they arrived. It fails the test if an event is wrong, or if
// a new event has a lower sequence than an earlier one of the same partition range.
func (r *receivedEvents) follow(events ...expiryEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		if err := r.ledger.check(e); err != nil {
			r.t.Errorf("%s: %v", r.name, err)
			continue
		}
		was, again := r.seen[e.Document.Value]
		switch {
		case again && (was.Range != e.Range || was.Sequence != e.Sequence):
			r.t.Errorf("%s: %+v died twice, at first as %+v", r.name, e, was)
		case again && r.once:
			r.t.Errorf("%s: told twice of %+v", r.name, e)
		case again:
			r.repeats++
		case e.Sequence <= r.last[e.Range]:
			r.t.Errorf("%s: %+v comes behind %d", r.name, e, r.last[e.Range])
		}
		if !again {
			r.seen[e.Document.Value], r.last[e.Range] = e, e.Sequence
		}
	}
	close(r.grown)
	r.grown = make(chan struct{})
}

func (r *receivedEvents) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen)
}

// await waits until an event of each of these versions has been received.
func (r *receivedEvents) await(ctx context.Context, due []int) {
	r.t.Helper()
	for {
		r.mu.Lock()
		grown, missing := r.grown, []int(nil)
		for _, value := range due {
			if _, ok := r.seen[value]; !ok {
				missing = append(missing, value)
			}
		}
		r.mu.Unlock()
		if len(missing) == 0 {
			return
		}
		select {
		case <-grown:
		case <-ctx.Done():
			r.t.Fatalf("%s: no event of %d of %d versions: %v", r.name, len(missing), len(due), missing[:min(len(missing), 20)])
		}
	}
}

// settled checks, at the end of the test, that no event was received for a version that did not expire.
func (r *receivedEvents) settled() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for value, e := range r.seen {
		if l := r.ledger.made[value]; l.fate == survives || l.ts > 0 && l.ts != e.Document.TS {
			r.t.Errorf("%s: %+v is told of %+v", r.name, e, l)
		}
	}
}

// expiringDocumentWriter writes short-lived documents, one operation at a time, so that it knows for each
// version whether it must expire.
type expiringDocumentWriter struct {
	name   string
	c      *azcosmos.ContainerClient
	pk     azcosmos.PartitionKey
	ledger *writtenVersions
	count  *atomic.Int64 // of all versions
	rng    *rand.Rand
	docs   []*writtenVersion // the last version of each document
	names  int
}

// step writes or deletes one document. After an error it is unknown whether the document's versions
// expire, and the document is not used again.
func (m *expiringDocumentWriter) step(ctx context.Context) error {
	i := m.rng.IntN(len(m.docs) + 2)
	if i >= len(m.docs) {
		m.names++
		i = len(m.docs)
		m.docs = append(m.docs, &writtenVersion{id: fmt.Sprintf("%s-%d", m.name, m.names), fate: survives})
	}
	old := m.docs[i]
	if old.value == 0 || m.rng.IntN(4) > 0 {
		return m.renew(ctx, i, old)
	}
	m.forget(i)
	return m.end(ctx, old)
}

func (m *expiringDocumentWriter) forget(i int) {
	m.docs[i] = m.docs[len(m.docs)-1]
	m.docs = m.docs[:len(m.docs)-1]
}

// renew upserts document i with a new version. old, its last version, may have expired before.
func (m *expiringDocumentWriter) renew(ctx context.Context, i int, old *writtenVersion) error {
	next := &writtenVersion{id: old.id, pk: m.name, value: int(m.count.Add(1)), ttl: 1 +
		m.rng.IntN(longestTTL)}
	if m.rng.IntN(8) == 0 {
		next.ttl = -1
	}
	m.ledger.add(next)
	res, err := m.c.UpsertItem(ctx, m.pk, next.body(), &azcosmos.ItemOptions{EnableContentResponseOnWrite: true})
	if err != nil {
		old.fate = old.ifMortal(open)
		m.forget(i)
		return err
	}
	var stored struct {
		TS int64 `json:"_ts"`
	}
	if err := json.Unmarshal(res.Value, &stored); err != nil {
		return err
	}
	next.ts, next.fate = stored.TS, next.ifMortal(expires)
	old.fate = survives
	if old.expiredBy(next.ts) {
		old.fate = expires
	}
	m.docs[i] = next
	return nil
}

// end deletes a document, and records for its last version whether it has expired before.
func (m *expiringDocumentWriter) end(ctx context.Context, old *writtenVersion) error {
	_, err := m.c.DeleteItem(ctx, m.pk, old.id, nil)
	switch code := status(err); {
	case err == nil:
		old.fate = survives
	case code == http.StatusNotFound && old.ttl > 0:
		old.fate = expires
	default:
		old.fate = old.ifMortal(open)
		return err
	}
	return nil
}

// ifMortal returns the expectation f for a version that can expire. For any other version it returns
// survives: no expiry event may name the version.
func (l *writtenVersion) ifMortal(f expiryExpectation) expiryExpectation {
	if l.ttl > 0 {
		return f
	}
	return survives
}

// observedContainer is a container whose expiry events are observed: the versions written to it, and the
// events received from its stream and by its webhook.
type observedContainer struct {
	name     string
	ledger   *writtenVersions
	stream   *receivedEvents
	posts    *receivedEvents
	position string // of the stream: the id of its last event
}

func newObservedContainer(t *testing.T, name string) *observedContainer {
	g := &observedContainer{name: name, ledger: &writtenVersions{made: map[int]*writtenVersion{}}}
	g.stream, g.posts = g.newReceivedEvents(t, "stream", true), g.newReceivedEvents(t, "webhook", false)
	return g
}

func (g *observedContainer) newReceivedEvents(t *testing.T, how string, once bool) *receivedEvents {
	return &receivedEvents{t: t, name: how + " of " + g.name, ledger: g.ledger, once: once,
		seen: map[int]expiryEvent{}, last: map[string]uint64{}, grown: make(chan struct{})}
}

func (g *observedContainer) path() string { return "_mayfly/dbs/db/colls/" + g.name }

// TestEventsAfterKill9 repeatedly kills the server while documents expire. A follower of the event stream,
// which continues after the last event it received, and a webhook must receive an event for each expiry,
// in the order of each partition range, and no other events. In one of the two containers, purges are
// delayed.
func TestEventsAfterKill9(t *testing.T) {
	dir := t.TempDir()
	s := start(t, "--data", dir, "--virtual-clock", "--ranges", "2", "--webhook-allow", "localhost")
	moveClock(t, s, `{"freeze": true, "set": "2030-01-01T00:00:00Z"}`)
	db := newDatabase(t, connect(t, s, "http"), "db")
	yards := []*observedContainer{newObservedContainer(t, "prompt"), newObservedContainer(t, "late")}
	office := httptest.NewServer(newWebhookEndpoint(t, yards))
	defer office.Close()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var count atomic.Int64
	var writers []*expiringDocumentWriter
	for _, g := range yards {
		c := newContainer(t, db, azcosmos.ContainerProperties{ID: g.name, DefaultTimeToLive: ptr(int32(-1))})
		settings := fmt.Sprintf(`"expiryEvents": {"webhooks": [{"url": "%s/%s", "secret": %q}]}`, office.URL, g.name, hookSecret)
		if g.name == "late" {
			settings += `, "reaper": {"delay": {"min": 1, "max": 60, "seed": 7}}`
		}
		laboratory(t, s, http.MethodPatch, g.path()+"/settings", "{"+settings+"}")
		for range eventWriters {
			name := fmt.Sprintf("w%02d", len(writers))
			writers = append(writers, &expiringDocumentWriter{name: name, c: c,
				pk: azcosmos.NewPartitionKeyString(name), ledger: g.ledger,
				count: &count, rng: rand.New(rand.NewPCG(seed, uint64(len(writers))))})
		}
	}
	for range eventKills {
		killWhileExpiring(t, s, yards, writers, int64(300+rand.N(500)))
		must(t, s.Start(t.Context()))
	}
	for _, g := range yards {
		if g.stream.count() == 0 || g.posts.count() == 0 {
			t.Errorf("%s: nothing had expired when the server was killed", g.name)
		}
	}
	finish(t, s, yards)
	must(t, s.Stop())
	check(t, dir)
}

// killWhileExpiring lets the writers work and the clock advance, and kills the server after the given
// number of acknowledged writes.
func killWhileExpiring(t *testing.T, s *Server, yards []*observedContainer, writers []*expiringDocumentWriter,
	after int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for _, g := range yards {
		all.Go(func() { g.listen(ctx, t, s) })
	}
	const second = 40 // writes
	var acks atomic.Int64
	var killErr error
	for _, w := range writers {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := w.step(ctx); err != nil {
					if status(err) > 0 {
						t.Errorf("%s: %v", w.name, err) // the server answered: that is not the crash
					}
					return
				}
				switch n := acks.Add(1); {
				case n == after:
					killErr = s.Kill()
					cancel()
				case n < after && n%second == 0:
					// It may be the kill that breaks it off; the next step will tell.
					_, _ = request(ctx, s, http.MethodPut, "_mayfly/clock", `{"advance": "1s"}`)
				}
			}
		})
	}
	all.Wait()
	must(t, killErr)
	if s.Running() {
		t.Fatal("the writers ended before the server did")
	}
}

// finish lets all remaining documents expire, and checks the events that were received.
func finish(t *testing.T, s *Server, yards []*observedContainer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for _, g := range yards {
		all.Go(func() { g.listen(ctx, t, s) })
	}
	advance(t, s, (longestTTL+1)*time.Second)
	for _, g := range yards {
		due := g.ledger.due()
		g.stream.await(ctx, due)
		g.posts.await(ctx, due)
		t.Logf("%s: %d of %d versions had to expire, the webhook was told of %d twice", g.name, len(due), len(g.ledger.made), g.posts.repeats)
	}
	// The late purges come now. They tell nobody anything new.
	laboratory(t, s, http.MethodPut, "_mayfly/clock?settle=true", `{"advance": "2m"}`)
	cancel()
	all.Wait()
	for _, g := range yards {
		whole := g.readLog(t, s)
		if len(whole.seen) != len(g.stream.seen) {
			t.Errorf("%s: the log has %d events, the stream had %d", g.name, len(whole.seen), len(g.stream.seen))
		}
		for _, r := range []*receivedEvents{g.stream, g.posts, whole} {
			r.settled()
		}
		if state := string(laboratory(t, s, http.MethodGet, g.path()+"/reaper", "")); !strings.Contains(state, `"backlog":0`) {
			t.Errorf("%s: not all is purged: %s", g.name, state)
		}
	}
}

// readLog reads the container's log of expiries from its beginning, page by page, and returns its events.
func (g *observedContainer) readLog(t *testing.T, s *Server) *receivedEvents {
	t.Helper()
	r := g.newReceivedEvents(t, "log", true)
	for position := ""; ; {
		var page struct {
			Events   []expiryEvent
			Position string
			Lost     bool
		}
		must(t, json.Unmarshal(laboratory(t, s, http.MethodGet, g.path()+"/events?limit=1000&after="+url.QueryEscape(position), ""), &page))
		if page.Lost {
			t.Errorf("%s: events are lost behind %q", r.name, position)
		}
		if len(page.Events) == 0 {
			return r
		}
		r.follow(page.Events...)
		position = page.Position
	}
}
