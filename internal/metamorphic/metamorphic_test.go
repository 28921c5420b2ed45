package metamorphic

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStepsRoundTrip checks that parsing the text of a random history gives the same history.
func TestStepsRoundTrip(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		h := HistoryRunConditions{Sweep: Sometimes, Reopen: Sometimes, Ranges: 1,
			Between: seed%2 == 0}.Apply(Generate(r, 40),
			r)
		var text string
		for _, s := range h.Steps {
			text += s.String() + "\n"
		}
		again, err := ParseSteps(text)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(h.Steps, again); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}

func TestBadSteps(t *testing.T) {
	for _, line := range []string{"", "at 5", "at noon read a", "query", "read a SELECT 1", "fly a", "read",
		"read a b", "read a colour=red", "list page=two", "sweep a",
		"read a between=sweep", "read a between=x:sweep", "read a between=1:fly", "read a between=1:advance", "read a between=1:sweep:2"} {
		if s, err := ParseStep(line, 0); err == nil {
			t.Errorf("%q was read as %s", line, s)
		}
	}
}

// TestHistoriesCoverVerbs checks that random histories contain each verb with each kind of result at
// least three times.
func TestHistoriesCoverVerbs(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(250) {
		h := Generate(rand.New(rand.NewPCG(seed, 0)), stepsEach)
		twin := NewModel(h.Config, func(string) int { return 0 })
		for _, s := range h.Steps {
			answer := twin.Do(s)
			switch {
			case answer == "":
			case s.Verb == Batch:
				failed := slices.ContainsFunc(strings.Split(answer, "; "),
					func(a string) bool { return slices.Contains(refusals, a) })
				answer = map[bool]string{true: s.Args[0] + " fails", false: s.Args[0] + " succeeds"}[failed]
			case answer[0] == '[' && answer[len(answer)-1] != ']':
				answer = "a page"
			case answer[0] == '[' && len(answer) > 2:
				answer = "items"
			case answer[0] == 'e':
				answer = "an item"
			case strings.HasPrefix(answer, "created"), strings.HasPrefix(answer,
				"replaced"), strings.HasPrefix(answer, "patched"):
				answer, _, _ = strings.Cut(answer, " ")
			}
			if s.As != "" && s.As != s.Key().ID {
				seen["rename: "+answer]++
			}
			seen[s.Verb+": "+answer]++
		}
	}
	for _, want := range []string{"create: created", "create: conflict", "create: bad request",
		"upsert: created", "upsert: replaced",
		"upsert: conflict", "upsert: precondition failed", "upsert: bad request", "replace: replaced", "replace: not found",
		"replace: precondition failed", "replace: conflict", "rename: replaced", "rename: not found", "rename: conflict", "delete: deleted", "delete: not found", "delete: precondition failed",
		"patch: patched", "patch: not found", "patch: precondition failed", "patch: conflict", "patch: bad request", "batch: atomic succeeds",
		"batch: atomic fails", "batch: bulk succeeds", "batch: bulk fails", "batch: stop succeeds", "batch: stop fails",
		"read: an item", "read: not found", "read: not modified", "readmany: items", "readmany: []", "list: items", "list: []",
		"open: a page", "open: items", "next: a page", "next: items", "next: no more", "clear: cleared", "default: ok", "default: bad request",
		"path: ok", "path: bad request",
		"reindex: ok", "reindex: bad request", "query: items", "query: []", "query: bad request"} {
		if seen[want] < 3 {
			t.Errorf("%q came up %d times", want, seen[want])
		}
	}
}

