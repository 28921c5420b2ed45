package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/ttl"
)

// heartbeat is the interval between two keep-alive lines on a stream of server-sent events.
const heartbeat = 15 * time.Second

// loop configures a test server so that its reaper runs in the background.
func loop(s *serverUnderTestOptions) { s.store.ManualReaper = false }

// expiringContainer creates a container and enables the log of expiries.
func (w *serverUnderTest) expiringContainer() {
	w.t.Helper()
	w.container(`"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":-1`)
	w.do("PATCH", own+"settings", `{"expiryEvents":{"retention":100}}`).want(200)
}

func (w *serverUnderTest) mortal(id string, life int) {
	w.t.Helper()
	w.do("POST", docs, fmt.Sprintf(`{"id":%q,"pk":"p","ttl":%d}`, id, life), pk(`["p"]`)...).want(201)
}

// listen starts to serve on a real port and returns its URL. It serves until stop is called or the test
// ends.
func (w *serverUnderTest) listen() (base string, stop func()) {
	w.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- w.srv.Serve(ln, nil) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := w.srv.Shutdown(context.Background()); err != nil {
			w.t.Error(err)
		}
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	}
	w.t.Cleanup(stop)
	return "http://" + ln.Addr().String(), stop
}

// stream opens the stream of expiry events (server-sent events) and returns its lines.
func (w *serverUnderTest) stream(ctx context.Context, base, query string, headers ...string) <-chan string {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", base+own+"events"+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.sign(r)
	r.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return w.events(r)
}

// events sends a request that is answered by server-sent events, and returns their lines.
func (w *serverUnderTest) events(r *http.Request) <-chan string {
	w.t.Helper()
	p := new(http.Protocols)
	p.SetHTTP1(!w.http2)
	p.SetUnencryptedHTTP2(w.http2)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, Protocols: p}}
	res, err := client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	if (res.ProtoMajor == 2) != w.http2 {
		w.t.Fatal(res.Proto)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatal(res.Status, res.Header)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		defer res.Body.Close()
		for in := bufio.NewScanner(res.Body); in.Scan(); {
			lines <- in.Text()
		}
	}()
	return lines
}

// event reads lines up to the end of the next server-sent event and returns its name, its id and its data.
func event(t testing.TB, lines <-chan string) (name, id, data string) {
	t.Helper()
	for line := range lines {
		field, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && name != "":
			return name, id, data
		case field == "event":
			name = value
		case field == "id":
			id = value
		case field == "data":
			data = value
		}
	}
	return "closed", "", ""
}

func TestEventStream(t *testing.T) {
	t.Parallel()
	t.Run("HTTP1", func(t *testing.T) { eventStream(t, false) })
	t.Run("HTTP2", func(t *testing.T) { eventStream(t, true) })
}

func eventStream(t *testing.T, http2 bool) {
	w := newServerUnderTest(t, loop, ranges(2))
	w.http2 = http2
	w.expiringContainer()
	base, stop := w.listen()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	lines := w.stream(ctx, base, "")
	w.mortal("a", 1)
	w.mortal("b", 3)
	w.clock.Advance(time.Second)
	name, position, data := event(t, lines)
	if id := gjson.Get(data, "id").Str; name != "expired" || id != "a" ||
		gjson.Get(data, "document._etag").Str == "" ||
		gjson.Get(data, "expiredAt").Int() != start.Unix()+1 ||
		gjson.Get(data, "partitionKey").Raw != `["p"]` {
		t.Errorf("%s %s %s", name, position, data)
	}
	leave()
	for range lines {
	}
	w.clock.Advance(2 * time.Second)
	w.mortal("c", 1)
	w.clock.Advance(time.Second)

	lines = w.stream(t.Context(), base, "?after=0:0,1:0", "Last-Event-ID", position)
	for _, want := range []string{"b", "c"} {
		if name, id, data := event(t, lines); name != "expired" || id == "" ||
			gjson.Get(data, "id").Str != want {
			t.Errorf("after a reconnection: %s %s, want %s", name, data, want)
		}
	}
	beat := false
	for !beat {
		select {
		case line := <-lines:
			beat = strings.HasPrefix(line, ":")
		default:
			w.wall.Advance(heartbeat)
			runtime.Gosched()
		}
	}
	ended := make(chan bool)
	go func() {
		for range lines {
		}
		close(ended)
	}()
	stop()
	<-ended
}

