package httpapi

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/testdisk"
)

// maxPageSize is the size in bytes at which a page of results is ended.
const maxPageSize = 4 << 20

// TestResponseMemoryLimit takes all of the memory that responses share. It checks that a query's page is then
// refused with 429 and a retry-after time, and that requests return the memory that they took.
func TestResponseMemoryLimit(t *testing.T) {
	t.Parallel()
	testdisk.Pebble(t, "the simulated time stands still while a database is asked")
	synctest.Test(t, func(t *testing.T) { // the requests wait for seconds
		w := newServerUnderTest(t)
		w.container("")
		w.do("POST", docs, `{"id":"1","pk":"a","text":"`+strings.Repeat("x", 200_000)+`"}`,
			pk(`["a"]`)...).want(201)
		m := w.db.Memory()
		if !m.TryTake(m.Size()) {
			t.Fatal("memory is missing")
		}
		r := w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders(pk(`["a"]`)...)...)
		r.fails(429, cosmos.SubstatusThrottled, "take all the memory").head("x-ms-retry-after-ms", "1000")
		w.do("GET", "/_mayfly/livez", "").want(200)
		m.Give(m.Size())
		w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders(pk(`["a"]`)...)...).want(200)
		w.do("GET", docs+"/1", "", pk(`["a"]`)...).want(200)
		if !m.TryTake(m.Size()) {
			t.Error("a request has kept memory")
		}
	})
}

// TestResponseMemoryReservation checks that the routes of Mayfly's own API that can have large responses
// reserve memory before they make the response, and fail with 429 if there is none. Requests that wait
// therefore hold no memory.
func TestResponseMemoryReservation(t *testing.T) {
	t.Parallel()
	testdisk.Pebble(t, "the simulated time stands still while a database is asked")
	synctest.Test(t, func(t *testing.T) { // the requests wait for seconds
		w := newServerUnderTest(t)
		w.container("")
		w.do("PATCH", own+"settings", `{"expiryEvents":{}}`).want(200)
		w.do("POST", "/_mayfly/entities", `{"path":"q"}`).want(201)
		m := w.db.Memory()
		if !m.TryTake(m.Size()) {
			t.Fatal("memory is missing")
		}
		const messages, all = "/_mayfly/entities/q/query", `{"query":"SELECT * FROM c"}`
		w.do("GET", own+"events", "").fails(429, cosmos.SubstatusThrottled, "take all the memory")
		w.do("POST", messages, all).fails(429, cosmos.SubstatusThrottled, "take all the memory")
		m.Give(m.Size())
		w.do("GET", own+"events", "").want(200)
		w.do("POST", messages, all).want(200)
		if !m.TryTake(m.Size()) {
			t.Error("a request has kept memory")
		}
	})
}

// TestReadsWithoutMemory takes all of the memory that requests share. It checks that reads of a large item
// wait without holding memory and end with 429, that a small item is read at once, and that a large body
// is refused.
func TestReadsWithoutMemory(t *testing.T) {
	testdisk.Pebble(t, "the simulated time stands still while a database is asked")
	synctest.Test(t, func(t *testing.T) { // the readers wait for seconds
		w := newServerUnderTest(t)
		w.container("")
		large := `{"id":"1","pk":"a","text":"` + strings.Repeat("x", 1_000_000) + `"}`
		w.do("POST", docs, large, pk(`["a"]`)...).want(201)
		w.do("POST", docs, `{"id":"2","pk":"a"}`, pk(`["a"]`)...).want(201)
		m := w.db.Memory()
		before := liveBytes()
		if !m.TryTake(m.Size()) {
			t.Fatal("memory is missing")
		}
		var clients sync.WaitGroup
		for range 150 {
			clients.Go(func() {
				r := w.do("GET", docs+"/1", "", pk(`["a"]`)...)
				r.fails(429, cosmos.SubstatusThrottled, "take all the memory")
			})
		}
		clients.Go(func() {
			w.do("POST", docs, large, pk(`["a"]`)...).fails(429, cosmos.SubstatusThrottled, "take all the memory")
		})
		w.do("GET", docs+"/2", "", pk(`["a"]`)...).want(200)
		synctest.Wait() // until all of them wait
		held := liveBytes() - before
		clients.Wait()
		if t.Logf("150 waiting readers hold %d MB", held>>20); held > 60<<20 {
			t.Errorf("150 readers without room hold %d MB", held>>20)
		}
		m.Give(m.Size())
		w.do("GET", docs+"/1", "", pk(`["a"]`)...).want(200)
		if !m.TryTake(m.Size()) {
			t.Error("a request has kept memory")
		}
	})
}

