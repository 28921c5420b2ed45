package metatest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/store/fault"
)

// outcome is an answer that a store may give to a step, and the twin's state after it.
type outcome struct {
	answer string
	twin   *Twin
}

// outcomes returns all possible outcomes of a step. The step takes effect at one moment: before, between or
// after the concurrent changes. Without concurrent changes there is one outcome.
func (w *Twin) outcomes(s Step) []outcome {
	changes := s.changes()
	if len(changes) == 0 {
		return []outcome{{w.Do(s), w}}
	}
	w.pass(s.At / 1000)
	var all []outcome
	for at := range len(changes) + 1 {
		ways := []way{{twin: w.clone()}}
		for i := range len(changes) + 1 {
			if i == at {
				for j := range ways {
					ways[j].answer = ways[j].twin.do(s)
				}
			}
			if i < len(changes) {
				ways = meet(ways, changes[i])
			}
		}
		for _, y := range ways {
			all = append(all, outcome{y.answer + " {" + strings.Join(y.acts, ", ") + "}", y.twin})
		}
	}
	return all
}

// way is one of the possible orders of a step and its concurrent changes.
type way struct {
	twin   *Twin
	answer string   // of the step, once it has taken effect
	acts   []string // the answers of the changes so far
}

// meet applies a change to each way. Whether a clock may be set back is decided by the store.
func meet(ways []way, a Act) []way {
	var next []way
	for _, y := range ways {
		if a.Verb == Back {
			refused := y
			refused.twin = y.twin.clone()
			refused.acts = append(slices.Clip(y.acts), fault.CodeBadRequest.String())
			next = append(next, refused)
		}
		answer := "ok"
		switch a.Verb {
		case Advance:
			y.twin.pass(y.twin.now + a.seconds())
		case Back:
			y.twin.now -= a.seconds() // expired items stay expired
		case Default, Reindex:
			answer = y.twin.do(Step{Verb: a.Verb, Args: []string{a.Arg}})
		}
		y.acts = append(slices.Clip(y.acts), answer)
		next = append(next, y)
	}
	return next
}

// clone copies a twin.
func (w *Twin) clone() *Twin {
	c := *w
	c.items = w.copyItems()
	c.cursors = maps.Clone(w.cursors)
	for name, old := range w.cursors {
		one := *old // the cursor's last item is identified by its rid, which stays the same
		c.cursors[name] = &one
	}
	return &c
}

// state returns everything that a twin's answers depend on, as text.
func (w *Twin) state() string {
	var b strings.Builder
	fmt.Fprint(&b, w.now, w.def, w.policy, w.etags, w.rids)
	for _, it := range w.items {
		fmt.Fprintf(&b, "\n%+v", *it)
	}
	for _, name := range slices.Sorted(maps.Keys(w.cursors)) {
		c := w.cursors[name]
		fmt.Fprintf(&b, "\n%s %v %v", name, c.scope, c.done)
		if c.after != nil {
			fmt.Fprint(&b, c.after.rid)
		}
	}
	return b.String()
}

// agreeing returns the twins that would have given this answer, each state once.
func agreeing(possible []outcome, got string) (twins []*Twin) {
	var states []string
	for _, o := range possible {
		if o.answer != got {
			continue
		}
		if len(possible) > 1 {
			state := o.twin.state()
			if slices.Contains(states, state) {
				continue
			}
			states = append(states, state)
		}
		twins = append(twins, o.twin)
	}
	return twins
}

// answers returns the answers of the outcomes, each once.
func answers(possible []outcome) string {
	var list []string
	for _, o := range possible {
		if !slices.Contains(list, o.answer) {
			list = append(list, o.answer)
		}
	}
	return strings.Join(list, "\n    or ")
}
