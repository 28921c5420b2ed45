package store

import (
	"testing"
	"time"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/ttl"
)

// TestGivenAge: what a page leaves is forgotten after a minute, and what is asked for before is not.
func TestGivenAge(t *testing.T) {
	wall := ttl.NewManual(time.Unix(1_000_000, 0))
	g := newGivenRows(NewMemory(0), wall)
	defer g.close()
	g.Keep("a", &query.PageState{})
	wall.Advance(30 * time.Second)
	g.Keep("b", &query.PageState{})
	wall.Advance(31 * time.Second)
	awaitGone(t, g, "a")
	if g.Take("b") == nil {
		t.Error("what is half a minute old is forgotten")
	}
	g.Keep("c", &query.PageState{})
	wall.Advance(maxGivenAge)
	awaitGone(t, g, "c")
}

// awaitGone waits until nothing is kept for a cursor.
func awaitGone(t *testing.T, g *givenRows, cursor string) {
	t.Helper()
	end := ttl.Real{}.Now().Add(20 * time.Second)
	for g.has(cursor) {
		if (ttl.Real{}).Now().After(end) {
			t.Fatalf("%s is kept", cursor)
		}
	}
}

// TestWebhookURLs: a URL that can lead nowhere is refused.
func TestWebhookURLs(t *testing.T) {
	check := func(url string) error { return (&ExpiryEvents{Webhooks: []Webhook{{URL: url}}}).check() }
	for _, url := range []string{"http://127.0.0.1/", "https://example.com:8443/a", "http://[::1]:80/",
		"http://a_b/", "http://3fa9c1d2e4b5:80/", "http://localhost./", "http://host.docker.internal/"} {
		if err := check(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{"http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0/",
		"http://a:0/", "http://a:99999/", "http://a..b/", "http://.a/", "ftp://a/", "http:///a", "http://1.2.3.0xff/"} {
		if err := check(url); err == nil {
			t.Errorf("%s is taken", url)
		}
	}
}
