package work

import (
	"testing"
	"time"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/ttl"
)

// TestPageStateAge checks that a QueryPageStateCache drops a state when it is older than maxStateAge, and not
// before.
func TestPageStateAge(t *testing.T) {
	wall := ttl.NewManual(time.Unix(1_000_000, 0))
	g := NewPageStates(NewMemory(0), wall)
	defer g.Close()
	g.Keep("a", &query.StateBetweenPages{})
	wall.Advance(30 * time.Second)
	g.Keep("b", &query.StateBetweenPages{})
	wall.Advance(31 * time.Second)
	awaitGone(t, g, "a")
	if g.Take("b") == nil {
		t.Error("what is half a minute old is forgotten")
	}
	g.Keep("c", &query.StateBetweenPages{})
	wall.Advance(maxStateAge)
	awaitGone(t, g, "c")
}

// awaitGone waits until the cache has no state for a cursor, and fails the test after 20 seconds.
func awaitGone(t *testing.T, g *QueryPageStateCache, cursor string) {
	t.Helper()
	end := ttl.SystemClock{}.Now().Add(20 * time.Second)
	for g.Has(cursor) {
		if (ttl.SystemClock{}).Now().After(end) {
			t.Fatalf("%s is kept", cursor)
		}
	}
}
