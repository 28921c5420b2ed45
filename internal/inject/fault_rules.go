package inject

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// FaultRules is the list of fault rules. It is safe for concurrent use. If l is nil, Armed returns false and
// Match returns no fault; no other method may be called.
type FaultRules struct {
	now func() time.Time // of the data

	armed atomic.Bool // some rule has not ended

	mu   sync.Mutex // guards the following fields
	list []*activeFaultRule
	made int // number of rules added so far, from which ids are made
}

// activeFaultRule is a rule of the list with its counters and its random numbers.
type activeFaultRule struct {
	id     string
	rule   FaultRule
	series *rand.Rand
	until  time.Time // zero: no end
	seen   int64
	hits   int64
	ended  bool
}

// FaultRuleState is a fault rule that was added to a FaultRules list, with its id, its end and its counters.
type FaultRuleState struct {
	ID string
	FaultRule
	Until time.Time // time at which the rule ends; zero: it has no time limit
	Seen  int64     // number of operations that the rule applied to
	Hits  int64     // operations that it hit
	Ended bool      // the rule has ended and hits no more operations
}

// New returns an empty list. now returns the data's time, by which rules end.
func New(now func() time.Time) *FaultRules { return &FaultRules{now: now} }

// Add appends a rule to the list, and returns it with defaults filled in. Its error is a *FaultRuleError.
func (l *FaultRules) Add(r FaultRule) (FaultRuleState, error) {
	r.Operations = slices.Clone(r.Operations)
	if err := r.settle(); err != nil {
		return FaultRuleState{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) >= MaxRules {
		return FaultRuleState{}, &FaultRuleError{"", "there are " + strconv.Itoa(MaxRules) + " rules already"}
	}
	l.made++
	e := &activeFaultRule{id: "f" + strconv.Itoa(l.made), rule: r, series: rand.New(rand.NewPCG(r.Seed, 0))}
	if r.For > 0 {
		e.until = l.now().Add(r.For)
	}
	l.list = append(l.list, e)
	l.armed.Store(true)
	return e.state(), nil
}

// List returns all rules in order.
func (l *FaultRules) List() []FaultRuleState {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endDue()
	out := make([]FaultRuleState, len(l.list))
	for i, e := range l.list {
		out[i] = e.state()
	}
	return out
}

// Delete removes a rule. It returns false if there is no rule with the id.
func (l *FaultRules) Delete(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.list)
	l.list = slices.DeleteFunc(l.list, func(e *activeFaultRule) bool { return e.id == id })
	l.arm()
	return len(l.list) < before
}

// Clear removes all rules.
func (l *FaultRules) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
	l.arm()
}

// Armed reports whether any operation can still get a fault.
func (l *FaultRules) Armed() bool { return l != nil && l.armed.Load() }

// Match returns the fault for an operation. It must be called exactly once for each operation, since it
// counts.
func (l *FaultRules) Match(o IncomingOperation) (h MatchedFault) {
	if !l.Armed() {
		return h
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endDue()
	for _, e := range l.list {
		if e.ended || !e.rule.matches(&o) || !e.draw() {
			continue
		}
		if e.rule.After {
			h.after += e.rule.Latency
		} else {
			h.before += e.rule.Latency
		}
		if h.Rule == "" {
			h.Rule = e.id
		}
		if e.rule.Fault != Latency {
			h.Rule, h.Fault, h.After = e.id, e.rule.Fault, e.rule.After
			h.RetryAfter, h.Substatus = e.rule.RetryAfter, e.rule.Substatus
			break
		}
	}
	l.arm()
	return h
}

// endDue ends the rules whose time has passed. The caller holds l.mu.
func (l *FaultRules) endDue() {
	now := l.now()
	for _, e := range l.list {
		e.ended = e.ended || !e.until.IsZero() && !now.Before(e.until)
	}
}

// arm recomputes the value that Armed returns: whether there is a rule that has not ended, so that an
// operation can still get a fault. The caller holds l.mu.
func (l *FaultRules) arm() {
	l.armed.Store(slices.ContainsFunc(l.list, func(e *activeFaultRule) bool { return !e.ended }))
}

// draw reports whether the rule hits an operation that it applies to. It draws the next random number of the
// rule. The caller holds the lock of the rules.
func (e *activeFaultRule) draw() bool {
	if e.seen++; e.seen <= e.rule.Skip {
		return false
	}
	if e.series.Float64() >= e.rule.Share {
		return false
	}
	e.hits++
	e.ended = e.rule.Count > 0 && e.hits >= e.rule.Count
	return true
}

func (e *activeFaultRule) state() FaultRuleState {
	s := FaultRuleState{ID: e.id, FaultRule: e.rule, Until: e.until, Seen: e.seen, Hits: e.hits,
		Ended: e.ended}
	s.Operations = slices.Clone(s.Operations)
	return s
}
