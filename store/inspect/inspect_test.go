package inspect_test

import (
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/store/internal/viewtest"
	"github.com/mayflydb/mayfly/ttl"
)

func always() bool { return true }

// TestExplain checks which setting ExplainLife names as the source of an item's time to live, and when it
// says that the item expires.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		name     string
		standard ttl.Seconds
		age      int64
		own      ttl.Seconds
		state    inspect.ItemState
		source   inspect.TTLSource
		left     int64 // until it expires; 0: never
	}{
		{"inherits", 100, 40, ttl.Absent, inspect.StateLive, inspect.SourceContainer, 60},
		{"its own", 100, 40, 50, inspect.StateLive, inspect.SourceItem, 10},
		{"in its last second", 100, 99, ttl.Absent, inspect.StateLive, inspect.SourceContainer, 1},
		{"expired", 100, 100, ttl.Absent, inspect.StateGhost, inspect.SourceContainer, 0},
		{"never", 100, 1000, ttl.Never, inspect.StateLive, inspect.SourceItem, 0},
		{"its own beside -1", ttl.Never, 40, 50, inspect.StateLive, inspect.SourceItem, 10},
	} {
		v := viewtest.New(t, c.standard)
		item := v.Put(`{"id":"1","pk":"a"}`, c.age, c.own)
		e := inspect.ExplainLife(v.State, &item.Head, item.Body)
		mortal := c.left > 0 || c.state == inspect.StateGhost
		if e.State != c.state || e.Source != c.source || e.Mortal != mortal ||
			mortal && e.ExpiresAt != viewtest.Now+c.left {
			t.Errorf("%s: %+v", c.name, e)
		}
	}
}

// TestMeasure checks that Measure and MeasureRanges count all stored documents, also expired ones, and
// report the bytes of each partition key.
func TestMeasure(t *testing.T) {
	v := viewtest.New(t, 100)
	small, large := `{"id":"1","pk":"a"}`, `{"id":"2","pk":"b","text":"0123456789"}`
	v.Put(small, 500, ttl.Absent)
	v.Put(large, 1, ttl.Absent)
	v.View(func(r engine.Reader) error {
		u, err := inspect.Measure(v.State, r)
		if want := int64(len(small) + len(large)); u.Documents != 2 || u.Bytes != want {
			t.Errorf("%+v, want %d bytes", u, want)
		}
		return err
	})
	v.View(func(r engine.Reader) error {
		list, err := inspect.MeasureRanges(v.State, r)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		s := list[0]
		if s.Range != "0" || s.Keys != 2 || len(s.Largest) != 2 || s.Largest[0].Key != `["b"]` ||
			s.Largest[0].Bytes != int64(len(large)) {
			t.Errorf("%+v", s)
		}
		return nil
	})
}

// TestForecast checks how many items a forecast counts as expired, and how many for each future second,
// minute and hour.
func TestForecast(t *testing.T) {
	v := viewtest.New(t, 100)
	v.Put(`{"id":"0","pk":"a"}`, 100, ttl.Absent) // in this second
	v.Put(`{"id":"1","pk":"a"}`, 130, ttl.Absent)
	v.Put(`{"id":"2","pk":"a"}`, 95, ttl.Absent)
	v.Put(`{"id":"3","pk":"a","ttl":4000}`, 10, 4000)
	v.Put(`{"id":"4","pk":"a","ttl":-1}`, 10, ttl.Never)
	f := inspect.NewForecast()
	v.View(func(r engine.Reader) error { return f.Add(v.State, r, always) })
	if !f.Exact || f.Overdue != 2 || f.Lag != 30 || f.Coming != 2 || f.Next != 5 {
		t.Errorf("%+v", f)
	}
	if seconds, minutes, hours := f.Ahead[0], f.Ahead[1], f.Ahead[2]; seconds[4] != 1 || minutes[0] != 1 ||
		hours[0] != 1 || hours[1] != 1 {
		t.Errorf("seconds %v, minutes %v, hours %v", seconds, minutes, hours)
	}
	v.View(func(r engine.Reader) error {
		b, err := inspect.Ghosts(v.State, &v.State.Ranges[0], r, 100)
		if b.Items != 2 || b.Oldest != 30 {
			t.Errorf("backlog %+v", b)
		}
		return err
	})
}

// TestDryRun checks which effects DryRunTTL reports for several new defaults, and that items that have
// already expired stay expired.
func TestDryRun(t *testing.T) {
	v := viewtest.New(t, 100)
	v.Put(`{"id":"gone","pk":"a"}`, 130, ttl.Absent)
	v.Put(`{"id":"inherits","pk":"a"}`, 40, ttl.Absent)
	v.Put(`{"id":"own","pk":"a","ttl":70}`, 40, 70)
	v.Put(`{"id":"never","pk":"a","ttl":-1}`, 40, ttl.Never)
	for to, want := range map[ttl.Seconds][inspect.TTLEffects]int64{
		20:         {inspect.EffectNone: 2, inspect.EffectDies: 1},
		50:         {inspect.EffectNone: 2, inspect.EffectSooner: 1},
		200:        {inspect.EffectNone: 2, inspect.EffectLater: 1},
		ttl.Never:  {inspect.EffectNone: 2, inspect.EffectImmortal: 1},
		ttl.Absent: {inspect.EffectNone: 1, inspect.EffectImmortal: 2},
	} {
		v.View(func(r engine.Reader) error {
			d, err := inspect.DryRunTTL(v.State, r, to, inspect.TTLChangeDryRunOptions{}, always)
			var got [inspect.TTLEffects]int64
			for i, e := range d.Effects {
				got[i] = e.Count
			}
			if !d.Exact || d.Expired != 1 || got != want {
				t.Errorf("to %d: %d expired, effects %v, want %v", to, d.Expired, got, want)
			}
			return err
		})
	}
}
