package store

import (
	"slices"
	"sync"

	"github.com/mayflydb/mayfly/query"
)

// givenRows keeps what the pages of queries leave, until their next page is asked for: what a DISTINCT has
// given out, what others have made already. What was kept first is forgotten first: then that page makes it
// again.
type givenRows struct {
	mu   sync.Mutex
	done bool        // nothing is kept any more
	kept []givenPage // the latest last
	size int         // of all, in bytes
	most int         // of them
}

type givenPage struct {
	cursor string
	rows   *query.Given
	size   int
}

// The most that is kept, of all queries.
const (
	maxGivenSize  = 32 << 20
	maxGivenPages = 64
)

func newGivenRows(m *Memory) *givenRows {
	return &givenRows{most: int(min(maxGivenSize, m.Size()/8))}
}

// Take implements query.Memory.
func (g *givenRows) Take(cursor string) *query.Given {
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
	for g.done = true; len(g.kept) > 0; {
		g.forget(0)
	}
}

// Keep implements query.Memory.
func (g *givenRows) Keep(cursor string, rows *query.Given) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.IndexFunc(g.kept, func(p givenPage) bool { return p.cursor == cursor }); i >= 0 {
		g.forget(i)
	}
	g.kept = append(g.kept, givenPage{cursor, rows, rows.Size()})
	g.size += rows.Size()
	for len(g.kept) > 0 && (g.done || len(g.kept) > maxGivenPages || g.size > g.most) {
		g.forget(0)
	}
}

func (g *givenRows) forget(i int) {
	g.kept[i].rows.Close()
	g.remove(i)
}

func (g *givenRows) remove(i int) {
	g.size -= g.kept[i].size
	g.kept = slices.Delete(g.kept, i, i+1)
}
