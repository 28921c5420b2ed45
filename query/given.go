package query

import (
	"hash/maphash"

	"github.com/mayflydb/mayfly/doc"
)

// Given are the rows that a DISTINCT without a fitting ORDER BY has given out, as hashes of 128 bits. It has
// one owner.
type Given struct {
	seeds [2]maphash.Seed
	rows  map[[2]uint64]struct{}
	key   []byte
}

// givenRow is about how many bytes a row takes in a Given.
const givenRow = 48

func newGiven() *Given {
	return &Given{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		rows: map[[2]uint64]struct{}{}}
}

// sum is the hash of a row.
func (g *Given) sum(row []byte) [2]uint64 {
	g.key = doc.AppendOrdered(g.key[:0], doc.Of(row))
	return [2]uint64{maphash.Bytes(g.seeds[0], g.key), maphash.Bytes(g.seeds[1], g.key)}
}

// Size is about how many bytes it takes.
func (g *Given) Size() int { return givenRow * (len(g.rows) + 1) }

// Memory keeps what the pages of a DISTINCT have given out for the page after them, which is found by its
// cursor. It may forget: then that page goes through the rows of all pages before it. It is used
// concurrently.
type Memory interface {
	Take(cursor string) *Given // hands over what was kept; nil: it is forgotten
	Keep(cursor string, g *Given)
}

// recall begins a page of a DISTINCT with what the pages before have given out.
func (x *execution) recall() {
	if x.opts.Cursor != "" && x.opts.Memory != nil {
		x.past = x.opts.Memory.Take(x.opts.Cursor)
	}
	if x.past == nil {
		x.past = newGiven()
		x.replay = x.opts.Cursor != ""
	}
	x.run.use(x.past.Size(), "DISTINCT")
}

// putNew gives out a row of a DISTINCT, unless it has been given before; old ones come from a part that
// earlier pages have passed, and are only noted. It is false where the page has ended.
func (x *execution) putNew(row []byte, old bool) bool {
	sum := x.past.sum(row)
	if _, given := x.past.rows[sum]; given {
		return true
	}
	more := true
	if !old {
		n := len(x.page.Rows)
		if more = x.put(row); !more && len(x.page.Rows) == n {
			return false // it is for the next page
		}
	}
	x.past.rows[sum] = struct{}{}
	x.run.use(givenRow, "DISTINCT")
	return more && x.run.err == nil
}

// isOld tells whether earlier pages have passed the current document. The page's time begins behind those.
func (x *execution) isOld() bool {
	if !x.replay {
		return false
	}
	if rid := x.current.rid; rid < x.resume.rid || rid == x.resume.rid && x.resume.rows == 0 {
		return true
	}
	if !x.caughtUp && x.run.env.Elapsed != nil {
		x.opts.Budget += x.run.env.Elapsed()
		x.late = false
	}
	x.caughtUp = true
	return false
}
