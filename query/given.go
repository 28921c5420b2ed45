package query

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/spill"
)

// Given is what the page of a query hands to the page after it. It has one owner, who closes it.
type Given struct {
	// DISTINCT without a fitting ORDER BY: the rows that have been given out, as hashes of 128 bits
	seeds [2]maphash.Seed
	rows  map[spill.Sum]struct{}
	disk  *spill.Set // of those that rows had no room for; nil: there are none
	key   []byte

	left *left // other forms: what is to be given out
}

// givenRow is about how many bytes a row takes in a Given.
const givenRow = 48

func newGiven() *Given {
	return &Given{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		rows: map[spill.Sum]struct{}{}}
}

// sum is the hash of a row.
func (g *Given) sum(row []byte) (sum spill.Sum) {
	g.key = doc.AppendOrdered(g.key[:0], doc.Of(row))
	return g.sumOf(g.key)
}

// sumOf is sum of the encoding of a row.
func (g *Given) sumOf(key []byte) (sum spill.Sum) {
	binary.BigEndian.PutUint64(sum[:], maphash.Bytes(g.seeds[0], key))
	binary.BigEndian.PutUint64(sum[8:], maphash.Bytes(g.seeds[1], key))
	return sum
}

// has tells whether a row has been given out.
func (g *Given) has(sum spill.Sum) (bool, error) {
	if _, given := g.rows[sum]; given || g.disk == nil {
		return given, nil
	}
	return g.disk.Has(sum)
}

// spill moves the sums in memory to a file.
func (g *Given) spill(dir *spill.Dir, spend func(int) bool) error {
	if g.disk == nil {
		g.disk = dir.NewSet()
	}
	sums := slices.Collect(maps.Keys(g.rows))
	clear(g.rows)
	return g.disk.Add(sums, spend)
}

// Size is about how many bytes of memory it takes.
func (g *Given) Size() int {
	n := givenRow * (len(g.rows) + 1)
	if g.disk != nil {
		n += g.disk.Held()
	}
	if g.left != nil {
		n += g.left.held()
	}
	return n
}

// Close removes the temporary files that it has.
func (g *Given) Close() {
	if g.disk != nil {
		g.disk.Close()
	}
	g.left.close()
}

// Memory keeps what pages leave for the page after them, which is found by its cursor. It may forget, and
// closes what it forgets: then that page goes through all that the pages before it went through. It is used
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

// firstTime calls row for a row of a DISTINCT that has not been given before; old ones come from a part that
// earlier pages have passed, and are only noted. It is false where the page has ended.
func (x *execution) firstTime(old bool, row func() bool) bool {
	sum := x.past.sum(x.out)
	given, err := x.past.has(sum)
	if !x.run.spilled(err, "DISTINCT") {
		return false
	}
	if given {
		return true
	}
	more := true
	if !old {
		n := len(x.page.Rows)
		if more = row(); !more && len(x.page.Rows) == n {
			return false // it is for the next page
		}
	}
	x.past.rows[sum] = struct{}{}
	x.run.use(givenRow, "DISTINCT")
	if temp := x.run.env.Temp; temp != nil && givenRow*len(x.past.rows) > x.run.limitHeld()/8 {
		size := x.past.Size()
		x.run.spilled(x.past.spill(temp, x.run.spend), "DISTINCT")
		x.run.use(x.past.Size()-size, "DISTINCT")
	}
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
