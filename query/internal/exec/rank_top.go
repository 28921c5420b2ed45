package exec

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/mayflydb/mayfly/internal/heap"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// This file finds the best documents by one score through the index. Documents that contain a term or have a
// distance are read in the order of their scores until there are enough rows. After them come the other
// texts, which score 0, and then the documents without a score, each in the order of sources and rids. They
// are read only if needed.

// scoredDocument is a document with a score; greater is better.
type scoredDocument struct {
	score  float64
	source int
	rid    uint64
}

// scoredSize is the size of a scored document in bytes.
const scoredSize = 24

// before reports whether s comes before o: the better score comes first.
func (s scoredDocument) before(o scoredDocument) bool {
	return cmp.Or(cmp.Compare(o.score, s.score), cmp.Compare(s.source, o.source),
		cmp.Compare(s.rid, o.rid)) < 0
}

// rankedDocumentIterator iterates over the documents that match the conditions, best scores first. Next makes
// the document that it returns the current one.
type rankedDocumentIterator struct {
	x *Execution
	r *rankScoreState
	// the documents that can match the conditions, by source; nil: they are unknown or many
	allowed [][]uint64
	heap    heap.Heap[scoredDocument]
	near    []*nearestVectorIterator // distances that come after those in the heap, by source
	rest    source.DocumentIterator
	at      int  // the source of rest
	zero    bool // rest returns texts that score 0; if not set, documents without a score
}

// newTopRanked returns the iterator over documents by one score of ORDER BY RANK, the best first, or nil if
// the index for this score cannot be used. only has, for each source, the rids of the documents that may be
// returned; nil: all.
func (x *Execution) newTopRanked(r *rankScoreState, only [][]uint64) (*rankedDocumentIterator, error) {
	b := &rankedDocumentIterator{x: x, r: r, allowed: only,
		heap: heap.Heap[scoredDocument]{Before: scoredDocument.before}, zero: r.Text != nil}
	for i, src := range x.sources {
		if r.Text != nil {
			b.addTexts(i)
			continue
		}
		var found *allowedRIDs
		if only != nil {
			found = &allowedRIDs{only[i]}
		}
		near, err := x.OpenDistances(src, r.Vectors, found, false)
		if near == nil || err != nil {
			return nil, err
		}
		b.near = append(b.near, near)
		if err := b.refill(i); err != nil {
			return nil, err
		}
	}
	x.Run.Use(scoredSize*len(b.heap.List), "ORDER BY RANK")
	b.heap.Init()
	return b, x.Run.Err
}

// addTexts adds to the heap the texts of one source that have any of the terms, with their scores.
func (b *rankedDocumentIterator) addTexts(source int) {
	s := &b.r.indexed[source]
	for i, rid := range s.rids {
		if b.allowed != nil {
			if _, found := slices.BinarySearch(b.allowed[source], rid); !found {
				continue
			}
		}
		b.heap.List = append(b.heap.List, scoredDocument{s.scores[i], source, rid})
	}
}

// refill adds the source's next document in the order of the distance of vectors to the heap. It does
// nothing if the documents are not found by an index of vectors.
func (b *rankedDocumentIterator) refill(source int) error {
	if b.near == nil {
		return nil
	}
	e, ok, err := b.near[source].Next()
	if ok {
		b.heap.Push(scoredDocument{-e.distance, source, e.rid})
	}
	return err
}

func (b *rankedDocumentIterator) Next() (s scoredDocument, ok bool, err error) {
	x := b.x
	for len(b.heap.List) > 0 {
		s := b.heap.Pop()
		if err := b.refill(s.source); err != nil {
			return s, false, err
		}
		d, live, err := x.sources[s.source].Fetch(s.rid)
		if err != nil {
			return s, false, err
		}
		passes := live && x.enter(d, x.Plan.Rows) && x.hasRow()
		if _, err := x.stop(); err != nil || passes {
			return s, err == nil, err
		}
	}
	for {
		if s, ok, err := b.nextOfRest(); ok || err != nil {
			return s, ok, err
		}
		if b.at++; b.at < len(x.sources) {
			continue
		}
		if !b.zero {
			return s, false, nil
		}
		b.at, b.zero = 0, false
	}
}

// nextOfRest returns the next document of the current source that was not in the heap of scored documents: a
// text without any of the terms, or, in a second pass, a document without a score. ok is false if the source
// has no more such documents.
func (b *rankedDocumentIterator) nextOfRest() (s scoredDocument, ok bool, err error) {
	x := b.x
	if b.at == len(x.sources) {
		return s, false, nil
	}
	if b.rest == nil {
		if b.rest, err = b.openRest(x.sources[b.at]); err != nil {
			return s, false, err
		}
	}
	for x.Next(b.rest) {
		passes := x.enter(b.rest.Document(), x.Plan.Rows) && x.hasRow()
		if _, err := x.stop(); err != nil {
			return s, false, err
		}
		if passes && b.wants() {
			return scoredDocument{math.Inf(-1), b.at, x.f.Item.RID()}, true, nil
		}
	}
	err = b.close()
	return s, false, err
}

// wants reports whether to return the current document in this pass over the documents that have no place
// among the ranked ones. With full text ranking, the pass with zero set returns the documents whose text
// contains none of the terms (score 0), and the next pass those without a text. With other ranking, one pass
// returns the documents without a score.
func (b *rankedDocumentIterator) wants() bool {
	x := b.x
	x.Plan.Rows.BindPaths(x.f)
	if b.r.Text == nil {
		return b.r.Score(x.f).Kind() != jsondoc.Number
	}
	_, met := slices.BinarySearch(b.r.indexed[b.at].rids, x.f.Item.RID())
	return !met && (b.r.Text(x.f).Kind() == jsondoc.String) == b.zero
}

