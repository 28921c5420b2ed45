package store

import (
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

func TestFeedPositions(t *testing.T) {
	slotOf := func(id int, parents ...int) *partition {
		s, err := newPartition(layout.CIDBit, record.Range{ID: id, Max: definition.MaxEPK, Parents: parents})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ranges := []*partition{slotOf(0), slotOf(3, 1), slotOf(4, 2, 1)}
	for text, want := range map[string][3]uint64{
		"":                  {0, 0, 0},
		"7":                 {7, 7, 7},
		"0:5,1:9":           {5, 9, 9}, // what was split goes on in its halves
		"0:5,3:12,2:11":     {5, 12, 11},
		"0:5,3:12,4:13":     {5, 12, 13},
		"9:1":               {0, 0, 0}, // of ranges that nobody knows: from the beginning
		"0:281474976710654": {maxSequence - 1, 0, 0},
	} {
		p, err := parsePositions(text, maxSequence)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var at [3]uint64
		for i, s := range ranges {
			at[i] = p.of(s)
		}
		if at != want {
			t.Errorf("%q: %v, want %v", text, at, want)
		}
		again, err := parsePositions(formatPositions(ranges, at[:]), maxSequence)
		for i, s := range ranges {
			if err != nil || again.of(s) != at[i] {
				t.Errorf("%q: %v does not come back: %v", text, at, err)
			}
		}
	}
	for _, text := range []string{"x", "-1", "+1", "1.0", " 1", ":1", "1:", "1:2,", ",", "1:2:3", "1,2",
		"0x1", "1_0", "281474976710655", strings.Repeat("9", 40)} {
		if _, err := parsePositions(text, maxSequence); fault.ErrorCode(err) != fault.CodeBadRequest ||
			err == nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