// TestQueryMemory checks that a GROUP BY query fails with 429 if there is no memory for its groups.
func TestQueryMemory(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", docs, `{"id":"1","pk":"a","text":"`+strings.Repeat("x", 200_000)+`"}`,
		pk(`["a"]`)...).want(201)
	m := w.db.Memory()
	taken := m.Size() - 2*maxPageSize // there is room for a page
	if !m.TryTake(taken) {
		t.Fatal("memory is missing")
	}
	defer m.Give(taken)
	r := w.do("POST", docs, `{"query":"SELECT c.text FROM c GROUP BY c.text"}`,
		queryHeaders(pk(`["a"]`)...)...)
	r.fails(429, cosmos.SubstatusThrottled, "for GROUP BY").head("x-ms-retry-after-ms", "1000")
}

// blockedResponseWriter is an http.ResponseWriter whose writes block, like the connection of a client that
// does not read.
type blockedResponseWriter struct {
	*httptest.ResponseRecorder
	begun chan<- struct{} // gets an element with the first piece of a large body
	read  <-chan struct{} // closed when the client reads after all
	once  sync.Once
}

func (s *blockedResponseWriter) Write(b []byte) (int, error) {
	s.once.Do(func() { s.begun <- struct{}{} })
	<-s.read
	return len(b), nil
}

// TestMemoryOfUnreadResponses checks that clients which request large pages and do not read them hold no more
// memory than the limit for all responses.
func TestMemoryOfUnreadResponses(t *testing.T) {
	const most = 64 << 20
	for name, ask := range map[string]func(w *serverUnderTest) *http.Request{
		"query": func(w *serverUnderTest) *http.Request {
			return w.request("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders(pk(`["a"]`)...)...)
		},
		"item": func(w *serverUnderTest) *http.Request {
			return w.request("GET", docs+"/1", "", pk(`["a"]`)...)
		},
		"list": func(w *serverUnderTest) *http.Request {
			return w.request("GET", docs, "", inPartition("x-ms-max-item-count", "-1")...)
		},
		"feed": func(w *serverUnderTest) *http.Request {
			return w.request("GET", docs, "", inPartition("a-im", "Incremental feed", "x-ms-max-item-count",
				"-1")...)
		},
		"binary": func(w *serverUnderTest) *http.Request {
			return w.request("GET", docs, "", inPartition("x-ms-max-item-count", "-1",
				"x-ms-cosmos-supported-serialization-formats", "CosmosBinary")...)
		},
		"events": func(w *serverUnderTest) *http.Request {
			return w.request("GET", own+"events?limit=1000&wait=1", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.store.Memory = most })
			w.container(hashed + `,"defaultTtl":60`)
			if name == "events" {
				w.do("PATCH", own+"settings", `{"expiryEvents":{}}`).want(200)
			}
			for n := range 60 {
				w.do("POST", docs, `{"id":"`+strconv.Itoa(n)+`","pk":"a","text":"`+
					strings.Repeat("x", 100_000)+`"}`, pk(`["a"]`)...).want(201)
			}
			if name == "events" {
				w.clock.Advance(time.Hour)
				w.do("POST", own+"reaper/run", "").want(200)
			}
			before := liveBytes()
			begun, read := make(chan struct{}), make(chan struct{})
			var clients sync.WaitGroup
			m, n := w.db.Memory(), 0
			for ; m.TryTake(m.Share()); n++ {
				m.Give(m.Share())
				clients.Go(func() {
					w.h.ServeHTTP(&blockedResponseWriter{ResponseRecorder: httptest.NewRecorder(),
						begun: begun, read: read},
						ask(w))
				})
				<-begun
			}
			held := liveBytes() - before
			close(read)
			clients.Wait()
			if t.Logf("%d clients hold %d MB", n, held>>20); held > most+most/8 || n < 5 { // an eighth for all else that lives
				t.Errorf("%d clients hold %d MB of %d", n, held>>20, most>>20)
			}
			if !m.TryTake(m.Size()) {
				t.Error("a request has kept memory")
			}
		})
	}
}

// inPartition returns the header of a partition key, followed by more headers.
func inPartition(more ...string) []string { return append(pk(`["a"]`), more...) }

// liveBytes returns the number of bytes of the heap that are in use.
func liveBytes() int64 {
	runtime.GC()
	runtime.GC() // what pools kept
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
