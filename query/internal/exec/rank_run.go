package exec

import (
	"cmp"
	"math"
	"slices"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// ORDER BY RANK.
//
// A FullTextScore is the BM25 of a text among all texts of the query's scope (the container, or the logical
// partition that is asked), whatever the conditions of the query are. Where the words are indexed, the index
// has all the scores (see rank_text.go), and documents are read in their order (see rank_top.go); else one
// walk over the documents gathers what BM25 needs to know of all beside the figures of each, and the scores
// follow.
//
// With several scores (RRF) the documents that are among the best by one of them are taken, as many of each
// as a client would ask of a partition; their ranks by each score are fused: the sum of weight / (60 + rank).
// Equal scores share a rank.

const (
	rankConstant = 60
)

// collectionStats is what BM25 needs to know of all texts.
type collectionStats struct {
	documents, words float64
	hits             []float64 // how many texts have each term
}

// ranking is a part of ORDER BY RANK, with what a run finds out about it.
type ranking struct {
	*plan.Ranker
	stats   collectionStats
	indexed []textScores // by source, where the index has told them
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

// rankRows calls row with the frame at each document, in the order of a query with ORDER BY RANK.
func (x *Execution) rankRows(row func() bool) error {
	parts := make([]ranking, len(x.Plan.Rank))
	for i := range parts {
		r := &x.Plan.Rank[i]
		parts[i] = ranking{Ranker: r, stats: collectionStats{hits: make([]float64, len(r.Terms))}}
	}
	indexed, err := x.readTexts(parts)
	if err != nil {
		return err
	}
	if indexed && x.Plan.Streams() {
		if done, err := x.rankFromIndex(parts, row); done || err != nil {
			return err
		}
	}
	documents, err := x.rankedDocuments(parts, indexed)
	if err != nil {
		return err
	}
	scores := make([]lang.BM25, len(parts))
	for i, r := range parts {
		scores[i] = lang.NewBM25(r.stats.documents, r.stats.words, r.stats.hits)
	}
	for i := range documents {
		documents[i].score(parts, scores)
	}
	x.fuse(documents, parts)
	slices.SortStableFunc(documents, func(a, b ranked) int { return cmp.Compare(b.fused, a.fused) })
	_, err = x.giveRanked(documents, row)
	return err
}

// giveRanked calls row with the frame at documents that are in order. It is false where the page ends.
func (x *Execution) giveRanked(documents []ranked, row func() bool) (more bool, err error) {
	for _, d := range documents {
		found, live, err := x.sources[d.source].Fetch(d.rid)
		if err != nil {
			return false, err
		}
		if !live {
			continue
		}
		x.f.Enter(found)
		if !row() {
			return false, x.Run.Err
		}
	}
	return true, x.Run.Err
}

// rankedDocuments returns the documents that fulfil the conditions, in the order of sources and rids, with
// their scores as far as these are known: of distances, and of texts where these are indexed. Else they have
// the figures of their texts, and the parts are told what they need to know of all.
func (x *Execution) rankedDocuments(parts []ranking, indexed bool) ([]ranked, error) {
	var list []ranked
	for i, src := range x.sources {
		docs := source.Documents(nil)
		if indexed {
			var err error
			if docs, err = x.candidates(src, 0, true); err != nil {
				return nil, err
			}
		} else {
			docs = x.scan(src, 0)
		}
		some, err := x.rankSource(i, docs, parts, !indexed)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}

func (x *Execution) rankSource(source int, docs source.Documents, parts []ranking,
	gather bool) (list []ranked,
	err error) {
	defer func() {
		if e := docs.Close(); err == nil {
			err = e
		}
	}()
	for x.Next(docs) {
		passes := x.enter(docs.Document(), x.Plan.Rows) && x.hasRow()
		x.Plan.Rows.BindPaths(x.f)
		if passes || gather {
			d := ranked{source: source, rid: x.f.Item.RID()}
			for i := range parts {
				x.measure(&d, &parts[i], gather)
			}
			if passes {
				x.Run.Use(eval.SetEntry+len(parts)*eval.SetEntry, "ORDER BY RANK")
				list = append(list, d)
			}
		}
		if _, err := x.stop(); err != nil {
			return nil, err
		}
	}
	return list, docs.Err()
}

// hasRow reports whether the document that the frame is at has a row.
func (x *Execution) hasRow() bool {
	return !x.rows(x.Plan.Rows, func() bool { return false })
}

// measure notes the figures of the current document for one part. gather adds them to those of all documents.
func (x *Execution) measure(d *ranked, r *ranking, gather bool) {
	if r.Text == nil {
		score := math.NaN()
		if v := r.Score(x.f); v.Kind() == jsondoc.Number {
			score = v.Num()
		}
		d.scores, d.length, d.counts = append(d.scores, score), append(d.length, -1), append(d.counts, nil)
		return
	}
	length, counts := -1, []int(nil)
	if v := r.Text(x.f); v.Kind() == jsondoc.String && r.indexed != nil {
		d.scores, d.length = append(d.scores, r.indexed[d.source].of(d.rid)), append(d.length, -1)
		d.counts = append(d.counts, nil)
		return
	} else if v.Kind() == jsondoc.String {
		tokens := x.Run.Call.Words(v, r.Spoken)
		length = len(tokens)
		for i := range r.Terms {
			counts = append(counts, r.Terms[i].CountFor(&x.Run.Call.Meter, tokens))
		}
	}
	d.scores, d.length, d.counts = append(d.scores, math.NaN()), append(d.length, length), append(d.counts,
		counts)
	if gather {
		r.stats.add(length, counts)
	}
}

// Add counts a document; length -1: it has no text.
func (c *collectionStats) add(length int, counts []int) {
	c.documents++
	c.words += float64(max(length, 0))
	for i, n := range counts {
		if n > 0 {
			c.hits[i]++
		}
	}
}

// Score makes scores of figures.
func (d *ranked) score(parts []ranking, scores []lang.BM25) {
	for i := range parts {
		if r := &parts[i]; r.Text != nil && r.Valid && d.length[i] >= 0 {
			d.scores[i] = scores[i].Score(d.length[i], d.counts[i])
		}
	}
}

// mostRanked is how many documents of each score are fused.
func (x *Execution) mostRanked() int {
	limit := x.Plan.Top.Limit
	if limit < 0 {
		return math.MaxInt
	}
	return int(min(math.MaxInt32, max(plan.LeastRanked, 2*(limit+x.Plan.Top.Offset))))
}

// fuse gives each document the value that it is sorted by: great is good. Documents that are not among the
// best by any score stay behind all others.
func (x *Execution) fuse(list []ranked, parts []ranking) {
	order := make([]int, len(list))
	for i := range list {
		order[i] = i
	}
	// Equal scores stay in the order of the list, not in that of the part before: so the best of an index,
	// which knows one score alone, are the same.
	byScore := func(part int) {
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Or(parts[part].Better(list[a].scores[part], list[b].scores[part]), cmp.Compare(a, b))
		})
	}
	if len(parts) == 1 {
		byScore(0)
		for rank, i := range order {
			list[i].fused = -float64(rank)
		}
		return
	}
	most := min(len(list), x.mostRanked())
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
			if last < 0 || parts[part].Better(list[last].scores[part], list[i].scores[part]) != 0 {
				rank++
			}
			list[i].fused += parts[part].Weight / float64(rankConstant+rank)
			last = i
		}
	}
	for i := range list {
		if !taken[i] {
			list[i].fused = math.Inf(-1)
		}
	}
}
