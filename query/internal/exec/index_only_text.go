package exec

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
)

// countTexts computes aggregates that count documents, words, or texts with a term, from the full-text
// index. done is false if reading the documents is cheaper.
func (x *Execution) countTexts(g *eval.Grouper) (done bool, err error) {
	people, few, err := x.liveSets()
	if err != nil || few {
		return false, err
	}
	state := g.Groups[0].State
	for i := range x.Plan.Counts.Args {
		one := x.Plan.Counts.Args[i]
		n := int64(0)
		for s, src := range x.sources {
			switch one.Kind {
			case plan.CountDocuments:
				n += people[s].documents
			case plan.CountWords:
				err = x.eachText(src, people[s], one.R.Path, "", func(_, _,
					words uint64) {
					n += int64(words)
				})
			case plan.CountTexts:
				var list wordPostings
				list, err = x.termList(src, people[s], &one.R, &one.R.Terms[0])
				n += int64(len(list.rids))
			}
			if err != nil {
				return false, err
			}
		}
		if sum, ok := state[i].(*lang.SumAverageAggregate); ok {
			sum.Add(jsondoc.NumberValue(float64(n)))
		} else if count, ok := state[i].(*lang.CountAggregate); ok {
			count.N = n
		}
	}
	return true, nil
}