// openRest opens an iterator that includes the documents of src that were not found through the index: texts
// that score 0, or documents without a score. The caller skips the documents that were found. If it is known
// which documents can match the conditions, the iterator reads only these.
func (b *rankedDocumentIterator) openRest(src source.DocumentSource) (source.DocumentIterator, error) {
	x := b.x
	if b.allowed != nil {
		rids := &SortedRIDListIterator{Rids: b.allowed[b.at]}
		return &ridListDocumentIterator{x: x, src: src, rids: rids, skip: x.skip}, nil
	}
	partition, scoped := src.Partition()
	if scoped {
		if err := partition.Close(); err != nil {
			return nil, err
		}
	}
	if !b.zero || scoped || len(x.Plan.AccessPaths) > 0 {
		return x.candidates(src, 0, false)
	}
	rids := src.Postings(x.Plan.Info.Index.TextKey(b.r.Path, ""))
	return &ridListDocumentIterator{x: x, src: src, rids: rids, skip: x.skip}, nil
}

func (b *rankedDocumentIterator) close() (err error) {
	if b.rest != nil {
		err = b.rest.Err()
		if e := b.rest.Close(); err == nil {
			err = e
		}
		b.rest = nil
	}
	return err
}

// rankFromIndex makes one document after the other the current one, in the order of ORDER BY RANK, and
// calls row for each. It reads the scores from indexes. done is false, and row has not been called, if the
// indexes cannot be used.
func (x *Execution) rankFromIndex(parts []rankScoreState, row func() bool) (done bool, err error) {
	only, err := x.rankedOnly()
	if err != nil {
		return false, err
	}
	var list []*rankedDocumentIterator
	defer func() {
		for _, b := range list {
			if e := b.close(); err == nil {
				err = e
			}
		}
	}()
	for i := range parts {
		b, err := x.newTopRanked(&parts[i], only)
		if b == nil || err != nil {
			return false, err
		}
		list = append(list, b)
	}
	if len(list) > 1 {
		return true, x.fuseBest(list, parts, row)
	}
	for {
		_, ok, err := list[0].Next()
		if err != nil || !ok || !row() {
			return true, errors.Join(err, x.Run.Err)
		}
	}
}

// fuseBest runs ORDER BY RANK RRF(...) over the best documents by each score only. It reads as many of them
// as take part in the fusion, so the result is the same as if all documents were scored. It calls row for
// each document, which is then the current one.
func (x *Execution) fuseBest(list []*rankedDocumentIterator, parts []rankScoreState, row func() bool) error {
	var found []documentRankScores
	seen := map[scoredDocument]bool{}
	all := false // all documents that match the conditions have been found
	for _, b := range list {
		for range x.mostRanked() {
			s, ok, err := b.Next()
			if err != nil {
				return err
			}
			if !ok {
				all = true
				break
			}
			if s.score = 0; seen[s] {
				continue
			}
			seen[s] = true
			d := documentRankScores{source: s.source, rid: s.rid}
			x.Plan.Rows.BindPaths(x.f)
			for i := range parts {
				x.measure(&d, &parts[i], false)
			}
			x.Run.Use(2*eval.SetEntry+len(parts)*eval.SetEntry, "ORDER BY RANK")
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b documentRankScores) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.rid, b.rid))
	})
	x.fuse(found, parts)
	slices.SortStableFunc(found, func(a, b documentRankScores) int { return cmp.Compare(b.fused, a.fused) })
	more, err := x.emitRanked(found, row)
	if err != nil || !more || all {
		return err
	}
	return x.emitOthers(seen, row)
}

// emitOthers makes each matching document that is not among the best by any score the current one and
// calls row. seen holds the documents that are among the best.
func (x *Execution) emitOthers(seen map[scoredDocument]bool, row func() bool) error {
	for i, src := range x.sources {
		docs, err := x.candidates(src, 0, true)
		if err != nil {
			return err
		}
		more := true
		for more && x.Next(docs) {
			d := docs.Document()
			more = seen[scoredDocument{0, i, d.RID()}] || !x.enter(d, x.Plan.Rows) || row()
			if _, err := x.stop(); err != nil {
				more = false
			}
		}
		if err := docs.Close(); err != nil || !more {
			return errors.Join(err, x.Run.Err)
		}
	}
	return nil
}

// rankedOnly returns, for each source, the documents that can match the conditions. It returns nil if no
// index lists them or if there are many.
func (x *Execution) rankedOnly() ([][]uint64, error) {
	only := make([][]uint64, len(x.sources))
	for i, src := range x.sources {
		rids, few, err := x.fewWanted(src)
		if err != nil || !few {
			return nil, err
		}
		only[i] = append(make([]uint64, 0, len(rids)), rids...)
	}
	return only, nil
}

// fewWanted returns the documents of a source that can match the conditions, if the index shows that they
// are few.
func (x *Execution) fewWanted(src source.DocumentSource) (rids []uint64, few bool, err error) {
	p := x.newProbes(src, plan.Beside(nil))
	if len(p.paths) == 0 {
		return nil, false, nil
	}
	few, err = p.count(x.tune.Sort)
	if err = errors.Join(err, p.close()); err != nil || !few {
		p.release()
		return nil, false, err
	}
	return p.rids(), true, nil
}
