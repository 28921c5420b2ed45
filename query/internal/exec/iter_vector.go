package exec

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// nearestDocumentIterator iterates over the documents of a source in the order of ORDER BY VectorDistance,
// through an index. Documents without a distance come last, as in ORDER BY.
type nearestDocumentIterator struct {
	x      *Execution
	src    source.DocumentSource
	source int
	all    *nearestVectorIterator
	rest   orderedDocumentIterator // documents without a distance
	entry  sortEntry
	doc    source.Document
}

// openSearch opens the documents of a source in the order of their distance or text score. found lists the
// documents that can become rows; nil: they are many, or unknown.
func (x *Execution) openSearch(src source.DocumentSource, source int,
	found *allowedRIDs) (orderedDocumentIterator, error) {
	switch {
	case found != nil && len(found.rids) <= 2*x.room():
		return x.sortOf(src, source, found.rids, nil), nil
	case x.Plan.Order.Texts != nil:
		return x.openTexts(src, source, found)
	}
	return x.openNearest(src, source, found)
}

// openNearest returns an iterator over the documents of a source in the order of the distance of their
// vectors from the query's vector. at is the number of the source. found restricts the documents to these
// rids; nil: no restriction.
func (x *Execution) openNearest(src source.DocumentSource, at int,
	found *allowedRIDs) (orderedDocumentIterator, error) {
	all, err := x.OpenDistances(src, x.Plan.Order.Vectors, found, x.backwards())
	switch {
	case err != nil:
		return nil, err
	case all != nil:
		return &nearestDocumentIterator{x: x, src: src, source: at, all: all}, nil
	case found != nil:
		return x.sortOf(src, at, found.rids, nil), nil
	}
	return x.newBatch(src, at, func() (source.DocumentIterator, error) { return x.candidates(src, 0, true) }), nil
}

func (n *nearestDocumentIterator) Next() (bool, error) {
	x := n.x
	for n.rest == nil {
		e, ok, err := n.all.Next()
		if err != nil {
			return false, err
		}
		if !ok {
			n.openRest()
			break
		}
		value := eval.OrderedBy(jsondoc.NumberValue(n.all.v.Sign() * e.distance))
		key := eval.AppendKey(x.Plan.Top.Order[0], nil, value)
		n.entry = sortEntry{key: key, source: n.source, rid: e.rid, holds: true}
		if !x.isAfterStart(&n.entry) {
			continue
		}
		var live bool
		if n.doc, live, err = n.src.Fetch(e.rid); err != nil {
			return false, err
		}
		if live && x.enter(n.doc, x.Plan.Rows) {
			return true, nil
		}
		if _, err := x.stop(); err != nil {
			return false, err
		}
	}
	ok, err := n.rest.Next()
	if ok {
		e, d := n.rest.at()
		n.entry, n.doc = *e, d
	}
	return ok, err
}

// openRest continues with the documents without a distance.
func (n *nearestDocumentIterator) openRest() {
	x := n.x
	n.rest = x.newBatch(n.src, n.source, func() (source.DocumentIterator, error) {
		var docs source.DocumentIterator
		var err error
		if n.all.allowed != nil {
			rids := &SortedRIDListIterator{Rids: n.all.without}
			docs = &ridListDocumentIterator{x: x, src: n.src, rids: rids, skip: x.skip}
		} else {
			docs, err = x.candidates(n.src, 0, true)
		}
		return &undefinedValueDocumentIterator{docs, x, x.Plan.Order.Keys[0]}, err
	})
}

func (n *nearestDocumentIterator) at() (*sortEntry, source.Document) { return &n.entry, n.doc }

func (n *nearestDocumentIterator) close() error {
	if n.rest != nil {
		return n.rest.close()
	}
	return nil
}
