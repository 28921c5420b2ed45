package query

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/mayflydb/mayfly/doc"
)

// The best documents by a FullTextScore that the index has told: those with a term, in the order of their
// scores, are read until there are rows enough. Behind them come the other texts, which score 0, and then the
// documents without a text, each in the order of sources and rids. These are looked for when they are needed.

// scored is a document with a score.
type scored struct {
	score  float64
	source int
	rid    uint64
}

// scoredSize is how many bytes a scored document takes.
const scoredSize = 24

// compare puts the best first.
func (s scored) compare(o scored) int {
	return cmp.Or(cmp.Compare(o.score, s.score), cmp.Compare(s.source, o.source), cmp.Compare(s.rid, o.rid))
}

// bestTexts iterates over the documents that fulfil the conditions, those with the best scores of a text
// first. After next the frame is at the document.
type bestTexts struct {
	x     *execution
	r     *ranker
	heap  []scored // the best one on top
	rest  Documents
	at    int  // the source of rest
	blank bool // rest is about documents without a text
}

// streams tells whether all parts give out their best documents in order.
func (x *execution) streams(parts []ranker) bool {
	return len(parts) == 1 && parts[0].streams()
}

func (r *ranker) streams() bool { return r.text != nil && r.valid && !r.rising }

// newBestTexts makes the iterator. only has the documents that can fulfil the conditions, by source; nil: no
// index knows them, or they are many.
func (x *execution) newBestTexts(r *ranker, only [][]uint64) *bestTexts {
	b := &bestTexts{x: x, r: r}
	for i, s := range r.indexed {
		var rids []uint64
		if only != nil {
			rids = only[i]
		}
		for j, rid := range s.rids {
			if rids != nil {
				if _, found := slices.BinarySearch(rids, rid); !found {
					continue
				}
			}
			b.heap = append(b.heap, scored{s.scores[j], i, rid})
		}
	}
	x.run.use(scoredSize*len(b.heap), "ORDER BY RANK")
	for i := len(b.heap)/2 - 1; i >= 0; i-- {
		b.sink(i)
	}
	return b
}

func (b *bestTexts) sink(i int) {
	for {
		first := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(b.heap); c++ {
			if b.heap[c].compare(b.heap[first]) < 0 {
				first = c
			}
		}
		if first == i {
			return
		}
		b.heap[i], b.heap[first] = b.heap[first], b.heap[i]
		i = first
	}
}

func (b *bestTexts) pop() scored {
	best, n := b.heap[0], len(b.heap)-1
	b.heap[0] = b.heap[n]
	b.heap = b.heap[:n]
	b.sink(0)
	return best
}

func (b *bestTexts) next() (s scored, ok bool, err error) {
	x := b.x
	for len(b.heap) > 0 {
		s := b.pop()
		d, live, err := x.sources[s.source].Fetch(s.rid)
		if err != nil {
			return s, false, err
		}
		passes := live && x.enter(d, x.plan.rows) && x.hasRow()
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
		if b.blank {
			return s, false, nil
		}
		b.at, b.blank = 0, true
	}
}

// nextOfRest goes on with the documents of one source that have none of the terms.
func (b *bestTexts) nextOfRest() (s scored, ok bool, err error) {
	x, src := b.x, b.x.sources[b.at]
	if b.rest == nil {
		if b.rest, err = b.openRest(src); err != nil {
			return s, false, err
		}
	}
	for x.next(b.rest) {
		passes := x.enter(b.rest.Document(), x.plan.rows) && x.hasRow()
		if _, err := x.stop(); err != nil {
			return s, false, err
		}
		if !passes {
			continue
		}
		s = scored{math.NaN(), b.at, x.f.item.RID()}
		x.plan.rows.bindPaths(x.f)
		if b.r.text(x.f).Kind() == doc.String {
			s.score = 0
		}
		_, met := slices.BinarySearch(b.r.indexed[b.at].rids, s.rid)
		if !met && math.IsNaN(s.score) == b.blank {
			return s, true, nil
		}
	}
	err = b.close()
	return s, false, err
}

// openRest opens the documents among which those without a term are: all texts, where no condition is known
// to be narrower.
func (b *bestTexts) openRest(src Source) (Documents, error) {
	x := b.x
	partition, scoped := src.Partition()
	if scoped {
		if err := partition.Close(); err != nil {
			return nil, err
		}
	}
	if b.blank || scoped || len(x.plan.ways) > 0 {
		return x.candidates(src, 0, false)
	}
	rids := src.Postings(x.plan.info.Index.TextKey(b.r.path, ""))
	return &fetched{x: x, src: src, rids: rids, skip: x.skip}, nil
}

func (b *bestTexts) close() (err error) {
	if b.rest != nil {
		err = b.rest.Err()
		if e := b.rest.Close(); err == nil {
			err = e
		}
		b.rest = nil
	}
	return err
}

// rankFromIndex gives out the rows of a query with scores that indexes know.
func (x *execution) rankFromIndex(parts []ranker, skip int) (err error) {
	only, err := x.rankedOnly()
	if err != nil {
		return err
	}
	best := x.newBestTexts(&parts[0], only)
	defer func() {
		if e := best.close(); err == nil {
			err = e
		}
	}()
	for {
		_, ok, err := best.next()
		if err != nil || !ok {
			return err
		}
		if !x.giveRows(skip) {
			return x.run.err
		}
	}
}

// rankedOnly returns the documents of each source that can fulfil the conditions, where an index knows them
// and they are few; nil: it does not, or they are many.
func (x *execution) rankedOnly() ([][]uint64, error) {
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

// fewWanted returns the documents of a source that can fulfil the conditions, where an index tells that they
// are few.
func (x *execution) fewWanted(src Source) (rids []uint64, few bool, err error) {
	p, err := x.newProbes(src, beside(nil))
	if err != nil || len(p.ways) == 0 {
		return nil, false, err
	}
	few, err = p.count(x.tune.sort)
	if err = errors.Join(err, p.close()); err != nil || !few {
		p.release()
		return nil, false, err
	}
	return p.rids(), true, nil
}
