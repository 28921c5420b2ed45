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
// A FullTextScore is the BM25 score of a text among all texts of the query's scope (the container, or the
// logical partition), whatever the conditions of the query are. If the words are indexed, all scores are
// computed from the index (see rank_text.go), and documents are read in the order of their scores (see
// rank_top.go). Otherwise one walk over the documents collects the statistics of all texts and the counts of
// each one, and the scores are computed afterwards.
//
// With several scores (RRF), the best documents by each score are selected: as many as a client would
// request from a partition. The fused score of a document is the sum of weight / (60 + rank) over its ranks.
// Documents with equal scores have the same rank.

const (
	rankConstant = 60
)

// textCollectionStats holds the statistics of all texts that BM25 needs.
type textCollectionStats struct {
	documents, words float64
	hits             []float64 // number of texts that have each term
}

// rankScoreState is one score of ORDER BY RANK, such as FullTextScore(c.text, "x"), with the statistics of
// the texts and, if they were read from the index, the scores of the texts.
type rankScoreState struct {
	*plan.CompiledRankScore
	stats   textCollectionStats
	indexed []textScores // scores by source, if they were computed from the index
}

// documentRankScores holds the scores of a document, one for each score of ORDER BY RANK. For a text it first
// holds the length and the count of each term, from which the score is computed later.
type documentRankScores struct {
	source int
	rid    uint64
	scores []float64 // NaN: none
	length []int     // by part; -1: no text
	counts [][]int
	fused  float64
}

// rankRows makes each document the current one, in the order of a query with ORDER BY RANK, and calls row.
func (x *Execution) rankRows(row func() bool) error {
	parts := make([]rankScoreState, len(x.Plan.Rank))
	for i := range parts {
		r := &x.Plan.Rank[i]
		parts[i] = rankScoreState{CompiledRankScore: r,
			stats: textCollectionStats{hits: make([]float64, len(r.Terms))}}
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
	slices.SortStableFunc(documents,
		func(a, b documentRankScores) int { return cmp.Compare(b.fused, a.fused) })
	_, err = x.emitRanked(documents, row)
	return err
}

// emitRanked makes each of the sorted documents the current one and calls row. more is false if row has
// returned false.
func (x *Execution) emitRanked(documents []documentRankScores, row func() bool) (more bool, err error) {
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

// rankedDocuments returns the documents that match the conditions, in the order of sources and rids. Each
// has its distances and, if the texts are indexed, its text scores. If they are not indexed, each document
// has the counts of its texts instead, and the statistics of all texts are stored in parts.
func (x *Execution) rankedDocuments(parts []rankScoreState, indexed bool) ([]documentRankScores, error) {
	var list []documentRankScores
	for i, src := range x.sources {
		docs := source.DocumentIterator(nil)
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

func (x *Execution) rankSource(source int, docs source.DocumentIterator, parts []rankScoreState,
	gather bool) (list []documentRankScores,
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
			d := documentRankScores{source: source, rid: x.f.Item.RID()}
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

// hasRow reports whether the query makes at least one row from the current document: it may make none,
// because of its conditions, or several, because of a JOIN.
func (x *Execution) hasRow() bool {
	return !x.rows(x.Plan.Rows, func() bool { return false })
}

// measure appends to d what one score of ORDER BY RANK needs of the current document: the distance of its
// vector, or the length of its text and how often the text has each term. If gather is set, it also adds the
// text to the statistics.
func (x *Execution) measure(d *documentRankScores, r *rankScoreState, gather bool) {
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
		tokens := x.Run.CallContext.Words(v, r.Spoken)
		length = len(tokens)
		for i := range r.Terms {
			counts = append(counts, r.Terms[i].CountFor(&x.Run.CallContext.ResourceLimiter, tokens))
		}
	}
	d.scores, d.length, d.counts = append(d.scores, math.NaN()), append(d.length, length), append(d.counts,
		counts)
	if gather {
		r.stats.add(length, counts)
	}
}

// add adds a document to the statistics. A length of -1 means that it has no text.
func (c *textCollectionStats) add(length int, counts []int) {
	c.documents++
	c.words += float64(max(length, 0))
	for i, n := range counts {
		if n > 0 {
			c.hits[i]++
		}
	}
}

// score computes the document's text scores for ORDER BY RANK (BM25) from the length of each text and the
// counts of the terms in it.
func (d *documentRankScores) score(parts []rankScoreState, scores []lang.BM25) {
	for i := range parts {
		if r := &parts[i]; r.Text != nil && r.Valid && d.length[i] >= 0 {
			d.scores[i] = scores[i].Score(d.length[i], d.counts[i])
		}
	}
}

// mostRanked returns how many documents each score of ORDER BY RANK RRF(...) contributes to the fusion:
// those with its best values.
func (x *Execution) mostRanked() int {
	limit := x.Plan.Top.Limit
	if limit < 0 {
		return math.MaxInt
	}
	return int(min(math.MaxInt32, max(plan.LeastRanked, 2*(limit+x.Plan.Top.Offset))))
}

// fuse computes the fused score of each document; greater is better. Documents that were not selected by any
// score come last.
func (x *Execution) fuse(list []documentRankScores, parts []rankScoreState) {
	order := make([]int, len(list))
	for i := range list {
		order[i] = i
	}
	// Documents with equal scores stay in the order of the list, not in the order of the previous part. An
	// index has only one score, so the best documents according to an index are the same.
	byScore := func(part int) {
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Or(parts[part].Compare(list[a].scores[part], list[b].scores[part]), cmp.Compare(a, b))
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
			if last < 0 || parts[part].Compare(list[last].scores[part], list[i].scores[part]) != 0 {
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
