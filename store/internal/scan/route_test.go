package scan

import (
	"testing"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// TestStages checks a read over several ranges, page by page: it goes from one range to the next, and
// reads both halves of a range that is split meanwhile.
func TestStages(t *testing.T) {
	whole := []query.SourceKeyRange{{}}
	before := &view.ContainerAtTime{Ranges: []view.PartitionRange{
		{ID: "0", Max: []byte{0x10}}, {ID: "1", Min: []byte{0x10}},
	}}
	start := func(r *view.PartitionRange) (string, error) { return "start of " + r.ID, nil }
	first, err := StageOf(before, whole, "")
	if err != nil || first.Range.ID != "0" || first.Token != "" {
		t.Fatalf("%+v, %v", first, err)
	}
	next, err := first.NextToken(before, "", start)
	if want := `{"token":"start of 1","range":{"min":"10","max":"FF"}}`; err != nil || next != want {
		t.Fatalf("%s, %v; want %s", next, err, want)
	}
	after := &view.ContainerAtTime{Ranges: []view.PartitionRange{
		before.Ranges[0], {ID: "2", Min: []byte{0x10}, Max: []byte{0x20}}, {ID: "3", Min: []byte{0x20}},
	}}
	lower, err := StageOf(after, whole, next)
	if err != nil || lower.Range.ID != "2" || lower.Token != "start of 1" {
		t.Fatalf("%+v, %v", lower, err)
	}
	if next, err = lower.NextToken(after, "", start); err != nil {
		t.Fatal(err)
	}
	upper, err := StageOf(after, whole, next)
	if err != nil || upper.Range.ID != "3" || upper.Token != "start of 1" {
		t.Fatalf("%+v, %v", upper, err)
	}
	if next, err = upper.NextToken(after, "", start); err != nil || next != "" {
		t.Errorf("behind the last range: %q, %v", next, err)
	}
}

func TestMalformedStages(t *testing.T) {
	state := &view.ContainerAtTime{Ranges: []view.PartitionRange{{ID: "0"}}}
	for _, text := range []string{"x", "{}", "[]", `{"token":"a"}`, `{"token":"a","range":{"min":"20","max":"10"}}`,
		`{"token":"a","range":{"min":"x","max":"FF"}}`,
		`[{"range":{"min":"","max":"20"}},{"range":{"min":"10","max":"FF"}}]`} {
		if _, err := StageOf(state, []query.SourceKeyRange{{}},
			text); fault.ErrorCode(err) != fault.CodeBadRequest {
			t.Errorf("%s: %v", text, err)
		}
	}
}
