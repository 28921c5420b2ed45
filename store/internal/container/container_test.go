package container_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/value"
)

const cid = 1 | layout.CIDBit

// halves returns a state with two partition ranges, divided at the effective partition key 80, and the
// range "2", from 40 to C0, of a former container of the same name.
func halves(t *testing.T) *container.State {
	t.Helper()
	st := &container.State{Version: container.FirstVersion, Rec: record.Container{
		CID: cid,
		Ranges: []record.PartitionRange{{ID: 3, Number: 1, Max: "80", Parents: []int{0}},
			{ID: 4, Number: 2, Min: "80", Max: definition.MaxEPK, LSN: 9, Parents: []int{0}}},
		Former: []record.RangeOfDroppedContainer{{ID: 2, Min: "40", Max: "C0"}}, RangeLSN: 5,
	}}
	for _, r := range st.Rec.Ranges {
		s, err := container.NewPartition(cid, r)
		if err != nil {
			t.Fatal(err)
		}
		st.Ranges = append(st.Ranges, s)
	}
	return st
}

func TestRanges(t *testing.T) {
	st := halves(t)
	for epk, want := range map[string]string{"": "3", "\x7f\xff": "3", "\x80": "4", "\xff": "4"} {
		if s := st.RangeOf([]byte(epk)); s.ID != want || !s.Holds([]byte(epk)) {
			t.Errorf("% x lies in %s, want %s", epk, s.ID, want)
		}
	}
	if st.Ranges[0].Holds([]byte("\x80")) || st.Ranges[1].Holds([]byte("\x7f")) {
		t.Error("a range holds a key of its neighbour")
	}
	if st.RangeByID("0") != nil || !st.Ranges[1].AnswersFor("0") || st.Ranges[1].AnswersFor("3") {
		t.Error("a range answers for its parents, but is not found by their ids")
	}
	if a, b := st.MadeAt(0), st.MadeAt(1); a != 5 || b != 9 {
		t.Errorf("the ranges were made at %d and %d", a, b)
	}
	_, err := container.NewPartition(cid, record.PartitionRange{Min: "8"})
	if !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("a malformed bound: %v", err)
	}
}

// TestFormerRangeIDs checks that the id of a range of a former container of the same name stands for the
// interval of partition keys that the range had.
func TestFormerRangeIDs(t *testing.T) {
	st := halves(t)
	for id, want := range map[string]bool{"2": true, "3": true, "0": false} {
		if st.KnowsRange(id) != want {
			t.Errorf("range %s is known: %v", id, !want)
		}
	}
	for _, c := range []struct {
		in, want value.KeyOrRange
	}{
		{value.KeyOrRange{Range: "2"}, value.KeyOrRange{MinEPK: "40", MaxEPK: "C0"}},
		{value.KeyOrRange{Range: "2", MinEPK: "50", MaxEPK: "FF"},
			value.KeyOrRange{MinEPK: "50", MaxEPK: "C0"}},
		{value.KeyOrRange{Range: "2", MaxEPK: "60"},
			value.KeyOrRange{MinEPK: "40", MaxEPK: "60"}},
		{value.KeyOrRange{Range: "3"}, value.KeyOrRange{Range: "3"}},
		{value.KeyOrRange{Range: "7"}, value.KeyOrRange{Range: "7"}},
	} {
		got := st.InFormer(c.in)
		if got.Range != c.want.Range || got.MinEPK != c.want.MinEPK || got.MaxEPK != c.want.MaxEPK {
			t.Errorf("%+v becomes %+v, want %+v", c.in, got, c.want)
		}
	}
	for epk, want := range map[string]bool{"\x3f": false, "\x40": true, "\xbf": true, "\xc0": false} {
		if st.LiesIn([]byte(epk), "2") != want {
			t.Errorf("% x lies in the former range: %v", epk, !want)
		}
	}
}

// TestShowAndClamp checks two methods of a Partition: the highest visible LSN that Show returns never
// decreases, and Clamp limits an LSN to the last one before the range was split.
func TestShowAndClamp(t *testing.T) {
	s := halves(t).Ranges[0]
	for _, c := range []struct{ lsn, want uint64 }{{7, 7}, {5, 7}, {8, 8}} {
		if got := s.Show(c.lsn); got != c.want || s.Clamp(got) != c.want {
			t.Errorf("after %d: %d, want %d", c.lsn, got, c.want)
		}
	}
	s.Behind.Store(8)
	if got := s.Clamp(s.Show(12)); got != 7 {
		t.Errorf("the position of a range that was split is %d", got)
	}
}

// TestCurrent checks that State.Current fails unless the mark of a range, a number that the engine stores for
// it, has the version of the state in its lower 32 bits. The other bits have no effect.
func TestCurrent(t *testing.T) {
	st := halves(t)
	if err := st.Current(77<<32 | container.FirstVersion); err != nil {
		t.Error(err)
	}
	for _, mark := range []uint64{0, 77<<32 | 2} {
		var gone *container.OutdatedStateError
		if err := st.Current(mark); !errors.As(err, &gone) || gone.Version != st.Version {
			t.Errorf("mark %x: %v", mark, err)
		}
	}
}

func TestLatestMoments(t *testing.T) {
	var m container.LatestEventTimes
	if last := m.Latest(""); !last.At.IsZero() {
		t.Errorf("there is a moment: %v", last)
	}
	m.Raise(container.MarkWrite, 100)
	m.Raise(container.MarkPurge, 120)
	m.Raise(container.MarkPurge, 90)
	if last := m.Latest(" in d/c"); last.At.Unix() != 120 || last.What != "expired items were purged in d/c" {
		t.Errorf("%d %s", last.At.Unix(), last.What)
	}
	var at atomic.Int64
	container.Raise(&at, 3)
	container.Raise(&at, 2)
	if at.Load() != 3 {
		t.Error(at.Load())
	}
}

// TestShapeCache checks the cache of recorded shapes (the sets of property paths that documents have): a
// shape is in it from Learn until Forget, and no longer after the whole index has been deleted.
func TestShapeCache(t *testing.T) {
	var b container.DocumentShapeRecordCache
	name := container.DocumentShapeHash{1}
	b.Learn(nil, false, 0)
	if known, full := b.LookUp(name); known || full {
		t.Error("an empty cache knows a shape")
	}
	b.Learn([]container.DocumentShapeHash{name}, true, 0)
	if known, full := b.LookUp(name); !known || !full {
		t.Error("a learned shape is unknown")
	}
	b.Forget()
	if known, full := b.LookUp(name); known || full {
		t.Error("a forgotten shape is known")
	}
	b.Learn([]container.DocumentShapeHash{name}, false, 0)
	b.Follow(7)
	if known, _ := b.LookUp(name); known || b.Wipe() != 7 {
		t.Error("a shape is known behind a wipe of the index")
	}
	b.Learn([]container.DocumentShapeHash{name}, false, 0) // by a transaction before the wipe
	if known, _ := b.LookUp(name); known {
		t.Error("a shape of before the wipe was learned")
	}
	b.Learn([]container.DocumentShapeHash{name}, false, 7)
	b.Follow(7)
	if known, _ := b.LookUp(name); !known {
		t.Error("a learned shape is unknown behind a wipe")
	}
}
