package split

import (
	"bytes"
	"math"
	"math/big"
	"sort"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Divides reports whether a bound lies inside of a range.
func Divides(r *view.Range, bound []byte) bool {
	return bytes.Compare(bound, r.Min) > 0 && r.Holds(bound)
}

// Middle is the EPK at which half of the documents of a range go either way, as far as partition keys allow;
// that in the middle of its bounds where its documents have one partition key, or it has none.
func Middle(r engine.Reader, keys *view.Keys, of *view.Range) ([]byte, error) {
	bound, err := middleDocument(r, keys.CID, of)
	if bound == nil && err == nil {
		bound = middle(&keys.Def, of.Min, of.Max)
	}
	return bound, err
}

// middleDocument returns the EPK of the document in the middle of a range, in the order of EPKs, or the next
// one above it where none would be below. It is nil where all documents have the same.
func middleDocument(r engine.Reader, cid uint32, s *view.Range) (epk []byte, err error) {
	rg := layout.PointsBetween(cid, s.Min, s.Max)
	n, err := view.Count(r, rg, math.MaxInt64)
	if err != nil || n == 0 {
		return nil, err
	}
	it := r.Scan(rg, false)
	var first []byte
	for i := int64(0); it.Next(); i++ {
		if i > 0 && i < n/2 {
			continue
		}
		at, err := layout.PointEPK(it.Key())
		if err != nil {
			it.Close()
			return nil, err
		}
		if i == 0 {
			first = bytes.Clone(at)
		} else if !bytes.Equal(first, at) {
			epk = bytes.Clone(at)
			break
		}
	}
	return epk, it.Close()
}

// middle is the EPK in the middle of two bounds; an empty max is the end of all. It may be one of the bounds
// where there is nothing between them.
func middle(def *definition.PartitionKeyDefinition, min, max []byte) []byte {
	if def.Version != 2 {
		hashed := func(hash int) []byte { return definition.AppendBinaryNumber(nil, float64(hash)) }
		lo := sort.Search(math.MaxUint32, func(h int) bool { return bytes.Compare(hashed(h), min) > 0 })
		hi := sort.Search(math.MaxUint32,
			func(h int) bool { return len(max) > 0 && bytes.Compare(hashed(h), max) >= 0 })
		return hashed((lo + hi) / 2)
	}
	width := definition.EPKHashLen
	for _, b := range [][]byte{min, max} {
		if len(b) > width {
			width = len(b)
		}
	}
	number := func(epk []byte) *big.Int {
		return new(big.Int).SetBytes(append(bytes.Clone(epk), make([]byte, width-len(epk))...))
	}
	if len(max) == 0 {
		max = []byte{0x40} // hashes begin with two bits that are clear
	}
	sum := number(min)
	return sum.Add(sum, number(max)).Rsh(sum, 1).FillBytes(make([]byte, width))
}
