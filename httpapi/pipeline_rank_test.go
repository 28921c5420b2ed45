package httpapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// hybrid runs a hybrid search (ORDER BY RANK) as an SDK does: it adds up the statistics of all ranges,
// requests the best rows of each component query, and orders them by their fused ranks.
func (p *mergingQueryClient) hybrid(plan *receivedQueryPlan, params string) ([]jsondoc.Value, error) {
	h := plan.HybridSearchQueryInfo
	everywhere := &receivedQueryPlan{QueryRanges: plan.QueryRanges}
	fill := strings.NewReplacer()
	if h.RequiresGlobalStatistics {
		everywhere.QueryRanges = everywhere.QueryRanges[:1]
		everywhere.QueryRanges[0].Min, everywhere.QueryRanges[0].Max = "", "FF"
		parts, err := p.gather(everywhere, &testClientQueryPlanInfo{}, h.GlobalStatisticsQuery, params)
		if err != nil {
			return nil, err
		}
		fill = statistics(parts)
	}
	var rows []jsondoc.Value
	seen := map[uint64]bool{}
	for _, info := range h.ComponentQueryInfos {
		some, err := p.gather(plan, info, fill.Replace(info.RewrittenQuery), params)
		if err != nil {
			return nil, err
		}
		if len(info.OrderBy) > 0 { // else the ranges are not merged
			some = some[:min(*info.Top, len(some))]
		}
		for _, row := range some {
			if n := ridNumber(row); !seen[n] {
				seen[n] = true
				rows = append(rows, row)
			}
		}
	}
	if len(h.ComponentQueryInfos) > 1 {
		fuse(rows, h.ComponentQueryInfos, h.ComponentWeights)
	}
	info := testClientQueryPlanInfo{Offset: h.Skip, Limit: h.Take}
	var payloads []jsondoc.Value
	for _, row := range rows {
		payload := row.Member("payload")
		if len(h.ComponentQueryInfos[0].OrderBy) > 0 {
			payload = payload.Member("payload")
		}
		payloads = append(payloads, payload)
	}
	return info.finish(payloads)
}

// statistics adds up the full-text statistics of ranges. It returns a replacer that puts the sums into the
// placeholders of component queries.
func statistics(parts []jsondoc.Value) *strings.Replacer {
	documents, words, hits := 0.0, map[int]float64{}, map[int][]float64{}
	for _, part := range parts {
		documents += part.Member("documentCount").Num()
		for i, text := range elements(part.Member("fullTextStatistics")) {
			words[i] += text.Member("totalWordCount").Num()
			for j, n := range elements(text.Member("hitCounts")) {
				if j == len(hits[i]) {
					hits[i] = append(hits[i], 0)
				}
				hits[i][j] += n.Num()
			}
		}
	}
	pairs := []string{"{documentdb-formattablehybridsearchquery-totaldocumentcount}", fmt.Sprint(documents)}
	for i := range words {
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(hits[i]), "[]"), " ", ",")
		pairs = append(pairs, fmt.Sprintf("{documentdb-formattablehybridsearchquery-totalwordcount-%d}", i),
			fmt.Sprint(words[i]),
			fmt.Sprintf("{documentdb-formattablehybridsearchquery-hitcountsarray-%d}", i), "["+list+"]")
	}
	return strings.NewReplacer(pairs...)
}

// fuse sorts rows by the sum of weight / (60 + rank) over all scores. Equal scores share a rank.
func fuse(rows []jsondoc.Value, components []*testClientQueryPlanInfo, weights []float64) {
	fused := map[uint64]float64{}
	slices.SortFunc(rows, func(a, b jsondoc.Value) int { return cmp.Compare(ridNumber(a), ridNumber(b)) })
	byScore := slices.Clone(rows)
	for i, info := range components {
		score := func(row jsondoc.Value) float64 {
			scores := row.Member("componentScores")
			if len(info.OrderBy) > 0 {
				scores = row.Member("payload").Member("componentScores")
			}
			n := elements(scores)[i].Num()
			if len(info.OrderBy) == 0 || info.OrderBy[0] == "Descending" {
				n = -n
			}
			return n
		}
		slices.SortFunc(byScore, func(a, b jsondoc.Value) int { return cmp.Compare(score(a), score(b)) })
		weight, rank := 1.0, 0
		if len(weights) > 0 {
			weight = weights[i]
		}
		for j, row := range byScore {
			if j == 0 || score(row) != score(byScore[j-1]) {
				rank++
			}
			fused[ridNumber(row)] += weight / float64(60+rank)
		}
	}
	slices.SortStableFunc(rows,
		func(a, b jsondoc.Value) int { return cmp.Compare(fused[ridNumber(b)], fused[ridNumber(a)]) })
}
