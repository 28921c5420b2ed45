package feed

import (
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/view"
)

func TestFeedPositions(t *testing.T) {
	rangeOf := func(id string, parents ...string) *view.PartitionRange {
		return &view.PartitionRange{ID: id, Parents: parents}
	}
	ranges := []*view.PartitionRange{rangeOf("0"), rangeOf("3", "1"), rangeOf("4", "2", "1")}
	for text, want := range map[string][3]uint64{
		"":                  {0, 0, 0},
		"7":                 {7, 7, 7},
		"0:5,1:9":           {5, 9, 9}, // what was split goes on in its halves
		"0:5,3:12,2:11":     {5, 12, 11},
		"0:5,3:12,4:13":     {5, 12, 13},
		"9:1":               {0, 0, 0}, // of ranges that nobody knows: from the beginning
		"0:281474976710654": {MaxSequence - 1, 0, 0},
	} {
		p, err := ParsePositions(text, MaxSequence)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var at [3]uint64
		for i, s := range ranges {
			at[i] = p.Of(s)
		}
		if at != want {
			t.Errorf("%q: %v, want %v", text, at, want)
		}
		again, err := ParsePositions(FormatPositions(ranges, at[:]), MaxSequence)
		for i, s := range ranges {
			if err != nil || again.Of(s) != at[i] {
				t.Errorf("%q: %v does not come back: %v", text, at, err)
			}
		}
	}
	for _, text := range []string{"x", "-1", "+1", "1.0", " 1", ":1", "1:", "1:2,", ",", "1:2:3", "1,2",
		"0x1", "1_0", "281474976710655", strings.Repeat("9", 40)} {
		if _, err := ParsePositions(text, MaxSequence); fault.ErrorCode(err) != fault.CodeBadRequest ||
			err == nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
