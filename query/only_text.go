package query

import (
	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/internal/lang"
)

// countTexts feeds a grouper from the index of words. It is false where reading the documents is the better
// way.
func (x *execution) countTexts(g *grouper) (done bool, err error) {
	people, few, err := x.populations()
	if err != nil || few {
		return false, err
	}
	state := g.groups[0].state
	for i := range x.plan.counts.args {
		one := x.plan.counts.args[i]
		n := int64(0)
		for s, src := range x.sources {
			switch one.kind {
			case countDocuments:
				n += people[s].documents
			case countWords:
				err = x.eachText(src, people[s], one.r.path, "", func(_, _, words uint64) { n += int64(words) })
			case countTexts:
				var list wordList
				list, err = x.termList(src, people[s], &one.r, &one.r.terms[0])
				n += int64(len(list.rids))
			}
			if err != nil {
				return false, err
			}
		}
		if sum, ok := state[i].(*lang.Adder); ok {
			sum.Add(doc.NumberValue(float64(n)))
		} else if count, ok := state[i].(*lang.Counter); ok {
			count.N = n
		}
	}
	return true, nil
}
