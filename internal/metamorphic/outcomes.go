package metamorphic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/store/fault"
)

// allowedStepOutcome is a correct answer to a step, and the model's state after the step.
type allowedStepOutcome struct {
	answer string
	model  *ReferenceModel
}

// outcomes returns all possible outcomes of a step. The step takes effect at one moment: before, between or
// after the concurrent changes. Without concurrent changes there is one outcome.
func (w *ReferenceModel) outcomes(s HistoryStep) []allowedStepOutcome {
	changes := s.changes()
	if len(changes) == 0 {
		return []allowedStepOutcome{{w.Do(s), w}}
	}
	w.pass(s.At / 1000)
	var all []allowedStepOutcome
	for at := range len(changes) + 1 {
		ways := []interleaving{{model: w.clone()}}
		for i := range len(changes) + 1 {
			if i == at {
				for j := range ways {
					ways[j].answer = ways[j].model.do(s)
				}
			}
			if i < len(changes) {
				ways = applyAct(ways, changes[i])
			}
		}
		for _, y := range ways {
			all = append(all, allowedStepOutcome{y.answer + " {" + strings.Join(y.acts, ", ") + "}", y.model})
		}
	}
	return all
}

// interleaving is one of the possible orders of a step and its concurrent changes.
type interleaving struct {
	model  *ReferenceModel
	answer string   // of the step, once it has taken effect
	acts   []string // the answers of the changes so far
}

// applyAct applies a concurrent operation to the model of each interleaving. A store may accept or refuse
// to set its clock back, so for that operation each interleaving becomes two.
func applyAct(ways []interleaving, a ConcurrentOperation) []interleaving {
	var next []interleaving
	for _, y := range ways {
		if a.Verb == Back {
			refused := y
			refused.model = y.model.clone()
			refused.acts = append(slices.Clip(y.acts), fault.CodeBadRequest.String())
			next = append(next, refused)
		}
		answer := "ok"
		switch a.Verb {
		case Advance:
			y.model.pass(y.model.now + a.seconds())
		case Back:
			y.model.now -= a.seconds() // expired items stay expired
		case Default, Reindex:
			answer = y.model.do(HistoryStep{Verb: a.Verb, Args: []string{a.Arg}})
		}
		y.acts = append(slices.Clip(y.acts), answer)
		next = append(next, y)
	}
	return next
}

// clone copies a model.
func (w *ReferenceModel) clone() *ReferenceModel {
	c := *w
	c.items = w.copyItems()
	c.cursors = maps.Clone(w.cursors)
	for name, old := range w.cursors {
		one := *old // the cursor's last item is identified by its rid, which stays the same
		c.cursors[name] = &one
	}
	return &c
}

// state returns everything that a model's answers depend on, as text.
func (w *ReferenceModel) state() string {
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

// agreeing compares the possible outcomes of a step with got, the store's answer. It returns the model's
// state after each outcome that has this answer, without duplicates.
func agreeing(possible []allowedStepOutcome, got string) (twins []*ReferenceModel) {
	var states []string
	for _, o := range possible {
		if o.answer != got {
			continue
		}
		if len(possible) > 1 {
			state := o.model.state()
			if slices.Contains(states, state) {
				continue
			}
			states = append(states, state)
		}
		twins = append(twins, o.model)
	}
	return twins
}

// answers returns the different answers that the model allows for a step, as text for an error message.
func answers(possible []allowedStepOutcome) string {
	var list []string
	for _, o := range possible {
		if !slices.Contains(list, o.answer) {
			list = append(list, o.answer)
		}
	}
	return strings.Join(list, "\n    or ")
}
