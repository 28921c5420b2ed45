package query

import (
	"cmp"
	"math"
	"slices"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
)

// ORDER BY RANK.
//
// A FullTextScore is the BM25 of a text among all texts of the container, whatever the conditions of the
// query are. Where the words are indexed, the index has what BM25 needs to know of the others; else one walk
// over the documents gathers that beside the figures of each document, and the scores follow.
//
// With several scores (RRF) the documents that are among the best by one of them are taken, as many of each
// as a client would ask of a partition; their ranks by each score are fused: the sum of weight / (60 + rank).
// Equal scores share a rank.

const (
	rankConstant = 60
	// how many documents are taken by each score, at least; and twice what the page is to hold
	leastRanked = 120
)

// ranker is a compiled part of ORDER BY RANK.
type ranker struct {
	text   valuer // nil for a VectorDistance
	spoken index.Language
	terms  []textTerm
	valid  bool
	path   index.Path // of a text whose words are indexed; nil where they are not
	score  valuer     // of a VectorDistance
	rising bool
	weight float64

	corpus corpus // filled by a run, in its own copy
}

// corpus is what BM25 needs to know of all texts.
type corpus struct {
	documents, words float64
	hits             []float64 // how many texts have each term
}

// rankers compiles ORDER BY RANK.
func (c *compiler) rankers(p *planner, parts []*rankPart) []ranker {
	list := make([]ranker, len(parts))
	for i, part := range parts {
		r := &list[i]
		r.rising, r.weight = part.rising, part.weight
		if part.text == nil {
			r.score = c.value(part.call)
			continue
		}
		r.text = c.value(part.text)
		r.spoken = c.spokenAt(part.text)
		r.terms, r.valid = part.textTerms(r.spoken)
		if path, ok := p.textPath(part.text); ok {
			r.path = path
		}
	}
	return list
}

// ranked is a document with its scores. Of a text the figures come first: how long it is and how often it has
// each term.
type ranked struct {
	source int
	rid    uint64
	scores []float64 // NaN: none
	length []int     // by part; -1: no text
	counts [][]int
	fused  float64
}

// rankRows gives out the rows of a query with ORDER BY RANK, but for those that earlier pages have given.
func (x *execution) rankRows(skip int) error {
	parts := slices.Clone(x.plan.rank)
	for i := range parts {
		parts[i].corpus.hits = make([]float64, len(parts[i].terms))
	}
	documents, err := x.rankedDocuments(parts)
	if err != nil {
		return err
	}
	for i := range documents {
		documents[i].score(parts)
	}
	x.fuse(documents, parts)
	slices.SortStableFunc(documents, func(a, b ranked) int { return cmp.Compare(b.fused, a.fused) })
	for _, d := range documents {
		found, live, err := x.sources[d.source].Fetch(d.rid)
		if err != nil {
			return err
		}
		if !live {
			continue
		}
		x.f.enter(found)
		more := x.rows(x.plan.rows, func() bool {
			out, defined := x.plan.rows.project(x.f, x.scratch[:0])
			x.scratch = out[:0]
			return !defined || x.putBlock(out, skip)
		})
		if !more {
			break
		}
	}
	return x.run.err
}