// TestAcceptedResultsOfInterruptedSteps checks which answers the model accepts for a step with concurrent
// operations: those that are correct before, between or after them, and no others.
func TestAcceptedResultsOfInterruptedSteps(t *testing.T) {
	steps := func(text string) []HistoryStep {
		list, err := ParseSteps(text)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, test := range []struct{ step, answers string }{
		{"at 1 read a", "e1 r1 ts=0 A"},
		{"at 1 read a between=0:advance:4", "e1 r1 ts=0 A {ok}\n    or not found {ok}"},
		{"at 1 read a between=0:advance:3", "e1 r1 ts=0 A {ok}"},
		{"at 1 read a between=0:default:1", "e1 r1 ts=0 A {ok}\n    or not found {ok}"},
		{"at 4 read a between=0:back:2", "e1 r1 ts=0 A {bad request}\n    or e1 r1 ts=0 A {ok}"},
		{"at 4 upsert b between=1:advance:2", "created e2 r2 ts=4 {ok}\n    or created e2 r2 ts=6 {ok}"},
		{"at 1 read a between=0:reindex:none,1:split:p,1:sweep", "e1 r1 ts=0 A {bad request, ok}"},
		{"at 1 read a between=0:default:off,0:advance:9", "e1 r1 ts=0 A {ok, ok}"},
		{"at 1 read a between=0:advance:9,0:default:off", "e1 r1 ts=0 A {ok, ok}\n    or not found {ok, ok}"},
	} {
		w := NewModel(TestedContainerConfig{Default: "5", Kind: V2}, func(string) int { return 0 })
		list := steps("create a\n" + test.step)
		w.Do(list[0])
		if got := strings.ReplaceAll(answers(w.outcomes(list[1])), `{"id":"a","pk":"p"}`,
			"A"); got != test.answers {
			t.Errorf("%s:\n  got  %s\n  want %s", test.step, got, test.answers)
		}
	}
	w := NewModel(TestedContainerConfig{Default: "5", Kind: V2}, func(string) int { return 0 })
	w.Do(steps("create a")[0])
	for answer, want := range map[string]int{"not found {ok}": 1, `e1 r1 ts=0 {"id":"a","pk":"p"} {ok}`: 1,
		"e2 {ok}": 0} {
		if n := len(agreeing(w.outcomes(steps("at 1 read a between=0:advance:4")[0]), answer)); n != want {
			t.Errorf("%q: %d twins agree, not %d", answer, n, want)
		}
	}
}

// TestShrinkRemovesConcurrentOperations checks that Shrink also removes concurrent operations that are not
// needed for a failure.
func TestShrinkRemovesConcurrentOperations(t *testing.T) {
	list, err := ParseSteps(
		"read b\nread a between=0:sweep,1:advance:4,2:list,2:sweep\nread c between=1:sweep")
	if err != nil {
		t.Fatal(err)
	}
	less := Shrink(History{Steps: list}, func(h History) bool {
		return slices.ContainsFunc(h.Steps, func(s HistoryStep) bool {
			return strings.Contains(s.Between, "advance") && strings.Contains(s.Between, "2:sweep")
		})
	})
	if got := less.Steps; len(got) != 1 || got[0].Between != "1:advance:4,2:sweep" {
		t.Errorf("cut down to %v", got)
	}
}

// faultyModel is a ReferenceModel with a deliberate fault that the tests must find. bend changes each step
// before the model executes it, and after changes the model's state or its answer afterwards; either may be
// nil.
type faultyModel struct {
	*ReferenceModel
	bend  func(*ReferenceModel, *HistoryStep)         // changes the step before it is done
	after func(*ReferenceModel, HistoryStep, *string) // changes the state or the answer afterwards
}

func (f faultyModel) Do(s HistoryStep) (string, error) {
	if f.bend != nil {
		f.bend(f.ReferenceModel, &s)
	}
	answer := f.ReferenceModel.Do(s)
	if f.after != nil {
		f.after(f.ReferenceModel, s, &answer)
	}
	return answer, nil
}

func (f faultyModel) RangeOf(string) int { return 0 }
func (f faultyModel) Close() error       { return nil }

// TestHistoriesFindFaults checks that random histories find each of a list of deliberate faults, and that
// Shrink reduces the failing history to a few steps.
func TestHistoriesFindFaults(t *testing.T) {
	var dead []*modelItem // whom a query must not see
	for name, fault := range map[string]faultyModel{
		"an item dies a second early": {bend: func(w *ReferenceModel, s *HistoryStep) {
			w.pass(s.At / 1000)
			for _, it := range w.items {
				it.dead = it.dead || expired(it, w.path, w.def, w.now+1)
			}
		}},
		"an item dies a second late": {bend: func(w *ReferenceModel, s *HistoryStep) {
			w.pass(s.At / 1000)
			for _, it := range w.items {
				it.dead = it.dead && expired(it, w.path, w.def, w.now-1)
			}
		}},
		"a ttl of its own is ignored": {bend: func(_ *ReferenceModel, s *HistoryStep) { s.TTL = "" }},
		"a default is never changed": {bend: func(_ *ReferenceModel, s *HistoryStep) {
			if s.Verb == Default {
				s.Verb = Reindex
			}
		}},
		"If-Match is ignored":      {bend: func(_ *ReferenceModel, s *HistoryStep) { s.IfMatch = "" }},
		"If-None-Match is ignored": {bend: func(_ *ReferenceModel, s *HistoryStep) { s.IfNoneMatch = "" }},
		"an old etag passes for the current one": {bend: func(_ *ReferenceModel, s *HistoryStep) {
			if s.IfMatch == "old" {
				s.IfMatch = "cur"
			}
		}},
		"a replace moves an item to the end": {after: func(w *ReferenceModel, s HistoryStep, answer *string) {
			if it := w.last(); s.Verb == Replace && it != nil {
				w.items = append(w.items[1:], w.items[0])
			}
		}},
		"a read restarts the clock": {after: func(w *ReferenceModel, s HistoryStep, answer *string) {
			if it := w.find(parseItemKey(firstArg(s))); s.Verb == Read && it != nil {
				it.ts = w.now
			}
		}},
		"the dead live again under a longer default": {after: func(w *ReferenceModel, s HistoryStep,
			_ *string) {
			if s.Verb == Default {
				for _, it := range w.items {
					it.dead = false
				}
				w.mark()
			}
		}},
		"a unique value outlives its item": {after: func(w *ReferenceModel, s HistoryStep, answer *string) {
			for _, it := range w.items {
				if it.dead && w.config.Unique && s.Verb == Create && unique(it.u) == unique(s.U) &&
					it.key.Partition == s.Key().Partition {
					*answer = "conflict"
				}
			}
		}},
		"a query finds the dead": {bend: func(w *ReferenceModel, s *HistoryStep) {
			dead = slices.DeleteFunc(slices.Clone(w.items),
				func(it *modelItem) bool { return !it.dead || s.Verb != Ask })
			for _, it := range dead {
				it.dead = false
			}
		}, after: func(*ReferenceModel, HistoryStep, *string) {
			for _, it := range dead {
				it.dead = true
			}
		}},
		"a query takes no parameters": {bend: func(_ *ReferenceModel, s *HistoryStep) { s.Params = nil }},
		"an ORDER BY needs no index": {bend: func(w *ReferenceModel,
			s *HistoryStep) {
			w.config.Lenient = true
		}},
		"a change of the policy is forgotten": {bend: func(w *ReferenceModel, s *HistoryStep) {
			if s.Verb == Reindex {
				s.Args = []string{w.policy}
			}
		}},
		"a page begins at the item that the last one ended with": {after: func(w *ReferenceModel,
			s HistoryStep,
			_ *string) {
			if c := w.cursors[firstArg(s)]; s.Verb == Open && c.after != nil {
				c.after = &modelItem{rid: c.after.rid - 1}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(30) {
				h := Generate(rand.New(rand.NewPCG(seed, 0)), stepsEach)
				open := func(c TestedContainerConfig) (TestSubject, error) {
					fault.ReferenceModel = NewModel(c, func(string) int { return 0 })
					return fault, nil
				}
				if Run(h, open) == nil {
					continue
				}
				less := Shrink(h, func(h History) bool { return Run(h, open) != nil })
				if len(less.Steps) > 8 {
					t.Errorf("cut down to %d steps only:\n%s", len(less.Steps), less)
				}
				return
			}
			t.Error("not found by 30 histories")
		})
	}
}

// last returns the item that was inserted last, or nil.
func (w *ReferenceModel) last() *modelItem {
	if len(w.items) == 0 {
		return nil
	}
	return w.items[len(w.items)-1]
}

func firstArg(s HistoryStep) string {
	if len(s.Args) == 0 {
		return ""
	}
	return s.Args[0]
}
