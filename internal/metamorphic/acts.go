package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// The verbs that only a ConcurrentOperation has, not a HistoryStep of a history. The other verbs of a
// ConcurrentOperation, such as Sweep, List and Split, are those of a HistoryStep.
const (
	Advance = "advance" // seconds: the clock advances
	Back    = "back"    // seconds: the clock is set back, if the store permits it
)

// ConcurrentOperation is an operation that runs while a step of a history runs: a sweep of the reaper, a
// list, a move of the clock forwards or back, a change of the default TTL or of the indexing policy, or a
// split. It runs in a gap of the step, that is, at one of the step's calls of the engine; gaps are
// numbered from 0. If it would have to wait for a lock there, it runs in the first later gap in which it
// need not wait, or at the latest after the step. An operation that changes something runs after the
// concurrent operations before it.
type ConcurrentOperation struct {
	Gap  int
	Verb string
	Arg  string
}

// changes reports whether the operation can change the answer of the step during which it runs, or can be
// refused.
func (a ConcurrentOperation) changes() bool { return a.Verb != Sweep && a.Verb != List }

// String formats the concurrent operation as parseActs parses it: GAP:VERB or GAP:VERB:ARG.
func (a ConcurrentOperation) String() string {
	s := strconv.Itoa(a.Gap) + ":" + a.Verb
	if a.Arg != "" {
		s += ":" + a.Arg
	}
	return s
}

// parseActs parses a list of concurrent operations, GAP:VERB[:ARG] separated by commas. GAP is the number of
// the step's engine call in which the operation runs. ok is false if text has another form.
func parseActs(text string) (acts []ConcurrentOperation, ok bool) {
	if text == "" {
		return nil, true
	}
	for word := range strings.SplitSeq(text, ",") {
		gap, what, _ := strings.Cut(word, ":")
		verb, arg, hasArg := strings.Cut(what, ":")
		n, err := strconv.Atoi(gap)
		wantsArg, known := map[string]bool{Sweep: false, List: false,
			Advance: true, Back: true, Default: true, Reindex: true, Split: true}[verb]
		if err != nil || !known || hasArg != wantsArg {
			return nil, false
		}
		acts = append(acts, ConcurrentOperation{n, verb, arg})
	}
	return acts, true
}

func actsText(acts []ConcurrentOperation) string {
	words := make([]string, len(acts))
	for i, a := range acts {
		words[i] = a.String()
	}
	return strings.Join(words, ",")
}

// acts returns the operations that run concurrently with the step, between its calls of the engine.
func (s HistoryStep) acts() []ConcurrentOperation {
	acts, _ := parseActs(s.Between) // ParseStep has checked it
	return acts
}

func (s HistoryStep) changes() []ConcurrentOperation {
	return slices.DeleteFunc(s.acts(), func(a ConcurrentOperation) bool { return !a.changes() })
}

func (a ConcurrentOperation) seconds() int64 {
	n, _ := strconv.ParseInt(a.Arg, 10, 64)
	return n
}

// Concurrent operations run during a step of a test at the moments at which the step calls the engine.
// mostGaps is about the maximum number of these moments in a step, mostActs the maximum number of concurrent
// operations in a step.
const (
	mostGaps = 6
	mostActs = 4
)

