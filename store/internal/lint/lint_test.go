package lint

import (
	"testing"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

func itemOf(id, body string, own ttl.Seconds) *view.DecodedItem {
	head := layout.ItemHeader{Life: ttl.Lifetime{Own: own}}
	return &view.DecodedItem{ID: id, Body: []byte(body), Head: head}
}

func TestTTLLint(t *testing.T) {
	for _, tc := range []struct {
		name string
		def  ttl.Seconds
		item *view.DecodedItem
		want definition.BrokenLintRules
	}{
		{"no ttl", ttl.Absent, itemOf("1", `{"id":"1"}`, ttl.Absent), 0},
		{"a ttl that works", 10, itemOf("1", `{"id":"1","ttl":5}`, 5), 0},
		{"a ttl where nothing expires", ttl.Absent, itemOf("1", `{"id":"1","ttl":5}`, 5), definition.LintOff},
		{"the lock of a processor", ttl.Absent, itemOf("a.lock", `{"id":"a.lock","ttl":5}`, 5), 0},
		{"a document of such a name", ttl.Absent, itemOf("a.lock", `{"id":"a.lock","ttl":5,"x":1}`, 5),
			definition.LintOff},
	} {
		if got := Life(tc.def, tc.item, &view.TTLStartProperty{}, nil); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestNote checks that Note calls warn for the first, 10th, 100th and 1000th write that breaks a rule, and
// only once for a ttl of null.
func TestNote(t *testing.T) {
	var book ViolationCounters
	lines := map[definition.BrokenLintRules][]uint64{}
	last := &LastViolatingWrite{}
	for range 1000 {
		book.Note(definition.LintOff|definition.LintNull, last, func(rule definition.BrokenLintRules,
			times uint64) {
			lines[rule] = append(lines[rule], times)
		})
	}
	if got := lines[definition.LintOff]; len(got) != 4 || got[3] != 1000 {
		t.Errorf("lines at %v", got)
	}
	if got := lines[definition.LintNull]; len(got) != 1 {
		t.Errorf("lines about null at %v", got)
	}
	for _, c := range book.Counts() {
		want := uint64(0)
		if c.Rule == definition.LintOff || c.Rule == definition.LintNull {
			want = 1000
		}
		if c.Count != want || (c.Last == last) != (want > 0) {
			t.Errorf("%v: %d, want %d", c.Rule, c.Count, want)
		}
	}
}
