package laboratory

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/store/inspect"
)

// The words that the document allows are the store's.
func TestEnumsAreTheStores(t *testing.T) {
	words := func(of any, field string) string {
		f, ok := reflect.TypeOf(of).FieldByName(field)
		if !ok {
			t.Fatalf("%T has no %s", of, field)
		}
		return "," + f.Tag.Get("enum") + ","
	}
	states, sources := words(ItemExpiry{}, "State"), words(ItemExpiry{}, "Source")
	for _, s := range []inspect.ItemState{inspect.StateUnknown, inspect.StateLive, inspect.StateGhost,
		inspect.StatePurged} {
		if !strings.Contains(states, ","+s.String()+",") {
			t.Errorf("no %s among %s", s, states)
		}
	}
	for _, s := range []inspect.TTLSource{inspect.SourceOff, inspect.SourceItem, inspect.SourceContainer,
		inspect.SourceFloor, inspect.SourceLease} {
		if !strings.Contains(sources, ","+s.String()+",") {
			t.Errorf("no %s among %s", s, sources)
		}
	}
	for what := range waits {
		if !strings.Contains(words(waitRequest{}, "Until"), ","+what+",") {
			t.Errorf("no %s among the waits", what)
		}
	}
	if got := "," + strings.Join(deadlineNames[:], ",") + ","; got != words(DryRunDeadlines{}, "Within") {
		t.Errorf("deadlines %s", got)
	}
}

// A request struct says all that its decoder has to know: a member that clients must give is refused where it
// is missing, bodies are closed, and what a refusal names are the members that there are.
func TestRequestsSayWhatTheyTake(t *testing.T) {
	for _, r := range table() {
		p := planOf(r.request)
		if len(p.body) == 0 {
			continue
		}
		what, closed := r.method+" "+r.path, false
		for i := range r.request.NumField() {
			f := r.request.Field(i)
			closed = closed || f.Tag.Get("additionalProperties") == "false"
			if f.Type == reflect.TypeFor[ClockChange]() {
				closed = true // which is
			}
		}
		if !closed {
			t.Errorf("%s: the schema of its body lets other members in", what)
		}
		for _, f := range p.body {
			if f.missing != "" && !f.always {
				t.Errorf("%s: %s must be given, and its tag says omitempty", what, f.name)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for want, fields := range map[string][]field{
		"": {}, "'a'": {{name: "a"}}, "'a' and 'b'": {{name: "a"},
			{name: "b"}}, "'a', 'b' and 'c'": {{name: "a"}, {name: "b"}, {name: "c"}},
	} {
		if got := names(fields); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