// drawActs draws concurrent operations for a step, such that the step's answer can still be checked: a step
// of several requests, which run at different moments, gets no operation that changes its answer. It returns
// the number of seconds by which the operations advance the clock.
func drawActs(s *HistoryStep, r *rand.Rand) (seconds int64) {
	var acts []ConcurrentOperation
	gap := r.IntN(mostGaps)
	for range 1 + r.IntN(mostActs) {
		if r.IntN(2) == 0 {
			gap = r.IntN(mostGaps)
		}
		a := ConcurrentOperation{Gap: gap, Verb: pick(r,
			Sweep, Sweep, Sweep, Advance, Advance, Advance, List, Back, Default, Reindex, Split)}
		switch {
		case s.Verb == Sweep && !a.changes(),
			a.Verb == Split && s.spans(),
			a.changes() && s.severalRequests():
			continue
		}
		switch a.Verb {
		case Advance:
			a.Arg = strconv.Itoa(1 + r.IntN(12))
			seconds += a.seconds()
		case Back:
			a.Arg = strconv.Itoa(1 + r.IntN(5))
		case Default:
			a.Arg = pick(r, "off", "-1", "1", "2", "4", "7", "10")
		case Reindex:
			a.Arg = pick(r, PolicyNames()...)
		case Split:
			a.Arg = HomePartition
			if slices.Contains([]string{Create, Upsert, Read, Replace, Patch, Delete}, s.Verb) {
				a.Arg = s.Key().Partition
			}
		}
		acts = append(acts, a)
	}
	slices.SortStableFunc(acts, func(a, b ConcurrentOperation) int { return a.Gap - b.Gap })
	if s.Between = actsText(acts); len(s.changes()) > 0 && (s.Verb == List || s.Verb == Ask) {
		s.Page = 1000 // all in one request
	}
	return seconds
}

// interruptible reports whether other operations may run during a step. They may not during a change of the
// container, which holds the container's lock exclusively.
func (s HistoryStep) interruptible() bool {
	return !slices.Contains([]string{Default, Reindex, Reopen, Split}, s.Verb)
}

// severalRequests reports whether the store may execute a step in several parts that are not atomic together:
// several requests, or one request that reads or writes items one by one.
func (s HistoryStep) severalRequests() bool {
	return s.Verb == ReadMany || s.Verb == Next || s.Verb == Batch && s.Args[0] != Atomic ||
		s.Verb == List && s.EPK != "" ||
		(s.Verb == List || s.Verb == Open) && s.U != ""
}

// spans reports whether the answer of a step may depend on which ranges there are, or on their order.
func (s HistoryStep) spans() bool {
	return (s.Verb == List || s.Verb == Open || s.Verb == Ask) && !s.inPartition()
}

// stepWithConcurrentOperations is the state of a step while other operations, its acts, run concurrently with
// it.
type stepWithConcurrentOperations struct {
	s        *testedStore
	acts     []ConcurrentOperation
	done     []bool
	answers  []string          // answers of the acts that change something, in their order
	waiting  *runningOperation // a sweep that waits for a scope
	indexing bool              // an indexing policy has been changed, and the reindexer is blocked
	gaps     int
	over     bool // the step is over
	failed   error
}

// interrupted runs a step and the operations that run concurrently with it.
func (s *testedStore) interrupted(step HistoryStep) (string, error) {
	in := &stepWithConcurrentOperations{s: s, acts: step.acts()}
	in.done = make([]bool, len(in.acts))
	clear(s.exact)
	defer clear(s.exact)
	got, err := s.between.during(in.gap, func() (string, error) {
		got, err := s.do(step)
		if in.waiting != nil {
			in.resume() // nothing that the sweep could wait for is running any more
		}
		return got, err
	})
	in.end()
	if len(in.answers) > 0 {
		got += " {" + strings.Join(in.answers, ", ") + "}"
	}
	return got, errors.Join(err, in.failed)
}

// gap is called at each call of the engine in the step. It runs the concurrent operations that are due then.
func (in *stepWithConcurrentOperations) gap() {
	if in.waiting != nil {
		in.resume()
	}
	for i, a := range in.acts {
		if in.done[i] || a.Gap > in.gaps {
			continue
		}
		if a.changes() && (in.indexing || in.changesBefore(i)) || a.Verb == Sweep && in.waiting != nil {
			continue
		}
		in.act(i)
	}
	in.gaps++
}

