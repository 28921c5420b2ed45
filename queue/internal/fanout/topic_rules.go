package fanout

import (
	"cmp"
	"slices"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/internal/record"
	"github.com/mayflydb/mayfly/queue/message"
)

// TopicRules holds the rules of all subscriptions of a topic and a RuleIndex over them. It is immutable.
type TopicRules[T any] struct {
	subscriptions []Subscription[T]
	index         RuleIndex
}

// Subscription is a subscription of a topic and its rules. To is a value of the caller's, which identifies
// the subscription.
type Subscription[T any] struct {
	To     T
	Number uint32
	Rules  *record.RuleList
}

// Recipient is a subscription that receives a message, with the rules that matched.
type Recipient[T any] struct {
	To      T
	Plain   bool           // a rule without an action matches
	Actions []*entity.Rule // matching rules with an action, by name

	number uint32
}

// NewTable returns the TopicRules of a topic with these subscriptions.
func NewTable[T any](list []Subscription[T]) *TopicRules[T] {
	t := &TopicRules[T]{subscriptions: list}
	for i, s := range list {
		for j := range s.Rules.List {
			t.index.Add(RulePositionInTopic{Subscription: i, Rule: j}, s.Rules.List[j].Filter)
		}
	}
	return t
}

// Subscriptions returns the subscriptions of the topic. The caller must not change them.
func (t *TopicRules[T]) Subscriptions() []Subscription[T] { return t.subscriptions }

// Match returns the subscriptions that receive a message, in the order of their numbers.
func (t *TopicRules[T]) Match(m *message.Message, h *layout.MessageHeader) (list []*Recipient[T]) {
	v := &MessageView{Message: m, Header: h}
	last := -1
	for _, at := range t.index.Candidates(v) {
		s := &t.subscriptions[at.Subscription]
		r := &s.Rules.List[at.Rule]
		if !r.Filter.Match(v) {
			continue
		}
		if at.Subscription != last {
			last = at.Subscription
			list = append(list, &Recipient[T]{To: s.To, number: s.Number})
		}
		to := list[len(list)-1]
		if r.Action.IsZero() {
			to.Plain = true
			continue
		}
		to.Actions = append(to.Actions, r)
	}
	slices.SortFunc(list, func(a, b *Recipient[T]) int { return cmp.Compare(a.number, b.number) })
	return list
}
