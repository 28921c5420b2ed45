package inject

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// RuleList is the list of fault rules. It is safe for concurrent use. If l is nil, Armed returns false and
// Match returns no fault; no other method may be called.
type RuleList struct {
	now func() time.Time // of the data

	armed atomic.Bool // some rule has not ended

	mu   sync.Mutex // guards the following fields
	list []*activeRule
	made int // number of rules added so far, from which ids are made
}

// activeRule is a rule of the list with its counters and its random numbers.
type activeRule struct {
	id     string
	rule   Rule
	series *rand.Rand
	until  time.Time // zero: no end
	seen   int64
	hits   int64
	ended  bool
}

// RuleState is a rule of a list and its counters.
type RuleState struct {
	ID string
	Rule
	Until time.Time // time at which the rule ends; zero: it has no time limit
	Seen  int64     // number of operations that the rule applied to
	Hits  int64     // operations that it hit
	Ended bool      // the rule has ended and hits no more operations
}

// New returns an empty list. now returns the data's time, by which rules end.
func New(now func() time.Time) *RuleList { return &RuleList{now: now} }

// Add appends a rule to the list, and returns it with defaults filled in. Its error is a *RuleError.
func (l *RuleList) Add(r Rule) (RuleState, error) {
	r.Operations = slices.Clone(r.Operations)
	if err := r.settle(); err != nil {
		return RuleState{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) >= MaxRules {
		return RuleState{}, &RuleError{"", "there are " + strconv.Itoa(MaxRules) + " rules already"}
	}
	l.made++
	e := &activeRule{id: "f" + strconv.Itoa(l.made), rule: r, series: rand.New(rand.NewPCG(r.Seed, 0))}
	if r.For > 0 {
		e.until = l.now().Add(r.For)
	}
	l.list = append(l.list, e)
	l.armed.Store(true)
	return e.state(), nil
}

// List returns all rules in order.
func (l *RuleList) List() []RuleState {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endDue()
	out := make([]RuleState, len(l.list))
	for i, e := range l.list {
		out[i] = e.state()
	}
	return out
}

// Delete removes a rule. It returns false if there is no rule with the id.
func (l *RuleList) Delete(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.list)
	l.list = slices.DeleteFunc(l.list, func(e *activeRule) bool { return e.id == id })
	l.arm()
	return len(l.list) < before
}

// Clear removes all rules.
func (l *RuleList) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
	l.arm()
}

// Armed reports whether any operation can still get a fault.
func (l *RuleList) Armed() bool { return l != nil && l.armed.Load() }

// Match returns the fault for an operation. It must be called exactly once for each operation, since it
// counts.
func (l *RuleList) Match(o TargetOperation) (h MatchedFault) {
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
func (l *RuleList) endDue() {
	now := l.now()
	for _, e := range l.list {
		e.ended = e.ended || !e.until.IsZero() && !now.Before(e.until)
	}
}

// arm updates the value that Armed returns. The caller holds l.mu.
func (l *RuleList) arm() {
	l.armed.Store(slices.ContainsFunc(l.list, func(e *activeRule) bool { return !e.ended }))
}

// draw reports whether the rule hits an operation that it applies to. It draws the next random number of the
// rule. The caller holds the lock of the rules.
func (e *activeRule) draw() bool {
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

func (e *activeRule) state() RuleState {
	s := RuleState{ID: e.id, Rule: e.rule, Until: e.until, Seen: e.seen, Hits: e.hits, Ended: e.ended}
	s.Operations = slices.Clone(s.Operations)
	return s
}
