package metamorphic

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

var seedFlag = flag.Uint64("histories.seed", 0, "run the random history of this seed alone, in every mode")

// TestSubject is the system under test that executes a history, a random sequence of steps: a store, or a
// deliberately faulty model.
type TestSubject interface {
	// Do executes a step and returns the answer in the format of ReferenceModel.Do. It returns an error for
	// results that are wrong with any answer: an etag that stands for two contents, or a body that was not
	// written.
	Do(HistoryStep) (string, error)
	// RangeOf returns the position of the partition range that holds a partition.
	RangeOf(partition string) int
	// Close runs the store's own check and closes the store.
	Close() error
}

// SubjectOpener creates an empty Subject with one container.
type SubjectOpener func(TestedContainerConfig) (TestSubject, error)

// Mismatch is a step to which the tested store (the TestSubject) has given another answer than the model.
type Mismatch struct {
	Step      HistoryStep
	Got, Want string
	Err       error // if the subject contradicts itself
}

func (m *Mismatch) Error() string {
	if m.Err != nil {
		return fmt.Sprintf("%s: %v", m.Step, m.Err)
	}
	return fmt.Sprintf("%s\n  got  %s\n  want %s", m.Step, m.Got, m.Want)
}

// Run runs a history and returns the first step at which the answers of the subject and the model differ, or
// the error of opening or closing.
func Run(h History, open SubjectOpener) error {
	sub, err := open(h.Config)
	if err != nil {
		return err
	}
	err = run(h, sub)
	if closing := sub.Close(); err == nil {
		err = closing
	}
	return err
}

func run(h History, sub TestSubject) error {
	twins := []*ReferenceModel{NewModel(h.Config, sub.RangeOf)} // those that fit all answers so far
	for _, s := range h.Steps {
		var possible []allowedStepOutcome
		for _, w := range twins {
			possible = append(possible, w.outcomes(s)...)
		}
		got, err := sub.Do(s)
		if twins = agreeing(possible, got); err != nil || len(twins) == 0 {
			return &Mismatch{s, got, answers(possible), err}
		}
	}
	return nil
}

// Check runs the random histories of successive seeds against the store that open returns. Each history
// runs in a few of the modes, taken in turn from a shuffled list. Check first runs the seeds of earlier
// failures (keptSeeds). On a failure it prints the seed and a shortened history.
func Check(t *testing.T, modes []HistoryRunConditions, open SubjectOpener) {
	t.Helper()
	if *seedFlag != 0 {
		for _, m := range modes {
			checkSeed(t, *seedFlag, m, open)
		}
		return
	}
	for _, kept := range keptSeeds() {
		if slices.Contains(modes, kept.mode) {
			checkSeed(t, kept.seed, kept.mode, open)
		}
	}
	first := FirstSeed()
	order := rand.New(rand.NewPCG(first, 0)).Perm(len(modes))
	for i := range uint64(histories) {
		for k := range modesEach {
			mode := modes[order[(int(i)*modesEach+k)%len(modes)]]
			if checkSeed(t, first+i, mode, open); t.Failed() {
				return // one failing history suffices
			}
		}
	}
}

func checkSeed(t *testing.T, seed uint64, m HistoryRunConditions, open SubjectOpener) {
	t.Helper()
	h := random(seed, m)
	if err := Run(h, open); err != nil {
		h = Shrink(h, func(h History) bool { return Run(h, open) != nil })
		t.Errorf("a history went wrong (-histories.seed=%d, %+v):\n%v\nfirst seen at: %v\n\ncut down:\n%s",
			seed, m, Run(h, open), err, h)
	}
}

// random returns the history that is generated from a seed, for a run under the conditions m, such as how
// often the reaper sweeps.
func random(seed uint64, m HistoryRunConditions) History {
	r := rand.New(rand.NewPCG(seed, 0))
	return m.Apply(Generate(r, stepsEach), r)
}

// Trace runs the random history of a seed. For each step the trace has the concurrent operations with the gap
// in which they ran, such as "gap 2 sweep" or "at the end default ok", and then the answer of the step.
func Trace(seed uint64, m HistoryRunConditions, open SubjectOpener) (trace []string, err error) {
	err = Run(random(seed, m), func(c TestedContainerConfig) (TestSubject, error) {
		opened, err := open(c)
		return tracingSubject{opened, &trace}, err
	})
	return trace, err
}

// tracingSubject is a tested store (Subject) that appends to trace, for each step, the concurrent
// operations and then the answer.
type tracingSubject struct {
	TestSubject
	trace *[]string
}

func (f tracingSubject) Do(s HistoryStep) (string, error) {
	got, err := f.TestSubject.Do(s)
	if in, ok := f.TestSubject.(*testedStore); ok {
		*f.trace = append(*f.trace, in.trace...)
		in.trace = nil
	}
	*f.trace = append(*f.trace, got)
	return got, err
}
