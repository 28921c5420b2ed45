package inject_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/ttl"
)

var start = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

var reading = inject.IncomingOperation{Operation: inject.ReadItem, Database: "shop", Container: "carts"}

// hits calls Match for n equal operations and returns the indexes, from 0, of those that got a fault.
func hits(l *inject.FaultRules, o inject.IncomingOperation, n int) (list []int) {
	for i := range n {
		if h := l.Match(o); h.Fault != inject.None {
			list = append(list, i)
		}
	}
	return list
}

func add(t *testing.T, l *inject.FaultRules, r inject.FaultRule) inject.FaultRuleState {
	t.Helper()
	s, err := l.Add(r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSeedRepeats checks that a rule with a seed hits the same operations in each run, that another seed
// hits others, and that the number of hits corresponds to the rule's share. Operations to which the rule
// does not apply, and other rules, do not change the choice.
func TestSeedRepeats(t *testing.T) {
	choose := func(seed uint64, disturb bool) []int {
		l := inject.New(ttl.NewManual(start).Now)
		if disturb {
			add(t, l, inject.FaultRule{Fault: inject.Gone, Share: 0.5,
				Operations: []inject.OperationKind{inject.Batch}})
		}
		add(t, l, inject.FaultRule{Fault: inject.Throttled, Share: 0.3, Seed: seed,
			Operations: []inject.OperationKind{inject.ReadItem}})
		if disturb {
			add(t, l, inject.FaultRule{Fault: inject.Latency, Latency: time.Millisecond, Share: 0.5})
		}
		var list []int
		for i := range 1000 {
			if disturb {
				l.Match(inject.IncomingOperation{Operation: inject.Batch})
			}
			if l.Match(reading).Fault == inject.Throttled {
				list = append(list, i)
			}
		}
		return list
	}
	first := choose(7, false)
	if n := len(first); n < 250 || n > 350 {
		t.Errorf("%d of 1000 are hit by a share of 0.3", n)
	}
	if !slices.Equal(first, choose(7, false)) || !slices.Equal(first, choose(7, true)) {
		t.Error("the same seed has chosen others")
	}
	if slices.Equal(first, choose(8, false)) {
		t.Error("another seed has chosen the same")
	}
}

// TestSkipAndCount checks that a rule skips its first operations (Skip) and ends after its number of hits
// (Count). An ended rule no longer counts operations.
func TestSkipAndCount(t *testing.T) {
	l := inject.New(ttl.NewManual(start).Now)
	add(t, l, inject.FaultRule{Fault: inject.Unavailable, Skip: 2, Count: 3})
	if got := hits(l, reading, 10); !slices.Equal(got, []int{2, 3, 4}) {
		t.Errorf("hit %v", got)
	}
	if l.Armed() {
		t.Error("a rule that has ended is asked")
	}
	s := l.List()[0]
	if s.Seen != 5 || s.Hits != 3 || !s.Ended || s.ID != "f1" {
		t.Errorf("%+v", s)
	}
}

// TestDuration checks that a rule with a duration (For) ends when this time has passed on the clock of the
// data.
func TestDuration(t *testing.T) {
	clock := ttl.NewManual(start)
	l := inject.New(clock.Now)
	s := add(t, l, inject.FaultRule{Fault: inject.Timeout, For: time.Minute})
	if !s.Until.Equal(start.Add(time.Minute)) {
		t.Errorf("until %v", s.Until)
	}
	clock.Advance(time.Minute - time.Nanosecond)
	if len(hits(l, reading, 2)) != 2 {
		t.Error("it has ended early")
	}
	clock.Advance(time.Nanosecond)
	if len(hits(l, reading, 2)) != 0 || l.Armed() || !l.List()[0].Ended {
		t.Error("it has not ended")
	}
}

// waitReportingClock is a virtual clock that sends to the channel asked when somebody begins to wait for a
// time.
type waitReportingClock struct {
	*ttl.VirtualClock
	asked chan struct{}
}

func (c waitReportingClock) After(d time.Duration) (<-chan time.Time, func()) {
	fires, stop := c.VirtualClock.After(d)
	c.asked <- struct{}{}
	return fires, stop
}

// TestOrder checks that the first rule that hits determines the fault, that the latencies of rules add up,
// and that a deleted rule has no effect.
func TestOrder(t *testing.T) {
	ctx := context.Background()
	clock := ttl.NewManual(start)
	l := inject.New(clock.Now)
	add(t, l, inject.FaultRule{Fault: inject.Latency, Latency: 20 * time.Second})
	second := add(t, l,
		inject.FaultRule{Fault: inject.Throttled, Latency: time.Second, RetryAfter: time.Second})
	add(t, l, inject.FaultRule{Fault: inject.Gone, After: true})

	h := l.Match(reading)
	if h.Rule != second.ID || h.Fault != inject.Throttled || h.RetryAfter != time.Second ||
		h.Substatus != 3200 {
		t.Fatalf("%+v", h)
	}
	waited, asked := make(chan bool), make(chan struct{}, 1)
	go func() {
		now, err := h.BeforeOperation(ctx, waitReportingClock{clock, asked})
		waited <- now && err == nil
	}()
	<-asked
	clock.Advance(21*time.Second - 1)
	select {
	case <-waited:
		t.Error("it has not waited")
	default:
	}
	clock.Advance(1)
	if !<-waited {
		t.Error("the fault does not come before")
	}
	if now, _ := h.AfterOperation(ctx, clock); now {
		t.Error("it comes behind, too")
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := h.BeforeOperation(ended, clock); !errors.Is(err, context.Canceled) {
		t.Errorf("it waits for nobody: %v", err)
	}

	if !l.Delete(second.ID) || l.Delete(second.ID) {
		t.Error("deleting once")
	}
	if h := l.Match(reading); h.Fault != inject.Gone || !h.After || h.Substatus != 1002 {
		t.Errorf("%+v", h)
	}
	l.Clear()
	if l.Armed() || len(l.List()) != 0 {
		t.Error("it is not clear")
	}
	var none *inject.FaultRules
	if none.Armed() || none.Match(reading).Fault != inject.None {
		t.Error("no list has rules")
	}
}

func TestRuleSelectsOperations(t *testing.T) {
	settling := inject.IncomingOperation{Operation: inject.Complete, Entity: "Orders"}
	for _, c := range []struct {
		rule inject.FaultRule
		of   inject.IncomingOperation
		want bool
	}{
		{inject.FaultRule{Fault: inject.Gone}, reading, true},
		{inject.FaultRule{Fault: inject.Gone}, settling, false},
		{inject.FaultRule{Fault: inject.Gone}, inject.IncomingOperation{Operation: inject.Metadata}, false},
		{inject.FaultRule{Fault: inject.Gone}, inject.IncomingOperation{Operation: inject.QueryPlan}, false},
		{inject.FaultRule{Fault: inject.Gone, Operations: []inject.OperationKind{inject.Metadata}},
			inject.IncomingOperation{Operation: inject.Metadata}, true},
		{inject.FaultRule{Fault: inject.Gone, Operations: []inject.OperationKind{inject.CreateItem}}, reading,
			false},
		{inject.FaultRule{Fault: inject.Gone, Database: "shop", Container: "carts"}, reading, true},
		{inject.FaultRule{Fault: inject.Gone, Database: "shop"}, reading, true},
		{inject.FaultRule{Fault: inject.Gone, Database: "shop", Container: "Carts"}, reading, false},
		{inject.FaultRule{Fault: inject.Drop}, reading, true},
		{inject.FaultRule{Fault: inject.Drop}, settling, true},
		{inject.FaultRule{Fault: inject.Drop, Database: "shop"}, settling, false},
		{inject.FaultRule{Fault: inject.Drop, Entity: "orders"}, settling, true},
		{inject.FaultRule{Fault: inject.Drop, Entity: "orders"}, reading, false},
		{inject.FaultRule{Fault: inject.LockLost}, settling, true},
		{inject.FaultRule{Fault: inject.LockLost},
			inject.IncomingOperation{Operation: inject.Send, Entity: "orders"}, false},
		{inject.FaultRule{Fault: inject.LockLost}, reading, false},
		{inject.FaultRule{Fault: inject.Detach}, inject.IncomingOperation{Operation: inject.Send,
			Entity: "orders"},
			true},
	} {
		l := inject.New(ttl.NewManual(start).Now)
		add(t, l, c.rule)
		if got := len(hits(l, c.of, 1)) == 1; got != c.want {
			t.Errorf("%+v meets %+v: %v", c.of, c.rule, got)
		}
	}
}

func TestRefusedRules(t *testing.T) {
	for member, rules := range map[string][]inject.FaultRule{
		"fault": {{}, {Fault: 200}},
		"share": {{Fault: inject.Gone, Share: -1}, {Fault: inject.Gone, Share: 1.5}},
		"count": {{Fault: inject.Gone, Count: -1}},
		"skip":  {{Fault: inject.Gone, Skip: -1}},
		"for":   {{Fault: inject.Gone, For: -1}},
		"latencyMs": {{Fault: inject.Latency}, {Fault: inject.Gone, Latency: time.Hour},
			{Fault: inject.Gone, Latency: -1}},
		"retryAfterMs": {{Fault: inject.Gone, RetryAfter: 1}, {Fault: inject.Throttled, RetryAfter: -1}},
		"substatus":    {{Fault: inject.Drop, Substatus: 1}, {Fault: inject.Gone, Substatus: -1}},
		"database":     {{Fault: inject.Gone, Container: "c"}},
		"operations": {{Fault: inject.Gone, Entity: "q"}, {Fault: inject.Detach, Database: "d"},
			{Fault: inject.LockLost, Operations: []inject.OperationKind{inject.Send}},
			{Fault: inject.Drop, Operations: []inject.OperationKind{inject.Send, inject.ReadItem}}},
	} {
		for _, r := range rules {
			var refused *inject.FaultRuleError
			if _, err := inject.New(ttl.NewManual(start).Now).Add(r); !errors.As(err, &refused) ||
				refused.Member != member {
				t.Errorf("%+v: %v, want a refusal of %s", r, err, member)
			}
		}
	}
	l := inject.New(ttl.NewManual(start).Now)
	for range inject.MaxRules {
		add(t, l, inject.FaultRule{Fault: inject.Gone})
	}
	if _, err := l.Add(inject.FaultRule{Fault: inject.Gone}); err == nil {
		t.Error("there is no end of rules")
	}
}

func TestOperationAndFaultNames(t *testing.T) {
	for _, name := range inject.OperationNames() {
		if o, err := inject.ParseOperation(name); err != nil || o.String() != name {
			t.Errorf("%s: %v, %v", name, o, err)
		}
	}
	for _, name := range inject.FaultNames() {
		if f, err := inject.ParseFault(name); err != nil || f.String() != name {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	var refused *inject.FaultRuleError
	if _, err := inject.ParseOperation("brew"); !errors.As(err, &refused) {
		t.Error(err)
	}
	if _, err := inject.ParseFault("418"); !errors.As(err, &refused) {
		t.Error(err)
	}
}

// BenchmarkMatchWithoutRules measures Match with an empty list of rules.
func BenchmarkMatchWithoutRules(b *testing.B) {
	l := inject.New(ttl.NewManual(start).Now)
	for b.Loop() {
		l.Match(reading)
	}
}