// TestEventStreamLasts checks that a stream of events stays open beyond the server's read and write
// timeouts.
func TestEventStreamLasts(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 is %v", http2), func(t *testing.T) {
			t.Parallel() // it waits most of the time
			w := newServerUnderTest(t, loop)
			w.http2 = http2
			w.expiringContainer()
			const limit = 2 * time.Second // the request itself has to come within it
			w.srv.http.ReadTimeout, w.srv.http.WriteTimeout = limit, limit
			base, _ := w.listen()
			lines := w.stream(t.Context(), base, "")
			tick, stop := ttl.SystemClock{}.After(2 * limit)
			defer stop()
			<-tick
			w.mortal("a", 1)
			w.clock.Advance(time.Second)
			if name, _, data := event(t, lines); name != "expired" || gjson.Get(data, "id").Str != "a" {
				t.Errorf("%s %s", name, data)
			}
		})
	}
}

// TestEventStreamEnds checks that the stream of expiry events sends the event "end" when the log of
// expiries is disabled, and "lost" if the client resumes from a position whose following entries have been
// removed.
func TestEventStreamEnds(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, loop)
	w.expiringContainer()
	w.do("PUT", own+"reaper", `{"delay":{"seconds":100}}`).want(200) // nobody waits for purges
	base, _ := w.listen()
	w.mortal("a", 1)
	w.clock.Advance(time.Second)
	lines := w.stream(t.Context(), base, "")
	_, position, _ := event(t, lines)
	w.clock.Advance(200 * time.Second)
	w.mortal("b", 1)
	w.clock.Advance(time.Second)
	if name, _, data := event(t, lines); name != "expired" || gjson.Get(data, "id").Str != "b" {
		t.Errorf("%s %s", name, data)
	}
	w.do("PATCH", own+"settings", `{"expiryEvents":null}`).want(200)
	if name, _, data := event(t, lines); name != "end" || !gjson.Valid(data) {
		t.Errorf("%s %s", name, data)
	}
	if name, _, _ := event(t, lines); name != "closed" {
		t.Errorf("%s behind the end", name)
	}
	w.do("PATCH", own+"settings", `{"expiryEvents":{}}`).want(200)
	if name, _, _ := event(t, w.stream(t.Context(), base, "?after="+position)); name != "lost" {
		t.Errorf("over a gap: %s", name)
	}
}

