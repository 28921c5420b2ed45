package record

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/queue/entity"
)

// RuleList holds the rules of a subscription, sorted by name. It is immutable, so that readers need no lock.
type RuleList struct{ List []entity.Rule }

func compareRule(r entity.Rule, name string) int {
	return strings.Compare(strings.ToLower(r.Name), strings.ToLower(name))
}

// Find returns the index of a rule. ok is false if there is none; at is then the index at which it would be
// inserted. Case is ignored.
func (s *RuleList) Find(name string) (at int, ok bool) {
	return slices.BinarySearchFunc(s.List, name, compareRule)
}

// With returns a copy of the list with r added. r replaces a rule of the same name.
func (s *RuleList) With(r entity.Rule) *RuleList {
	at, ok := s.Find(r.Name)
	list := slices.Clone(s.List)
	if ok {
		list[at] = r
		return &RuleList{list}
	}
	return &RuleList{slices.Insert(list, at, r)}
}

// Without returns a copy of the list without the rule of this name, ignoring case.
func (s *RuleList) Without(name string) *RuleList {
	list := slices.DeleteFunc(slices.Clone(s.List),
		func(r entity.Rule) bool { return strings.EqualFold(r.Name, name) })
	return &RuleList{list}
}