// end runs, after the step, the concurrent operations that could not run during it.
func (in *stepWithConcurrentOperations) end() {
	in.over = true
	for i := range in.acts {
		in.index()
		if !in.done[i] {
			in.act(i)
		}
		if !in.done[i] {
			in.failed = errors.Join(in.failed,
				fmt.Errorf("%s: it would have to wait, and nobody is there", in.acts[i]))
		}
	}
	in.index()
}

// index completes a change of the indexing policy by reindexing the documents.
func (in *stepWithConcurrentOperations) index() {
	if in.indexing {
		in.indexing = false
		indexed := in.s.between.exclusive(func() error { return in.s.db.IndexNow(in.s.ctx) })
		in.failed = errors.Join(in.failed, indexed)
	}
}

func (in *stepWithConcurrentOperations) changesBefore(i int) bool {
	for j, a := range in.acts[:i] {
		if a.changes() && !in.done[j] {
			return true
		}
	}
	return false
}

// act runs the i-th operation that is concurrent with the step, in a gap between two engine calls of the
// step. If the operation would have to wait for a lock, it is run in a later gap instead.
func (in *stepWithConcurrentOperations) act(i int) {
	a := in.acts[i]
	if !in.over && a.Verb != Advance && (a.Verb == Sweep && in.s.cleared || !in.open()) {
		return
	}
	var answer string
	v, waits := begin(in.s.ctx, a.Verb == Sweep, func(ctx context.Context) (err error) {
		answer, err = in.s.act(ctx, a)
		return err
	})
	switch {
	case waits:
		in.waiting = v
	case answer == fault.CodeCanceled.String():
		return
	case v.err != nil:
		in.failed = errors.Join(in.failed, fmt.Errorf("%s: %w", a, v.err))
	}
	where := "gap " + strconv.Itoa(in.gaps)
	if in.over {
		where = "at the end"
	}
	in.s.trace = append(in.s.trace, strings.TrimSpace(where+" "+a.Verb+" "+answer))
	if in.done[i] = true; a.changes() {
		in.answers = append(in.answers, answer)
		in.indexing = in.indexing || a.Verb == Reindex && answer == "ok"
	}
}

// open reports whether an operation can use the container now: whether nobody holds the container's lock
// exclusively.
func (in *stepWithConcurrentOperations) open() bool {
	v, _ := begin(in.s.ctx, false, func(ctx context.Context) error {
		pk := in.s.partitionKey(HomePartition)
		_, _, err := in.s.c.Read(ctx, pk, "an id that nobody uses", store.ReadOptions{})
		return err
	})
	return fault.ErrorCode(v.err) != fault.CodeCanceled
}

// resume continues the sweep that was suspended because it had to wait for an engine scope (a locked key
// prefix).
func (in *stepWithConcurrentOperations) resume() {
	v := in.waiting
	if v.resume() {
		return
	}
	in.waiting = nil
	if v.err != nil {
		in.failed = errors.Join(in.failed, fmt.Errorf("a sweep: %w", v.err))
	}
}

// act performs a concurrent operation and returns its answer. A change that would have to wait for a lock is
// not made; its answer is then that of CodeCanceled.
func (s *testedStore) act(ctx context.Context, a ConcurrentOperation) (string, error) {
	var err error
	switch a.Verb {
	case Sweep:
		return "", s.purge(ctx)
	case List:
		_, _, err = s.c.List(ctx, store.ListOptions{})
	case Advance:
		s.clock.Advance(time.Duration(a.seconds()) * time.Second)
	case Back:
		to := s.clock.Now().Add(time.Duration(-a.seconds()) * time.Second)
		_, err = s.db.SetClock(ctx, store.ClockChangeRequest{Set: &to})
	case Default:
		return s.replaceContainer(ctx, a.Arg, s.policy), nil
	case Reindex:
		return s.replaceContainer(ctx, s.def, a.Arg), nil
	case Split:
		if err = s.split(ctx, a.Arg); err != nil && fault.ErrorCode(err) != fault.CodeCanceled {
			return "", err
		}
	}
	return answer("ok", err), nil
}