func TestEventPages(t *testing.T) {
	// the wall's clock runs away from what was signed
	w := newServerUnderTest(t, loop, func(s *serverUnderTestOptions) { s.server.NoClockCheck = true })
	w.container(`"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":-1`)
	w.do("GET", own+"events", "").fails(400, 0, "keeps no log")
	w.do("PATCH", own+"settings", `{"expiryEvents":{}}`).want(200)
	for _, query := range []string{"?x=1", "?wait=-1", "?wait=601", "?limit=0", "?limit=x", "?after=x",
		"?after=999999"} {
		w.do("GET", own+"events"+query, "").fails(400, 0, "")
	}
	base, _ := w.listen()
	first := w.do("GET", own+"events?after=now", "").want(200).has("events", "[]").at("position").Str
	w.mortal("a", 1)
	w.mortal("b", 1)
	polled := make(chan string)
	go func() { // a poll that waits for what is to come
		defer close(polled)
		r, err := http.NewRequest("GET", base+own+"events?wait=60&after="+first, nil)
		if err != nil {
			t.Error(err)
			return
		}
		w.sign(r)
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Error(err)
		}
		polled <- string(body)
	}()
	w.clock.Advance(time.Second)
	body := <-polled
	if gjson.Get(body, "events.0.id").Str != "a" {
		t.Errorf("polled %s", body)
	}
	w.do("GET", own+"events?limit=1", "").want(200).has("events.#", "1")
	last := w.do("GET", own+"events?after="+first, "").want(200).has("events.1.id", `"b"`).has("lost",
		"false").at("position").Str
	w.do("GET", own+"events?after="+last, "").want(200).has("events", "[]").has("position", `"`+last+`"`)
	waited := make(chan *testResponse)
	go func() { waited <- w.do("GET", own+"events?wait=5&after="+last, "") }()
	for {
		select {
		case a := <-waited:
			a.want(200).has("events", "[]").has("position", `"`+last+`"`)
			return
		default:
			w.wall.Advance(5 * time.Second)
			runtime.Gosched()
		}
	}
}

func TestReaperControl(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.expiringContainer()
	reaper := own + "reaper"
	w.do("GET", reaper, "").want(200).has("paused", "false").has("delay", "null").has("backlog", "0")
	for _, body := range []string{``, `[]`, `{"pause":true}`, `{"paused":1}`, `{"delay":5}`,
		`{"delay":{"sec":5}}`, `{"delay":{"seconds":-1}}`,
		`{"delay":{"min":2,"max":1}}`, `{"delay":{"seconds":2,"max":3}}`, `{"starved":{"perSecond":-1}}`} {
		w.do("PUT", reaper, body).fails(400, 0, "")
	}
	for i := range 5 {
		w.mortal(fmt.Sprint(i), 1)
	}
	w.do("PUT", reaper, `{"paused":true,"delay":{"min":1,"max":9,"seed":4},"starved":{"perSecond":2}}`).want(
		200).
		has("paused", "true").has("delay.max", "9").has("starved.perSecond", "2")
	w.do("PUT", reaper, `{"delay":{"seconds":10}}`).want(200).has("paused", "true").has("delay.seconds",
		"10").has("starved.perSecond", "2")
	w.do("GET", own+"settings", "").want(200).has("reaper.delay.seconds", "10")
	w.clock.Advance(time.Second)
	w.do("GET", reaper, "").want(200).has("backlog", "5").has("purged", "0")
	w.do("POST", reaper+"/step", "").want(200).has("purged", "1")
	w.do("POST", reaper+"/step", `{"items":2}`).want(200).has("purged", "2")
	w.do("POST", reaper+"/step", `{"items":0}`).fails(400, 0, "'items'")
	w.do("POST", reaper+"/step", `{"n":1}`).fails(400, 0, "'n' is not known")
	w.do("POST", reaper+"/run", "").want(200).has("purged", "2")
	w.do("PUT", reaper, `{"paused":false,"delay":null,"starved":null}`).want(200).has("paused",
		"false").has("purged", "5")
	w.do("GET", own+"settings", "").want(200).has("reaper", "null")

	w.do("PUT", "/_mayfly/reaper", `{"paused":true}`).want(200).has("paused", "true")
	w.do("GET", reaper, "").want(200).has("allPaused", "true").has("paused", "false")
	w.do("PUT", "/_mayfly/reaper", `{}`).fails(400, 0, "'paused'")
	w.mortal("x", 1)
	w.clock.Advance(time.Second)
	w.do("POST", "/_mayfly/reaper/run", "").want(200).has("purged", "1")
	w.do("PUT", "/_mayfly/reaper", `{"paused":false}`).want(200)
	w.do("GET", "/_mayfly/reaper", "").want(200).has("paused", "false")
	w.do("GET", "/_mayfly/dbs/d/colls/none/reaper", "").fails(404, 1003, "")
}
