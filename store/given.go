package store

import (
	"slices"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/ttl"
)

// givenRows keeps what the pages of queries leave, until their next page is asked for: what a DISTINCT has
// given out, what others have made already. What was kept first is forgotten first, and what nobody has
// asked for in a minute: then that page makes it again.
type givenRows struct {
	wall ttl.Clock
	mu   sync.Mutex
	done bool        // nothing is kept any more
	stop func()      // the timer that looks for what is too old; nil: there is none
	kept []givenPage // the latest last
	size int         // of all, in bytes
	most int         // of them
}

type givenPage struct {
	cursor string
	rows   *query.PageState
	size   int
	since  time.Time // by the wall's clock
}

// The most that is kept, of all queries.
const (
	maxGivenSize  = 32 << 20
	maxGivenPages = 64
	// maxGivenAge is for how long: temporary files are open as long.
	maxGivenAge = time.Minute
)

func newGivenRows(m *Memory, wall ttl.Clock) *givenRows {
	return &givenRows{most: int(min(maxGivenSize, m.Size()/8)), wall: wall}
}

// watch sets the timer for the page that is the oldest. The lock is held.
func (g *givenRows) watch() {
	if g.stop != nil || g.done || len(g.kept) == 0 {
		return
	}
	left := maxGivenAge - g.wall.Now().Sub(g.kept[0].since)
	g.stop = ttl.AfterFunc(g.wall, max(left, time.Millisecond), g.forgetOld)
}

// forgetOld forgets the pages that are too old.
func (g *givenRows) forgetOld() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop = nil
	for now := g.wall.Now(); len(g.kept) > 0 && now.Sub(g.kept[0].since) >= maxGivenAge; {
		g.forget(0)
	}
	g.watch()
}

// Take implements query.Memory.
func (g *givenRows) Take(cursor string) *query.PageState {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.kept, func(p givenPage) bool { return p.cursor == cursor })
	if i < 0 {
		return nil
	}
	rows := g.kept[i].rows
	g.remove(i)
	return rows
}

// has tells whether a page has left something to the one that a cursor begins.
func (g *givenRows) has(cursor string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.kept, func(p givenPage) bool { return p.cursor == cursor })
}

// close forgets all, for good.
func (g *givenRows) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stop != nil {
		g.stop()
		g.stop = nil
	}
	for g.done = true; len(g.kept) > 0; {
		g.forget(0)
	}
}

// Keep implements query.Memory.
func (g *givenRows) Keep(cursor string, rows *query.PageState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.IndexFunc(g.kept, func(p givenPage) bool { return p.cursor == cursor }); i >= 0 {
		g.forget(i)
	}
	g.kept = append(g.kept, givenPage{cursor, rows, rows.Size(), g.wall.Now()})
	g.size += rows.Size()
	for len(g.kept) > 0 && (g.done || len(g.kept) > maxGivenPages || g.size > g.most) {
		g.forget(0)
	}
	g.watch()
}

func (g *givenRows) forget(i int) {
	g.kept[i].rows.Close()
	g.remove(i)
}

func (g *givenRows) remove(i int) {
	g.size -= g.kept[i].size
	g.kept = slices.Delete(g.kept, i, i+1)
}
