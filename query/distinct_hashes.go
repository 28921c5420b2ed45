package query

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/spill"
)

// rowHashes are the rows that a DISTINCT has met, as hashes of 128 bits. Close removes their temporary files.
type rowHashes struct {
	seeds [2]maphash.Seed
	rows  map[spill.Sum]struct{}
	disk  *spill.Set // of those that rows had no room for; nil: there are none
	key   []byte
}

// rowHashSize is about how many bytes a row takes in a Given.
const rowHashSize = 48

func newRowHashes() *rowHashes {
	return &rowHashes{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		rows: map[spill.Sum]struct{}{}}
}

// Sum is the hash of a row.
func (g *rowHashes) sum(row []byte) (sum spill.Sum) {
	g.key = doc.AppendOrdered(g.key[:0], doc.Of(row))
	return g.sumOf(g.key)
}

// sumOf is sum of the encoding of a row.
func (g *rowHashes) sumOf(key []byte) (sum spill.Sum) {
	binary.BigEndian.PutUint64(sum[:], maphash.Bytes(g.seeds[0], key))
	binary.BigEndian.PutUint64(sum[8:], maphash.Bytes(g.seeds[1], key))
	return sum
}

// has tells whether a row has been given out.
func (g *rowHashes) has(sum spill.Sum) (bool, error) {
	if _, given := g.rows[sum]; given || g.disk == nil {
		return given, nil
	}
	return g.disk.Has(sum)
}

// spill moves the sums in memory to a file.
func (g *rowHashes) spill(dir *spill.Dir, spend func(int) bool) error {
	if g.disk == nil {
		g.disk = dir.NewSet()
	}
	sums := slices.Collect(maps.Keys(g.rows))
	clear(g.rows)
	return g.disk.Add(sums, spend)
}

// Size is about how many bytes of memory they take.
func (g *rowHashes) size() int {
	n := rowHashSize * (len(g.rows) + 1)
	if g.disk != nil {
		n += g.disk.Held()
	}
	return n
}

// close removes the temporary files.
func (g *rowHashes) close() {
	if g.disk != nil {
		g.disk.Close()
	}
}
