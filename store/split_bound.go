package store

import (
	"bytes"
	"context"
	"math"
	"math/big"
	"sort"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// splitPoint finds where to split a range.
func (c *Container) splitPoint(ctx context.Context, s *slot, at string) (bound []byte, err error) {
	if at == "" {
		if bound, err = c.middleDocument(ctx, s); bound == nil && err == nil {
			bound = middle(&c.def, s.min, s.max)
		}
		if err == nil && (bytes.Compare(bound, s.min) <= 0 || !s.holds(bound)) {
			err = unsplittable(s.id)
		}
		return bound, err
	}
	if bound, err = epkBound(at); err != nil {
		return nil, err
	}
	if bytes.Compare(bound, s.min) <= 0 || !s.holds(bound) || definition.EPKHex(bound) >= definition.MaxEPK ||
		len(bound) > math.MaxUint8 {
		return nil, fail(fault.CodeBadRequest, "'"+at+"' does not lie inside of the partition key range '"+
			s.id+"'.")
	}
	return bound, nil
}

func unsplittable(rangeID string) error {
	return fail(fault.CodeConflict, "The partition key range '"+rangeID+"' cannot be split further.")
}

// middleDocument returns the EPK of the document in the middle of a range, in the order of EPKs, or the next
// one above it where none would be below. It is nil where all documents have the same.
func (c *Container) middleDocument(ctx context.Context, s *slot) (epk []byte, err error) {
	rg := layout.PointsBetween(c.cid, s.min, s.max)
	err = c.db.view(ctx, func(r engine.Reader) error {
		n, err := view.Count(r, rg, math.MaxInt64)
		if err != nil || n == 0 {
			return err
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
				return err
			}
			if i == 0 {
				first = bytes.Clone(at)
			} else if !bytes.Equal(first, at) {
				epk = bytes.Clone(at)
				break
			}
		}
		return it.Close()
	})
	return epk, err
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
