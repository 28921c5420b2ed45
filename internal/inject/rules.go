package inject

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Rules is a list of rules that operations are held against. Its methods may be called side by side. A nil
// *Rules is one without rules that takes none.
type Rules struct {
	now func() time.Time // of the data

	armed atomic.Bool // a rule of the list may hit

	mu   sync.Mutex // guards what follows
	list []*entry
	made int // rules so far: their ids
}

// entry is a rule with what became of it.
type entry struct {
	id     string
	rule   Rule
	series *rand.Rand
	until  time.Time // the zero time: for ever
	seen   int64
	hits   int64
	ended  bool
}

// State is a rule of a list, and what became of it.
type State struct {
	ID string
	Rule
	Until time.Time // when it ends; zero: it does not end by itself
	Seen  int64     // operations that it was about
	Hits  int64     // those of them that it hit
	Ended bool      // it hits none any more
}

// New makes a list without rules. now is the data's time, by which rules end.
func New(now func() time.Time) *Rules { return &Rules{now: now} }

// Add puts a rule at the end of the list. It gives the rule as it stands there. Its error is a *RuleError.
func (l *Rules) Add(r Rule) (State, error) {
	r.Operations = slices.Clone(r.Operations)
	if err := r.settle(); err != nil {
		return State{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) >= MaxRules {
		return State{}, &RuleError{"", "there are " + strconv.Itoa(MaxRules) + " rules already"}
	}
	l.made++
	e := &entry{id: "f" + strconv.Itoa(l.made), rule: r, series: rand.New(rand.NewPCG(r.Seed, 0))}
	if r.For > 0 {
		e.until = l.now().Add(r.For)
	}
	l.list = append(l.list, e)
	l.armed.Store(true)
	return e.state(), nil
}

// List is all rules in their order.
func (l *Rules) List() []State {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endDue()
	out := make([]State, len(l.list))
	for i, e := range l.list {
		out[i] = e.state()
	}
	return out
}

// Delete takes a rule out of the list; false where there is none of that id.
func (l *Rules) Delete(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.list)
	l.list = slices.DeleteFunc(l.list, func(e *entry) bool { return e.id == id })
	l.arm()
	return len(l.list) < before
}

// Clear takes all rules out of the list.
func (l *Rules) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
	l.arm()
}

// Armed reports whether an operation may meet a fault at all.
func (l *Rules) Armed() bool { return l != nil && l.armed.Load() }

// Meet reports what an operation meets. Each operation asks once.
func (l *Rules) Meet(o Target) (h Hit) {
	if !l.Armed() {
		return h
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endDue()
	for _, e := range l.list {
		if e.ended || !e.rule.about(&o) || !e.draw() {
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

// endDue ends the rules whose time is over. l.mu is held.
func (l *Rules) endDue() {
	now := l.now()
	for _, e := range l.list {
		e.ended = e.ended || !e.until.IsZero() && !now.Before(e.until)
	}
}

// arm sets whether a rule may hit. l.mu is held.
func (l *Rules) arm() {
	l.armed.Store(slices.ContainsFunc(l.list, func(e *entry) bool { return !e.ended }))
}

// draw decides by the rule's series whether it hits an operation that it is about.
func (e *entry) draw() bool {
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

func (e *entry) state() State {
	s := State{ID: e.id, Rule: e.rule, Until: e.until, Seen: e.seen, Hits: e.hits, Ended: e.ended}
	s.Operations = slices.Clone(s.Operations)
	return s
}
