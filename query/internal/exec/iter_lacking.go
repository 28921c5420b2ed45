package exec

import (
	"math"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// without iterates over the documents that do not have the path. ORDER BY treats them as equal, so they come
// in ascending or descending order of rids. If the source cannot list them, all its documents are read.
func (wk *indexWalker) without() orderedDocumentIterator {
	from := wk.resumedAt()
	if shapes, ok := wk.src.(source.DocumentsWithoutPathLister); ok {
		if rids, ok := shapes.Lacking(wk.w.Path, from, wk.w.Reverse); ok {
			found := &missingPathDocumentIterator{wk: wk}
			docs := &ridListDocumentIterator{x: wk.x, src: wk.src, rids: rids, begun: true, allowed: wk.allowed,
				skip: found.skip}
			found.docs = &undefinedValueDocumentIterator{docs, wk.x, wk.x.Plan.Order.Keys[0]}
			return found
		}
	}
	return wk.x.newBatch(wk.src, wk.source, func() (source.DocumentIterator, error) {
		return &undefinedValueDocumentIterator{wk.x.scan(wk.src, 0), wk.x, wk.x.Plan.Order.Keys[0]}, nil
	})
}

// lacking iterates over the documents that do not have the GROUP BY path.
func (x *Execution) lacking(src source.DocumentSource) (source.DocumentIterator, error) {
	path := x.Plan.IndexOnly.Path
	if shapes, ok := src.(source.DocumentsWithoutPathLister); ok {
		if rids, ok := shapes.Lacking(path, 0, false); ok {
			docs := &ridListDocumentIterator{x: x, src: src, rids: rids, begun: true, skip: x.skip}
			return &undefinedValueDocumentIterator{docs, x, x.Plan.Rows.GroupBy[0]}, nil
		}
	}
	return &undefinedValueDocumentIterator{x.scan(src, 0), x, x.Plan.Rows.GroupBy[0]}, nil
}

// resumedAt returns the rid at which to begin among the documents without the path.
func (wk *indexWalker) resumedAt() uint64 {
	if f := &wk.x.from; f.Begun && !f.Cut {
		if values, ok := wk.x.orderValues(f.Key); ok && values[0].Kind() == jsondoc.Undefined {
			return f.Rid
		}
	}
	if wk.w.Reverse {
		return math.MaxUint64
	}
	return 0
}

// missingPathDocumentIterator returns the documents of docs unsorted. They all lack the path of the index, so
// their ORDER BY keys are equal.
type missingPathDocumentIterator struct {
	wk    *indexWalker
	docs  source.DocumentIterator
	rests bool // docs has stopped at an entry that has no document
}

// skip is called for each rid that the iterator docs passes over, because the rid has no live document in the
// scope. It returns false if docs must stop there.
func (o *missingPathDocumentIterator) skip(rid uint64) bool {
	o.rests = o.wk.stops(rid, func() []jsondoc.Value { return []jsondoc.Value{{}} })
	return !o.rests && o.wk.x.skip(rid)
}

func (o *missingPathDocumentIterator) Next() (bool, error) {
	if o.wk.returnedKey != nil && len(o.wk.returnedKey) == 0 {
		return false, nil // one document without the path is enough
	}
	for o.docs.Next() {
		if err := o.wk.x.pass(lang.RowWork); err != nil {
			return false, err
		}
		x, d := o.wk.x, o.docs.Document()
		x.load(d)
		if o.wk.reach(d, x.orderKey(o.wk.entry.key[:0])) {
			return true, nil
		}
	}
	rests := o.rests
	o.rests = false
	return rests, o.docs.Err()
}

func (o *missingPathDocumentIterator) at() (*sortEntry, source.Document) {
	return &o.wk.entry, o.wk.doc
}
func (o *missingPathDocumentIterator) close() error { return o.docs.Close() }

// undefinedValueDocumentIterator iterates over the documents for which value is undefined. Next makes each of
// them the current one.
type undefinedValueDocumentIterator struct {
	source.DocumentIterator
	x     *Execution
	value eval.ValueFunc
}

func (d *undefinedValueDocumentIterator) Next() bool {
	for d.x.pass(lang.RowWork) == nil && d.DocumentIterator.Next() {
		d.x.f.Enter(d.Document())
		d.x.Plan.Rows.BindPaths(d.x.f)
		if d.value(d.x.f).Kind() == jsondoc.Undefined {
			return true
		}
	}
	return false
}
