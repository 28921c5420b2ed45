package httpapi

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestThrottle checks Options.Throttle: a container of 400 RU/s accepts writes until their cost exceeds
// its throughput of a second, then refuses one with 429 and the time to wait. Requests for definitions are
// free.
func TestThrottle(t *testing.T) {
	t.Parallel()
	key := pk(`["a"]`)
	item := func(i int) string {
		return `{"id":"` + strconv.Itoa(i) + `","pk":"a","pad":"` + strings.Repeat("x", 1000) + `"}`
	}
	free := newServerUnderTest(t)
	free.container("")
	for i := range 200 {
		free.do("POST", docs, item(i), key...).want(201)
	}

	w := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.server.Throttle = true })
	w.container("")
	taken, spent := 0, 0.0
	for ; spent < 400; taken++ {
		a := w.do("POST", docs, item(taken), key...).want(201)
		charge, err := strconv.ParseFloat(a.header.Get("X-Ms-Request-Charge"), 64)
		if err != nil {
			t.Fatal(err)
		}
		spent += charge
	}
	w.do("GET", "/dbs/d/colls/c", "").want(200)
	w.do("GET", "/dbs/d/colls/c/pkranges", "").want(200)
	refused := w.do("POST", docs, item(taken), key...).fails(429, 3200, "Request rate is large")
	wait, err := strconv.Atoi(refused.header.Get("X-Ms-Retry-After-Ms"))
	if want := int((spent-400)/400*1000 + 1); err != nil || wait < 1 || wait > want {
		t.Errorf("retry after %q ms with %.2f RU spent, want 1 to %d",
			refused.header.Get("X-Ms-Retry-After-Ms"), spent, want)
	}
	w.do("POST", docs, `{"query":"SELECT VALUE COUNT(1) FROM c"}`,
		append(key, "x-ms-documentdb-isquery", "True", "Content-Type", "application/query+json")...).
		fails(429, 3200, "Request rate is large")
	w.wall.Advance(time.Duration(wait) * time.Millisecond)
	w.do("POST", docs, item(taken), key...).want(201)
	w.do("GET", docs+"/0", "", key...).fails(429, 3200, "")
}
