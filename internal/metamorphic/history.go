package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// The kinds of partition keys of a history's container.
const (
	V2           = "v2"   // one path, hashed by version 2
	V1           = "v1"   // one path, hashed by version 1
	Hierarchical = "hier" // two paths
)

// TestedContainerConfig describes the container of a history.
type TestedContainerConfig struct {
	Kind    string // V2, V1 or Hierarchical
	Ranges  int    // partition ranges
	Unique  bool   // "/u" is unique in a partition
	Policy  string // the initial indexing policy; empty is DefaultPolicy
	Lenient bool   // ORDER BY does not need an index
	Default string // the initial default time to live: a JSON token, or off
	// Between permits concurrent operations (see ConcurrentOperation) while a step of the history runs.
	Between bool
	// Handles is the number of stores over one engine, like several servers, that execute the steps in turn;
	// 0 means 1.
	Handles int
}

func (c TestedContainerConfig) paths() []string {
	if c.Kind == Hierarchical {
		return []string{"/pk", "/pk2"}
	}
	return []string{"/pk"}
}

// String formats the configuration as the first line of a history.
func (c TestedContainerConfig) String() string {
	s := fmt.Sprintf("timeline kind=%s ranges=%d default=%s", c.Kind, c.Ranges, c.Default)
	if c.Unique {
		s += " unique"
	}
	if c.Policy != "" {
		s += " policy=" + c.Policy
	}
	if c.Lenient {
		s += " lenient"
	}
	if c.Between {
		s += " between"
	}
	if c.Handles > 1 {
		s += fmt.Sprintf(" handles=%d", c.Handles)
	}
	return s
}

// History is a sequence of operations on one container.
type History struct {
	Config TestedContainerConfig
	Steps  []HistoryStep
}

// String formats the history, one step a line.
func (h History) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, h.Config)
	for _, s := range h.Steps {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// ParseSteps parses lines of steps. It ignores blank lines and lines that begin with '#'. A step without a
// moment has the moment of the step before it; the first step has second 0.
func ParseSteps(text string) ([]HistoryStep, error) {
	var steps []HistoryStep
	var now int64
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		s, err := ParseStep(line, now)
		if err != nil {
			return nil, err
		}
		now = s.At
		steps = append(steps, s)
	}
	return steps, nil
}

// The values of HistoryRunConditions that say how often an operation, such as a sweep of the reaper, is added
// between the steps of a history.
const (
	Never     = "never"
	Sometimes = "sometimes"
	Always    = "always" // after every step
)

// HistoryRunConditions describes how a random history is run: how often the reaper sweeps, the store is
// reopened and a range is split, the number of ranges, the initial indexing policy, concurrent operations and
// the number of stores. The answers must not depend on these conditions, except for the order of a list over
// several ranges.
type HistoryRunConditions struct {
	Sweep, Reopen string // Never, Sometimes or Always
	Split         string // likewise; empty is Never
	Ranges        int
	Policy        string // the initial policy; empty leaves it unchanged
	Between       bool   // see TestedContainerConfig
	Handles       int    // see TestedContainerConfig
}

// Modes returns all combinations of conditions (how often the reaper sweeps and the store is reopened, the
// number of ranges, the indexing policy) under which random histories run.
func Modes() (all []HistoryRunConditions) {
	for _, sweep := range []string{Never, Sometimes, Always} {
		for _, reopen := range []string{Never, Sometimes} {
			for _, ranges := range []int{1, 4} {
				for _, policy := range PolicyNames() {
					all = append(all,
						HistoryRunConditions{Sweep: sweep, Reopen: reopen, Ranges: ranges, Policy: policy})
				}
			}
		}
	}
	return all
}

// Apply returns the history h as it runs under the conditions m: with the sweeps, reopenings and splits of m
// between its steps, and with m's ranges and indexing policy in its configuration. It omits steps whose
// answer the conditions may change: lists over several ranges that are read page by page, because it depends
// on the page ends whether they return an item inserted meanwhile; and, if ranges are split, queries with
// ORDER BY over several ranges, because a split changes the order of equal rows.
func (m HistoryRunConditions) Apply(h History, r *rand.Rand) History {
	out := History{Config: h.Config}
	out.Config.Ranges, out.Config.Between, out.Config.Handles = m.Ranges, m.Between, m.Handles
	if m.Policy != "" {
		out.Config.Policy = m.Policy
	}
	if m.Policy == NoIndex {
		out.Config.Default = "off"
	}
	splits := m.Split == Sometimes || m.Split == Always || m.Between
	later := int64(0) // delay of later steps, because acts of earlier steps advance the clock
	for _, s := range h.Steps {
		at := s.At
		s.At += later
		several := s.In == "" || strings.HasSuffix(s.In, "*")
		if several && (s.Verb == Open && (m.Ranges > 1 || splits && s.Range == "") || s.Verb == Ask &&
			splits && strings.Contains(s.Text, "ORDER BY")) {
			continue
		}
		if m.Between && s.interruptible() && r.IntN(2) == 0 {
			later += 1000 * drawActs(&s, r)
		}
		out.Steps = append(out.Steps, s)
		if s.Between != "" {
			out.Steps = append(out.Steps, HistoryStep{At: at + later, Verb: Sweep})
		}
		s.At = at + later
		if happens(m.Split, r) {
			partition := HomePartition
			if s.Verb == Create || s.Verb == Upsert || s.Verb == Read {
				partition = s.Key().Partition
			}
			out.Steps = append(out.Steps, HistoryStep{At: s.At, Verb: Split, Args: []string{partition}})
		}
		if happens(m.Sweep, r) {
			out.Steps = append(out.Steps, HistoryStep{At: s.At, Verb: Sweep})
		}
		if happens(m.Reopen, r) {
			out.Steps = append(out.Steps, HistoryStep{At: s.At, Verb: Reopen})
		}
	}
	return out
}

func happens(when string, r *rand.Rand) bool {
	return when == Always || when == Sometimes && r.IntN(12) == 0
}

// Shrink removes steps from a history as long as fails returns true for the rest, large pieces first. Then
// it removes concurrent operations (acts) from the remaining steps in the same way.
func Shrink(h History, fails func(History) bool) History {
	h.Steps = ShrinkList(h.Steps, func(steps []HistoryStep) bool { return fails(History{h.Config, steps}) })
	for i, s := range h.Steps {
		with := func(acts []ConcurrentOperation) []HistoryStep {
			s.Between = actsText(acts)
			return slices.Replace(slices.Clone(h.Steps), i, i+1, s)
		}
		if acts := s.acts(); len(acts) > 0 {
			h.Steps = with(ShrinkList(acts, func(acts []ConcurrentOperation) bool {
				return fails(History{h.Config, with(acts)})
			}))
		}
	}
	return h
}

// ShrinkList removes elements from a list as long as fails returns true for the rest, large pieces first.
func ShrinkList[E any](list []E, fails func([]E) bool) []E {
	for size := len(list) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(list); {
			if less := slices.Delete(slices.Clone(list), i, i+size); fails(less) {
				list = less
			} else {
				i += size
			}
		}
	}
	return list
}
