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

// Divides reports whether a bound lies strictly inside a range.
func Divides(r *view.PartitionRange, bound []byte) bool {
	return bytes.Compare(bound, r.Min) > 0 && r.Holds(bound)
}

// Middle returns the EPK at which to split a range, so that each half has half of the documents, as nearly
// as partition keys allow. If the range has no documents, or all have the same partition key, it returns
// the middle of the range's bounds.
func Middle(r engine.Reader, keys *view.ItemKeyBuilder, of *view.PartitionRange) ([]byte, error) {
	bound, err := middleDocument(r, keys.CID, of)
	if bound == nil && err == nil {
		bound = middle(&keys.Def, of.Min, of.Max)
	}
	return bound, err
}

// middleDocument returns the EPK of the middle document of a range in the order of EPKs. If the first half
// of the documents all have that EPK, it returns the next higher one, so that documents lie on both sides
// of the result. It returns nil if all documents have the same EPK.
func middleDocument(r engine.Reader, cid uint32, s *view.PartitionRange) (epk []byte, err error) {
	rg := layout.PointsBetween(cid, s.Min, s.Max)
	n, err := view.Count(r, rg, math.MaxInt64)
	if err != nil || n == 0 {
		return nil, err
	}
	it := r.Scan(rg, false)
	var first []byte
	for i := int64(0); it.Next(); i++ {
		at, err := layout.PointEPK(it.Key())
		if err != nil {
			it.Close()
			return nil, err
		}
		if i == 0 {
			first = bytes.Clone(at)
			i += int64(engine.Skip(it, max(0, int(n/2)-1)))
		} else if !bytes.Equal(first, at) {
			epk = bytes.Clone(at)
			break
		}
	}
	return epk, it.Close()
}

// middle returns the EPK in the middle of two bounds; an empty max is the end of all EPKs. The result may
// equal one of the bounds if no EPK lies between them.
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
		max = []byte{0x40} // the first two bits of a hash are clear
	}
	sum := number(min)
	return sum.Add(sum, number(max)).Rsh(sum, 1).FillBytes(make([]byte, width))
}