// rankedDocuments returns the documents that fulfil the conditions, with the figures of their texts, in the
// order of sources and rids, and fills in what the parts need to know of all.
func (x *execution) rankedDocuments(parts []ranker) ([]ranked, error) {
	if x.plan.never {
		return nil, nil
	}
	known := true // by indexes, so that documents without a match need not be read
	for i := range parts {
		if parts[i].text != nil && parts[i].path == nil {
			known = false
		}
	}
	var list []ranked
	for i, src := range x.sources {
		if known {
			if err := x.readCorpus(src, parts); err != nil {
				return nil, err
			}
		}
		docs := x.scan(src, 0)
		if known {
			if err := docs.Close(); err != nil {
				return nil, err
			}
			var err error
			if docs, err = x.candidates(src, 0, true); err != nil {
				return nil, err
			}
		}
		some, err := x.rankSource(i, docs, parts, !known)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}

func (x *execution) rankSource(source int, docs Documents, parts []ranker, gather bool) (list []ranked,
	err error) {
	defer func() {
		if e := docs.Close(); err == nil {
			err = e
		}
	}()
	for x.next(docs) {
		passes := x.enter(docs.Document(), x.plan.rows) && !x.rows(x.plan.rows, func() bool { return false })
		x.plan.rows.bindPaths(x.f)
		if passes || gather {
			d := ranked{source: source, rid: x.f.item.RID()}
			for i := range parts {
				x.measure(&d, &parts[i], gather)
			}
			if passes {
				x.run.use(setEntry+len(parts)*setEntry, "ORDER BY RANK")
				list = append(list, d)
			}
		}
		if _, err := x.stop(); err != nil {
			return nil, err
		}
	}
	return list, docs.Err()
}

// measure notes the figures of the current document for one part. gather adds them to those of all documents.
func (x *execution) measure(d *ranked, r *ranker, gather bool) {
	if r.text == nil {
		score := math.NaN()
		if v := r.score(x.f); v.Kind() == doc.Number {
			score = v.Num()
		}
		d.scores, d.length, d.counts = append(d.scores, score), append(d.length, -1), append(d.counts, nil)
		return
	}
	length, counts := -1, []int(nil)
	if v := r.text(x.f); v.Kind() == doc.String {
		tokens := x.run.call.words(v, r.spoken)
		length = len(tokens)
		for i := range r.terms {
			counts = append(counts, r.terms[i].countFor(&x.run.call.meter, tokens))
		}
	}
	d.scores, d.length, d.counts = append(d.scores, math.NaN()), append(d.length, length), append(d.counts,
		counts)
	if gather {
		r.corpus.add(length, counts)
	}
}

// add counts a document; length -1: it has no text.
func (c *corpus) add(length int, counts []int) {
	c.documents++
	c.words += float64(max(length, 0))
	for i, n := range counts {
		if n > 0 {
			c.hits[i]++
		}
	}
}

// score makes scores of figures.
func (d *ranked) score(parts []ranker) {
	for i := range parts {
		if r := &parts[i]; r.text != nil && r.valid && d.length[i] >= 0 {
			d.scores[i] = bm25(r.corpus.documents, r.corpus.words, r.corpus.hits, d.length[i], d.counts[i])
		}
	}
}

// better puts scores in order, the best first, those that are none last.
func (r *ranker) better(a, b float64) int {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return cmp.Compare(truthBit(math.IsNaN(a)), truthBit(math.IsNaN(b)))
	case r.rising:
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

func truthBit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fuse gives each document the value that it is sorted by: great is good. Documents that are not among the
// best by any score stay behind all others.
func (x *execution) fuse(list []ranked, parts []ranker) {
	order := make([]int, len(list))
	for i := range list {
		order[i] = i
	}
	byScore := func(part int) {
		slices.SortStableFunc(order,
			func(a, b int) int { return parts[part].better(list[a].scores[part], list[b].scores[part]) })
	}
	if len(parts) == 1 {
		byScore(0)
		for rank, i := range order {
			list[i].fused = -float64(rank)
		}
		return
	}
	most := len(list)
	if limit := x.plan.top.limit; limit >= 0 {
		most = int(min(int64(most), max(leastRanked, 2*(limit+x.plan.top.offset))))
	}
	taken := make([]bool, len(list))
	for part := range parts {
		byScore(part)
		for _, i := range order[:most] {
			taken[i] = true
		}
	}
	for part := range parts {
		byScore(part)
		rank, last := 0, -1
		for _, i := range order {
			if !taken[i] {
				continue
			}
			if last < 0 || parts[part].better(list[last].scores[part], list[i].scores[part]) != 0 {
				rank++
			}
			list[i].fused += parts[part].weight / float64(rankConstant+rank)
			last = i
		}
	}
	for i := range list {
		if !taken[i] {
			list[i].fused = math.Inf(-1)
		}
	}
}

// readCorpus reads what BM25 needs to know of a source's texts off the index.
func (x *execution) readCorpus(src Source, parts []ranker) error {
	for i := range parts {
		r := &parts[i]
		if r.text == nil {
			continue
		}
		n, err := x.countDocuments(src)
		if err != nil {
			return err
		}
		r.corpus.documents += float64(n)
		key := x.plan.info.Index.TextKey(r.path, "")
		terms := src.Terms(key, append(key, 0xFF), false)
		for err == nil && terms.Next() {
			if err = x.passEntry(); err != nil {
				break
			}
			if _, live, ferr := src.Fetch(terms.RID()); live && ferr == nil {
				_, words := index.DecodeText(terms.Value())
				r.corpus.words += float64(words)
			} else if ferr != nil && err == nil {
				err = ferr
			}
		}
		if e := terms.Close(); err == nil {
			err = e
		}
		for t := range r.terms {
			if err == nil {
				err = x.countHits(src, r, t)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// countHits counts the texts that have a term: for a word alone the index knows, for other terms their words
// lead to the texts that may.
func (x *execution) countHits(src Source, r *ranker, t int) (err error) {
	term := &r.terms[t]
	if len(term.words) == 0 {
		return nil
	}
	word := term.words[0].Term
	if term.distance > 0 {
		word = "" // all texts
	}
	p := src.Postings(x.plan.info.Index.TextKey(r.path, word))
	defer func() {
		if e := p.Close(); err == nil {
			err = e
		}
	}()
	alone := len(term.words) == 1 && term.distance == 0
	for p.Next() {
		if err := x.passEntry(); err != nil {
			return err
		}
		d, live, err := src.Fetch(p.RID())
		if err != nil {
			return err
		}
		if live {
			x.f.enter(d)
			x.plan.rows.bindPaths(x.f)
			if alone || term.countFor(&x.run.call.meter, x.run.call.words(r.text(x.f), r.spoken)) > 0 {
				r.corpus.hits[t]++
			}
		}
	}
	return nil
}

// countDocuments counts the documents of a source.
func (x *execution) countDocuments(src Source) (n int64, err error) {
	if c, ok := src.(Counter); ok {
		if n, ok := c.Count(); ok {
			return n, nil
		}
	}
	docs := x.scan(src, 0)
	for err == nil && docs.Next() {
		n++
		err = x.pass(rowWork)
	}
	if e := docs.Close(); err == nil {
		err = e
	}
	return n, err
}
