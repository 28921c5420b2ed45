package bench

import (
	"context"
	"fmt"
	"strconv"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
)

// placeQuestions find the documents of a group by where they are and by what they say.
func placeQuestions() []question {
	limit := ratioAtMost(2)
	return []question{
		{
			name: "ST_DISTANCE < r", text: `SELECT VALUE c.id FROM c WHERE ST_DISTANCE(c["at"], @here) < @r`, limit: limit, plan: true, rows: layout.rows,
			params: func(l layout, k int) []store.Parameter {
				x, y := l.near(l.askedGroup(k))
				here := fmt.Appendf(nil, `{"type":"Point","coordinates":[%.6f,%.6f]}`, x, y)
				return []store.Parameter{parameter("@here", doc.Of(here)),
					parameter("@r", number(nearMetres))}
			},
		}, {
			name: "FullTextContains", text: `SELECT VALUE c.id FROM c WHERE FullTextContains(c.text, @word)`, limit: limit, plan: true, rows: layout.rows,
			params: func(l layout, k int) []store.Parameter {
				return []store.Parameter{parameter("@word", doc.StringValue(l.topic(l.askedGroup(k))))}
			},
		},
	}
}

// measurePlaces compares queries by place and by word over sets as large as the two smallest ones.
func (b *Bench) measurePlaces(ctx context.Context, like []querySet) (err error) {
	var sets []querySet
	for _, s := range like[:2] {
		s.dir = b.path("places-" + strconv.Itoa(s.docs))
		defer drop(s.dir)
		if err := b.makeQueryData(ctx, s.dir, placedSpec(), s.layout, s.placedJSON); err != nil {
			return err
		}
		sets = append(sets, s)
	}
	open, containers, err := b.openSets(ctx, sets, placedSpec())
	defer closeAll(open, &err)
	if err != nil {
		return err
	}
	b.report.begin("query", fmt.Sprintf("places and words of which %d match; a spatial and a full-text index",
		sets[0].rows()), thousands(int64(sets[0].docs)))
	for _, q := range placeQuestions() {
		if err := b.compareSizes(ctx, q, sets, containers); err != nil {
			return err
		}
	}
	return nil
}
