package fanout

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/rule"
)

// TestRuleIndexCandidates checks with random filters and messages that Candidates returns all filters that
// match, in order, and far fewer than all filters.
func TestRuleIndexCandidates(t *testing.T) {
	seed := metamorphic.FirstSeed()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	values := []rule.Value{rule.Int(1), rule.Number(1), rule.Number(0.5), rule.String("1"), rule.String("a"),
		rule.Bool(true), rule.Int(0), rule.Number(math.Copysign(0, -1)), rule.NullValue(), rule.Time(5),
		rule.Duration(5), rule.Bytes([]byte("a")), rule.UUID("01000000-0000-0000-0000-000000000000")}
	value := func() rule.Value { return values[r.IntN(len(values))] }
	const subscriptions, rules, messages = 30, 20, 300
	var x RuleIndex
	filters := make(map[RulePositionInTopic]rule.Filter)
	for i := range subscriptions {
		for j := range rules {
			c := rule.CorrelationFilter{Label: []string{"", "x", "y"}[r.IntN(3)]}
			for range 1 + r.IntN(2) {
				c.Properties = append(c.Properties,
					rule.Parameter{Name: string(rune('a' + r.IntN(3))), Value: value()})
			}
			f, err := rule.NewCorrelationFilter(c)
			if err != nil {
				t.Fatal(err)
			}
			filters[RulePositionInTopic{i, j}] = f
			x.Add(RulePositionInTopic{i, j}, f)
		}
	}
	found := 0
	for range messages {
		m := message.New(nil)
		for _, name := range []string{"A", "b", "c"} {
			if r.IntN(4) > 0 {
				m.Set(name, entity.EncodeValue(value(), nil))
			}
		}
		m.SetText(message.Subject, []string{"", "x", "z"}[r.IntN(3)])
		v := &MessageView{m, &layout.MessageHeader{}}
		var want, got []RulePositionInTopic
		for i := range subscriptions {
			for j := range rules {
				if at := (RulePositionInTopic{i, j}); filters[at].Match(v) {
					want = append(want, at)
				}
			}
		}
		candidates := x.Candidates(v)
		for _, at := range candidates {
			if filters[at].Match(v) {
				got = append(got, at)
			}
		}
		if found += len(candidates); !slices.Equal(got, want) {
			t.Fatalf("%v, not %v", got, want)
		}
	}
	if found > subscriptions*rules*messages/3 {
		t.Errorf("%d candidates of %d", found, subscriptions*rules*messages)
	}
}
