package eval

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/spill"
)

// RowHashSet is the set of rows that a DISTINCT has seen, as hashes of 128 bits. Close removes its temporary
// files.
type RowHashSet struct {
	seeds [2]maphash.Seed
	Rows  map[spill.Hash128]struct{}
	disk  *spill.DiskHashSet // hashes that did not fit in memory; nil: none
	key   []byte
}

// RowHashSize is the approximate size of a row in a RowHashSet, in bytes.
const RowHashSize = 48

// NewRowHashes returns a RowHashSet without rows. Its hash function has random seeds of its own.
func NewRowHashes() *RowHashSet {
	return &RowHashSet{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		Rows: map[spill.Hash128]struct{}{}}
}

// Sum returns the hash of a row.
func (g *RowHashSet) Sum(row []byte) (sum spill.Hash128) {
	g.key = jsondoc.AppendOrdered(g.key[:0], jsondoc.Of(row))
	return g.sumOf(g.key)
}

// sumOf returns the hash of a row, given as its encoding.
func (g *RowHashSet) sumOf(key []byte) (sum spill.Hash128) {
	binary.BigEndian.PutUint64(sum[:], maphash.Bytes(g.seeds[0], key))
	binary.BigEndian.PutUint64(sum[8:], maphash.Bytes(g.seeds[1], key))
	return sum
}

// Has reports whether the set contains a row.
func (g *RowHashSet) Has(sum spill.Hash128) (bool, error) {
	if _, given := g.Rows[sum]; given || g.disk == nil {
		return given, nil
	}
	return g.disk.Has(sum)
}

// Spill moves the hashes in memory to a file.
func (g *RowHashSet) Spill(dir *spill.TempDir, spend func(int) bool) error {
	if g.disk == nil {
		g.disk = dir.NewSet()
	}
	sums := slices.Collect(maps.Keys(g.Rows))
	clear(g.Rows)
	return g.disk.Add(sums, spend)
}

// Size returns the approximate memory of the set in bytes.
func (g *RowHashSet) Size() int {
	n := RowHashSize * (len(g.Rows) + 1)
	if g.disk != nil {
		n += g.disk.Held()
	}
	return n
}

// Close removes the temporary files.
func (g *RowHashSet) Close() {
	if g.disk != nil {
		g.disk.Close()
	}
}
