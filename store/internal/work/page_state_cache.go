package work

import (
	"slices"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/ttl"
)

// QueryPageStateCache caches the states that pages of queries keep for their next pages: the rows that a
// DISTINCT has already returned, and rows that are computed but not returned yet. It drops the oldest state
// first, and every state after maxStateAge; the next page then computes the rows again. It is safe for
// concurrent use.
type QueryPageStateCache struct {
	wall ttl.Clock
	mu   sync.Mutex
	done bool                   // closed: nothing is kept any more
	stop func()                 // stops the timer for old states; nil: no timer is set
	kept []cachedQueryPageState // oldest first
	size int                    // total size in bytes
	most int                    // maximum of size
}

// cachedQueryPageState is a cached state, with the cursor (the position in the query's continuation token) of
// the page that it is for.
type cachedQueryPageState struct {
	cursor string
	rows   *query.StateBetweenPages
	size   int
	since  time.Time // in real time
}

// The limits of a QueryPageStateCache, for the states of all queries together: bytes, number, and age.
const (
	maxStateSize = 32 << 20
	maxStates    = 64
	// maxStateAge is the age after which a state that a query keeps between two pages is dropped. It also
	// bounds how long the temporary files of a state stay open.
	maxStateAge = time.Minute
)

// NewPageStates returns a cache for the states that queries keep between two pages. The states take at most
// an eighth of the memory budget m. wall is the clock that determines their age.
func NewPageStates(m *MemoryBudget, wall ttl.Clock) *QueryPageStateCache {
	return &QueryPageStateCache{most: int(min(maxStateSize, m.Size()/8)), wall: wall}
}

// watch sets the timer that drops the oldest of the states that pages have kept for their next pages when it
// reaches maxStateAge. The caller holds mu.
func (p *QueryPageStateCache) watch() {
	if p.stop != nil || p.done || len(p.kept) == 0 {
		return
	}
	left := maxStateAge - p.wall.Now().Sub(p.kept[0].since)
	p.stop = ttl.AfterFunc(p.wall, max(left, time.Millisecond), p.forgetOld)
}

// forgetOld drops the states that are older than maxStateAge.
func (p *QueryPageStateCache) forgetOld() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop = nil
	for now := p.wall.Now(); len(p.kept) > 0 && now.Sub(p.kept[0].since) >= maxStateAge; {
		p.forget(0)
	}
	p.watch()
}

// Take removes and returns the state for the page that begins at a cursor (the position in the query's
// continuation token), or nil if there is none.
func (p *QueryPageStateCache) Take(cursor string) *query.StateBetweenPages {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.kept, func(p cachedQueryPageState) bool { return p.cursor == cursor })
	if i < 0 {
		return nil
	}
	rows := p.kept[i].rows
	p.remove(i)
	return rows
}

// Has reports whether a state is cached for the page that begins at a cursor (the position in the query's
// continuation token).
func (p *QueryPageStateCache) Has(cursor string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.kept, func(p cachedQueryPageState) bool { return p.cursor == cursor })
}

// Close drops all states and keeps no new ones.
func (p *QueryPageStateCache) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
	for p.done = true; len(p.kept) > 0; {
		p.forget(0)
	}
}

// Keep stores the state for the page that begins at a cursor (the position in the query's continuation
// token).
func (p *QueryPageStateCache) Keep(cursor string, rows *query.StateBetweenPages) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.kept, func(p cachedQueryPageState) bool {
		return p.cursor == cursor
	}); i >= 0 {
		p.forget(i)
	}
	p.kept = append(p.kept, cachedQueryPageState{cursor, rows, rows.Size(), p.wall.Now()})
	p.size += rows.Size()
	for len(p.kept) > 0 && (p.done || len(p.kept) > maxStates || p.size > p.most) {
		p.forget(0)
	}
	p.watch()
}

func (p *QueryPageStateCache) forget(i int) {
	p.kept[i].rows.Close()
	p.remove(i)
}

func (p *QueryPageStateCache) remove(i int) {
	p.size -= p.kept[i].size
	p.kept = slices.Delete(p.kept, i, i+1)
}
