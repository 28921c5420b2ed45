package metatest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/store/fault"
)

// An outcome is an answer that a store may give to a step, and the twin as it is then.
type outcome struct {
	answer string
	twin   *Twin
}

// outcomes are all that a step may lead to: it takes effect at one moment, before, between or behind the
// changes that somebody else makes meanwhile. Without those there is one.
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

// A way is one of those that a step can go.
type way struct {
	twin   *Twin
	answer string   // of the step, once it has had its moment
	acts   []string // the answers of the changes so far
}

// meet lets a change happen on each way. Whether a clock may be set back is for the store to say.
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
			y.twin.now -= a.seconds() // whoever was dead remains dead
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
		one := *old // the item that it stands behind is known by its rid, which stays
		c.cursors[name] = &one
	}
	return &c
}

// state is all that a twin's answers depend on, as text.
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

// agreeing are the twins that would have given this answer, each state once.
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

// answers are the outcomes' answers, each once.
func answers(possible []outcome) string {
	var list []string
	for _, o := range possible {
		if !slices.Contains(list, o.answer) {
			list = append(list, o.answer)
		}
	}
	return strings.Join(list, "\n    or ")
}
