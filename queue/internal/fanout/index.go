package fanout

import (
	"cmp"
	"slices"

	"github.com/mayflydb/mayfly/queue/rule"
)

// Index finds the rules that may match a message, so that a publication does not evaluate each of them.
// Correlation filters are found by the values that they ask for: those that look at the same names share one
// table, under these values together. A publication then costs a lookup for each set of names instead of a
// comparison for each filter. All other filters are candidates for every message.
//
// The zero value is empty. An Index is built by one goroutine; once built it is safe for concurrent use.
type Index struct {
	always []Place
	tables map[string]*table // by the names that their filters look at
}

// Place is where a rule is: the place of its subscription, and its own in the set of that.
type Place struct{ Subscription, Rule int }

// table has the filters that look at the same names.
type table struct {
	criteria []criterion
	rules    map[string][]Place // by the values that they ask for, joined
}

// Add adds the filter of a rule.
func (x *Index) Add(at Place, f rule.Filter) {
	list, values := criteria(f)
	if len(list) == 0 {
		x.always = append(x.always, at)
		return
	}
	name := joined(list)
	t := x.tables[name]
	if t == nil {
		if x.tables == nil {
			x.tables = make(map[string]*table)
		}
		t = &table{criteria: list, rules: make(map[string][]Place)}
		x.tables[name] = t
	}
	t.rules[values] = append(t.rules[values], at)
}

// Candidates returns the places of all rules that may match a message, in ascending order. The caller owns
// the slice, and evaluates the filters.
func (x *Index) Candidates(v *View) []Place {
	list := slices.Clone(x.always)
	for _, t := range x.tables {
		if values, ok := v.values(t.criteria); ok {
			list = append(list, t.rules[values]...)
		}
	}
	slices.SortFunc(list, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Subscription, b.Subscription), cmp.Compare(a.Rule, b.Rule))
	})
	return list
}
