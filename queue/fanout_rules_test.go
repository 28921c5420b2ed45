package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/internal/record"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/queue/wire"
)

// sql returns a SQL filter. It fails the test if text is invalid.
func sql(t testing.TB, text string) rule.Filter {
	t.Helper()
	f, err := rule.SQL(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func action(t testing.TB, text string) rule.Action {
	t.Helper()
	a, err := rule.NewAction(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func correlation(t testing.TB, c rule.CorrelationFilter) rule.Filter {
	t.Helper()
	f, err := rule.NewCorrelationFilter(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rules replaces all rules of a subscription by those in list.
func (w *testQueueHost) rules(subscription string, list ...entity.Rule) {
	w.t.Helper()
	have, err := w.q.Rules(w.ctx, subscription, 0, 1000)
	w.must(err)
	for _, r := range have {
		w.must(w.q.DeleteRule(w.ctx, subscription, r.Name))
	}
	for _, r := range list {
		_, err := w.q.CreateRule(w.ctx, subscription, r)
		w.must(err)
	}
}

func with(name string, value any) func(*message.Message) {
	raw, err := wire.Append(nil, value)
	if err != nil {
		panic(err)
	}
	return func(m *message.Message) { m.Set(name, raw) }
}

const sub = "t/Subscriptions/s"

// TestRules checks which filters match a message, for each kind of filter, also after a restart.
func TestRules(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.topic("t", entity.Forever, map[string]func(*entity.Properties){"s": nil})
	for i, c := range []struct {
		filter rule.Filter
		want   bool
	}{
		{rule.True(), true}, {rule.False(), false},
		{sql(t, "missing > 1"), false}, {sql(t, "NOT (missing > 1)"), false},
		{sql(t, "missing IS NULL"), true}, {sql(t, "EXISTS(missing)"), false},
		{sql(t, "COLOR = 'red' AND user.price > 9.5"), true}, {sql(t, "color = 'RED'"), false},
		{sql(t, "sys.Label = 'news' AND sys.MessageId LIKE 'A%'"), true},
		{sql(t, "sys.TimeToLive IS NOT NULL AND sys.EnqueuedTimeUtc IS NOT NULL"), true},
		{sql(t, "sys.SessionId IS NULL AND sys.PartitionKey = 'p'"), true},
		{sql(t, "span IS NOT NULL AND big > 1 AND id IS NOT NULL"), true},
		{correlation(t, rule.CorrelationFilter{Label: "news"}), true},
		{correlation(t, rule.CorrelationFilter{Label: "News"}), false},
		{correlation(t, rule.CorrelationFilter{Label: "news", To: "me"}), false},
		{correlation(t, rule.CorrelationFilter{Properties: []rule.Parameter{{Name: "Color",
			Value: rule.String("red")},
			{Name: "price", Value: rule.Number(10)}}}), true},
		{correlation(t, rule.CorrelationFilter{Properties: []rule.Parameter{{Name: "price",
			Value: rule.String("10")}}}), false},
		{correlation(t, rule.CorrelationFilter{Properties: []rule.Parameter{{Name: "nothing",
			Value: rule.NullValue()}}}), false},
	} {
		w.rules(sub, entity.Rule{Name: "r", Filter: c.filter})
		if i%3 == 0 {
			w.reopen()
		}
		text := fmt.Sprint("A", i)
		w.send("t", msg(
			text,
			with("color", "red"),
			with("price", int32(10)),
			with("nothing", nil),
			lives(time.Hour),
			with(
				"span",
				wire.Described{Descriptor: wire.Symbol("com.microsoft:timespan"), Value: int64(5)},
			),
			with("big", uint64(1<<63)),
			with("id", wire.UUID{1}),
			func(m *message.Message) {
				m.SetText(message.Subject, "news")
				m.SetPartitionKey("p")
			},
		))
		got := texts(w.take(entity.Address{Entity: sub}, ReceiverOptions{Mode: ReceiveAndDelete}))
		if want := map[bool]string{true: text}[c.want]; got != want {
			t.Errorf("%v: %q, not %q", c.filter, got, want)
		}
	}
}

// TestRuleCopies checks how many copies of a message a subscription gets: one for all matching rules
// without an action, and one for each matching rule with an action.
func TestRuleCopies(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.topic("t", entity.Forever, map[string]func(*entity.Properties){"s": nil})
	w.rules(sub, entity.Rule{Name: "plain1"}, entity.Rule{Name: "plain2", Filter: sql(t, "n = 1")},
		entity.Rule{Name: "acts1", Action: action(t,
			"SET n = n + 1; SET color = 'red'; REMOVE old; SET sys.Label = 'x'")},
		entity.Rule{Name: "acts2", Action: action(t, "SET n = 300")},
		entity.Rule{Name: "other", Filter: rule.False(), Action: action(t, "SET n = 3")})
	w.send("t", msg("A", with("n", int32(1)), with("old", true)))
	list := w.expect(sub, "A A A")
	var got []string
	for _, d := range list {
		n, _, err := wire.Value(d.Message.Get("n"))
		w.must(err)
		got = append(got, fmt.Sprintf("%s %T %v %s %t %s", propertyOf(d, "RuleName"), n, n,
			propertyOf(d, "color"), d.Message.Get("old") != nil, d.Message.Text(message.Subject)))
	}
	want := []string{"<nil> int32 1 <nil> true ", "acts1 int32 2 red false x", "acts2 int32 300 <nil> true "}
	if !slices.Equal(got, want) {
		t.Errorf("the copies are\n%s\nnot\n%s", lined(got), lined(want))
	}
}

// TestRuleFails checks that a message for which a rule's action fails is dead-lettered in its subscription
// if DeadLetterOnFilterErrors is set, and dropped otherwise. Other rules and subscriptions get their
// copies.
func TestRuleFails(t *testing.T) {
	t.Parallel()
	for _, flag := range []bool{true, false} {
		w := newTestHost(t, Options{})
		w.topic("t", entity.Forever, map[string]func(*entity.Properties){"other": nil,
			"s": func(p *entity.Properties) { p.DeadLetterOnFilterErrors = flag }})
		w.rules(
			sub,
			entity.Rule{Name: "bad", Action: action(t, "SET n = 'many'")},
			entity.Rule{
				Name:   "long",
				Action: action(t, "SET sys.SessionId = '"+strings.Repeat("x", 200)+"'"),
			},
			entity.Rule{Name: "plain", Filter: sql(t, "n = 1")},
		)
		w.send("t", msg("A", with("n", int64(2))), msg("B", with("n", int64(1))), msg("C"))
		w.expect("t/Subscriptions/other", "A B C")
		w.shows(sub, "B C")
		want := ""
		if flag {
			want = "A:RuleActionException B:RuleActionException C:RuleActionException"
		}
		w.dead(sub, want)
	}
}

// TestRuleChangeAndScheduledMessages checks that a changed rule applies to messages published after the
// change, including messages that were scheduled before it and become active later.
func TestRuleChangeAndScheduledMessages(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.tidy = true
	w.topic("t", entity.Forever, map[string]func(*entity.Properties){"s": nil})
	w.send("t", msg("A"), msg("B", due(time.Minute)))
	w.rules(sub)
	w.send("t", msg("C"))
	w.at(time.Minute)
	w.expect(sub, "A")
	w.rules(sub, entity.Rule{Name: "r"})
	w.send("t", msg("D"))
	w.shows(sub, "A D")
	w.create(entity.Subscription, "t/Subscriptions/late", entity.Defaults(entity.Subscription))
	w.send("t", msg("E"))
	w.expect("t/Subscriptions/late", "E")
	w.remove("t/Subscriptions/late")
	w.send("t", msg("F"))
	w.shows(sub, "A D E F")
}

// BenchmarkFanOut measures finding the one matching rule for a message among up to 100,000 correlation
// filters of a topic's subscriptions.
func BenchmarkFanOut(b *testing.B) {
	for _, filters := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(filters), func(b *testing.B) {
			list := make([]*entityState, 10)
			for i := range list {
				set := &record.RuleList{}
				for j := range filters / len(list) {
					set.List = append(set.List, entity.Rule{Name: fmt.Sprint(j),
						Filter: correlation(b, rule.CorrelationFilter{CorrelationID: fmt.Sprint(i, " ", j)})})
				}
				list[i] = &entityState{kind: entity.Subscription}
				list[i].rules.Store(set)
			}
			topic := &entityState{kind: entity.Topic}
			topic.children.Store(&list)
			m := msg("A")
			m.SetText(message.CorrelationID, "3 0")
			topic.fanOut()
			for b.Loop() {
				if len(topic.fanOut().Match(m, &layout.MessageHeader{})) != 1 {
					b.Fatal("not found")
				}
			}
		})
	}
}
