package fanout

import (
	"cmp"
	"slices"

	"github.com/mayflydb/mayfly/queue/rule"
)

// RuleIndex finds the rules that may match a message, so that a publication does not evaluate all of them.
// Correlation filters that compare the same properties share one table, keyed by the values that they
// require. A publication costs one lookup per set of properties, instead of one comparison per filter. All
// other filters are candidates for every message.
//
// The zero value is empty. A RuleIndex is built by one goroutine; once built it is safe for concurrent use.
type RuleIndex struct {
	always []RulePositionInTopic
	tables map[string]*correlationFilterTable // by the properties that their filters compare
}

// RulePositionInTopic identifies a rule of a topic: the index of its subscription among those of the topic,
// and the index of the rule among those of the subscription.
type RulePositionInTopic struct{ Subscription, Rule int }

// correlationFilterTable contains the filters that compare the same properties.
type correlationFilterTable struct {
	criteria []comparedPropertyName
	rules    map[string][]RulePositionInTopic // by the joined keys of the required values
}

// Add adds a rule with the filter f to the index. at identifies the rule by the indexes of its subscription
// and of the rule in it.
func (x *RuleIndex) Add(at RulePositionInTopic, f rule.Filter) {
	list, values := criteria(f)
	if len(list) == 0 {
		x.always = append(x.always, at)
		return
	}
	name := joined(list)
	t := x.tables[name]
	if t == nil {
		if x.tables == nil {
			x.tables = make(map[string]*correlationFilterTable)
		}
		t = &correlationFilterTable{criteria: list, rules: make(map[string][]RulePositionInTopic)}
		x.tables[name] = t
	}
	t.rules[values] = append(t.rules[values], at)
}

// Candidates returns the places of all rules that may match a message, in ascending order. The caller owns
// the slice and must evaluate the filters.
func (x *RuleIndex) Candidates(v *MessageView) []RulePositionInTopic {
	list := slices.Clone(x.always)
	for _, t := range x.tables {
		if values, ok := v.values(t.criteria); ok {
			list = append(list, t.rules[values]...)
		}
	}
	slices.SortFunc(list, func(a, b RulePositionInTopic) int {
		return cmp.Or(cmp.Compare(a.Subscription, b.Subscription), cmp.Compare(a.Rule, b.Rule))
	})
	return list
}
