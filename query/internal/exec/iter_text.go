package exec

import (
	"bytes"
	"slices"

	"github.com/mayflydb/mayfly/internal/heap"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// Clients that merge partition ranges rank texts by two queries that package gateway makes for them. The
// first query computes the statistics of all texts that BM25 needs. The second query contains these numbers
// and orders by _FullTextScore. Both are answered from the index, as FullTextScore is.

// textRankedDocumentIterator iterates over the documents of a source by the score of their text: first the
// texts that contain a term, then the other texts, then the documents without a text. Among documents with
// equal scores the latest comes first, as in ORDER BY DESC.
type textRankedDocumentIterator struct {
	x       *Execution
	src     source.DocumentSource
	source  int
	allowed *allowedRIDs // documents that can become rows; nil: many, or unknown
	scores  textScores
	heap    heap.Heap[DocumentDistance] // the scores are negated, so that the best is the least
	texts   source.IndexEntryIterator   // all texts, the latest first; nil unless they are being read
	begun   bool                        // texts has been opened
	rest    orderedDocumentIterator     // documents without a text
	entry   sortEntry
	doc     source.Document
}

// openTexts opens the documents of a source in the order of their text scores.
func (x *Execution) openTexts(src source.DocumentSource, source int,
	only *allowedRIDs) (orderedDocumentIterator, error) {
	o := x.Plan.Order.Texts
	var lists []wordPostings
	for i := range o.Terms {
		list, err := x.termList(src, &liveRIDSet{}, &o.CompiledRankScore, &o.Terms[i])
		if err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	scores, err := x.addUp(&o.Scores, lists)
	if err != nil {
		return nil, err
	}
	t := &textRankedDocumentIterator{x: x, src: src, source: source, allowed: only, scores: scores}
	t.heap.Before = func(a, b DocumentDistance) bool {
		return a.distance < b.distance || a.distance == b.distance && a.rid > b.rid
	}
	for i, rid := range scores.rids {
		if only.has(rid) {
			t.heap.List = append(t.heap.List, DocumentDistance{-scores.scores[i], rid})
		}
	}
	x.Run.Use(estimateSize*len(t.heap.List), "ORDER BY")
	t.heap.Init()
	return t, x.Run.Err
}

func (t *textRankedDocumentIterator) Next() (bool, error) {
	for t.rest == nil {
		e, ok, err := t.propose()
		if err != nil {
			return false, err
		}
		if !ok {
			t.openRest()
			break
		}
		if ok, err := t.take(e); ok || err != nil {
			return ok, err
		}
	}
	ok, err := t.rest.Next()
	if ok {
		e, d := t.rest.at()
		t.entry, t.doc = *e, d
	}
	return ok, err
}

// propose returns the document whose text has the next best score. The document may be dead (expired, or
// deleted with its partition key), or may not match the conditions. ok is false at the end.
func (t *textRankedDocumentIterator) propose() (e DocumentDistance, ok bool, err error) {
	if len(t.heap.List) > 0 {
		return t.heap.Pop(), true, t.x.pass(lang.EntryWork)
	}
	if !t.begun {
		key := t.x.Plan.Info.Index.TextKey(t.x.Plan.Order.Texts.Path, "")
		t.begun, t.texts = true, t.src.Terms(key, append(bytes.Clone(key), 0xFF), true)
	}
	for t.texts != nil && t.texts.Next() {
		if err := t.x.passEntry(); err != nil {
			return e, false, err
		}
		rid := t.texts.RID()
		if _, met := slices.BinarySearch(t.scores.rids, rid); !met && t.allowed.has(rid) {
			return DocumentDistance{0, rid}, true, nil
		}
	}
	return e, false, t.endTexts()
}

func (t *textRankedDocumentIterator) endTexts() (err error) {
	if t.texts != nil {
		err = t.texts.Close()
	}
	t.texts = nil
	return err
}

// take fetches a proposed document and makes it the current one. It reports whether the document is live,
// matches the conditions, and comes after the beginning of the page.
func (t *textRankedDocumentIterator) take(e DocumentDistance) (bool, error) {
	x := t.x
	key := eval.AppendKey(x.Plan.Top.Order[0], nil, eval.OrderedBy(jsondoc.NumberValue(0-e.distance)))
	t.entry = sortEntry{key: key, source: t.source, rid: e.rid, holds: true}
	if !x.isAfterStart(&t.entry) {
		return false, nil
	}
	var live bool
	var err error
	if t.doc, live, err = t.src.Fetch(e.rid); err != nil {
		return false, err
	}
	if live && x.enter(t.doc, x.Plan.Rows) {
		return true, nil
	}
	_, err = x.stop()
	return false, err
}

// openRest opens the iterator over the documents without a text, which come after those that are ranked by
// the score of their text.
func (t *textRankedDocumentIterator) openRest() {
	x := t.x
	t.rest = x.newBatch(t.src, t.source, func() (source.DocumentIterator, error) {
		var docs source.DocumentIterator
		var err error
		if t.allowed != nil {
			rids := &SortedRIDListIterator{Rids: t.allowed.rids}
			docs = &ridListDocumentIterator{x: x, src: t.src, rids: rids, skip: x.skip}
		} else {
			docs, err = x.candidates(t.src, 0, true)
		}
		return &undefinedValueDocumentIterator{docs, x, x.Plan.Order.Texts.String}, err
	})
}

func (t *textRankedDocumentIterator) at() (*sortEntry, source.Document) { return &t.entry, t.doc }

func (t *textRankedDocumentIterator) close() error {
	err := t.endTexts()
	if t.rest != nil {
		if e := t.rest.close(); err == nil {
			err = e
		}
	}
	return err
}
