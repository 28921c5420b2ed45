package exec

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/heap"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// Searching vectors.
//
// The index holds the vectors alone, as 32-bit floats, which is the precision in which distances are
// calculated. So distances are calculated from the index, and equal those calculated from the documents to
// the last bit. A document is read only when it is the next one to return. If few documents can match the
// conditions, only their vectors are looked up.

// DocumentDistance is a document and its distance; smaller is better.
type DocumentDistance struct {
	distance float64
	rid      uint64
}

// estimateSize is the memory in bytes of one estimated distance between a document's vector and that of the
// query.
const estimateSize = 16

// nearestVectorIterator iterates over the vectors of a source in the order of their distance from a query's
// vector. It leaves out vectors without a distance. The vectors may belong to documents that are dead or
// outside the scope.
type nearestVectorIterator struct {
	x          *Execution
	src        source.DocumentSource
	v          *plan.VectorOrder
	allowed    *allowedRIDs // the documents to search; nil: all
	without    []uint64     // the members that have no distance
	exact      heap.Heap[DocumentDistance]
	candidates vectorCandidates // to be looked up
	vector     []float32        // scratch
}

// OpenDistances calculates the distances of a source. only lists the documents to search; nil: all. If latest
// is set, the latest of equally distant documents comes first. The result is nil if the index has vectors of
// another length than the query's, or too many.
func (x *Execution) OpenDistances(src source.DocumentSource, v *plan.VectorOrder, only *allowedRIDs,
	latest bool) (*nearestVectorIterator, error) {
	d := &nearestVectorIterator{x: x, src: src, v: v, allowed: only}
	d.exact.Before = func(a, b DocumentDistance) bool {
		c := cmp.Compare(a.distance, b.distance)
		if c == 0 {
			c = cmp.Compare(a.rid, b.rid)
			if latest {
				c = -c
			}
		}
		return c < 0
	}
	read := d.walk
	if _, ok := src.(source.IndexEntryReader); ok && only != nil {
		read = d.lookUp
	} else if ok && v.Codes != nil {
		read = d.walkCodes
	}
	if usable, err := read(); !usable || err != nil {
		return nil, err
	}
	slices.Sort(d.without)
	d.exact.Init()
	return d, nil
}

// walk reads all vectors of the index and computes their distances from the query's vector. usable is
// false if one has another length, or if there are too many; the query is then run without the index.
func (d *nearestVectorIterator) walk() (usable bool, err error) {
	var met []uint64
	usable, err = d.each(d.v.Key, func(rid uint64, value []byte) (bool, error) {
		if !d.allowed.has(rid) {
			return true, nil
		}
		if d.allowed != nil {
			met = append(met, rid)
		}
		return d.take(rid, value)
	})
	if d.allowed != nil {
		for _, rid := range d.allowed.rids {
			if !(&allowedRIDs{met}).has(rid) {
				d.without = append(d.without, rid)
			}
		}
	}
	return usable, err
}

// each calls fn for each index entry of a key. It stops if fn returns an error or usable is false, and
// returns what fn has returned.
func (d *nearestVectorIterator) each(key []byte,
	fn func(rid uint64, value []byte) (bool, error)) (usable bool, err error) {
	terms := d.src.Terms(key, append(bytes.Clone(key), 0xFF), false)
	defer func() {
		if e := terms.Close(); err == nil {
			err = e
		}
	}()
	for terms.Next() {
		if usable, err := fn(terms.RID(), terms.Value()); !usable || err != nil {
			return usable, err
		}
	}
	return true, nil
}

// lookUp reads from the index the vectors of the documents that can match the conditions, and computes
// their distances from the query's vector. usable is false if one has another length, or if there are too
// many; the query is then run without the index.
func (d *nearestVectorIterator) lookUp() (usable bool, err error) {
	for _, rid := range d.allowed.rids {
		value, ok, err := d.src.(source.IndexEntryReader).Value(d.v.Key, rid)
		if err != nil {
			return false, err
		}
		if !ok {
			d.without = append(d.without, rid)
			continue
		}
		if usable, err := d.take(rid, value); !usable || err != nil {
			return usable, err
		}
	}
	return true, nil
}

// take calculates the distance of one entry. usable is false if the vector has another length than the
// query's vector, or if there are too many vectors.
func (d *nearestVectorIterator) take(rid uint64, value []byte) (usable bool, err error) {
	d.x.page.Stats.IndexEntries++
	if err := d.x.pass(lang.EntryWork + len(value)); err != nil {
		return false, err
	}
	d.vector = index.DecodeVector(d.vector[:0], value)
	if len(d.vector) != len(d.v.Query) || len(d.exact.List) >= d.x.Run.LimitHeld()/estimateSize {
		return false, nil
	}
	distance, defined := d.v.Metric.Distance(d.vector, d.v.Query, d.v.Square)
	if !defined {
		if d.allowed != nil {
			d.without = append(d.without, rid)
		}
		return true, nil
	}
	d.x.Run.Use(estimateSize, "ORDER BY")
	d.exact.List = append(d.exact.List, DocumentDistance{d.v.Sign() * distance, rid})
	return d.x.Run.Err == nil, d.x.Run.Err
}

// Next returns the next document with its distance. ok is false at the end.
func (d *nearestVectorIterator) Next() (e DocumentDistance, ok bool, err error) {
	if err := d.x.pass(lang.EntryWork); err != nil {
		return e, false, err
	}
	if err := d.settle(); err != nil || len(d.exact.List) == 0 {
		return e, false, err
	}
	return d.exact.Pop(), true, nil
}
