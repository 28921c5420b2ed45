package laboratory

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/store/inspect"
)

// TestEnumsMatchStore checks that the enums in the OpenAPI document contain the names that the store
// uses, such as those of the states of an item.
func TestEnumsMatchStore(t *testing.T) {
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
		if !strings.Contains(words(waitForItemRequest{}, "Until"), ","+what+",") {
			t.Errorf("no %s among the waits", what)
		}
	}
	if got := "," + strings.Join(deadlineNames[:], ",") + ","; got != words(DryRunExpiringItemCount{},
		"Within") {
		t.Errorf("deadlines %s", got)
	}
}

// TestRequestStructTags checks the tags of the request structs: the schema of each body allows no
// other members, and a member with an error text for its absence is not marked as optional.
func TestRequestStructTags(t *testing.T) {
	for _, r := range table() {
		what := r.Method + " " + r.Path
		members, closed := membersOf(r.Request)
		if len(members) > 0 && !closed {
			t.Errorf("%s: the schema of its body lets other members in", what)
		}
		for _, f := range members {
			optional := strings.HasSuffix(f.Tag.Get("json"), ",omitempty")
			if optional && f.Tag.Get("missing") != "" {
				t.Errorf("%s: %s must be given, and its tag says omitempty", what, f.Name)
			}
		}
	}
}

// membersOf returns the fields of a request struct that are members of its body, including those of
// embedded structs. closed reports whether the schema of the body allows no other members.
func membersOf(of reflect.Type) (members []reflect.StructField, closed bool) {
	for i := range of.NumField() {
		f := of.Field(i)
		closed = closed || f.Tag.Get("additionalProperties") == "false"
		switch {
		case f.Tag.Get("json") != "":
			members = append(members, f)
		case f.Anonymous:
			below, c := membersOf(f.Type)
			members, closed = append(members, below...), closed || c
		}
	}
	return members, closed
}
