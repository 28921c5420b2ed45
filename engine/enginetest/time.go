package enginetest

import (
	"errors"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
)

// timeless returns a copy of a position with Now set to 0, for comparisons.
func timeless(at engine.LSNScopeStatus) engine.LSNScopeStatus {
	at.Now = 0
	return at
}

// testTime checks an engine.DatabaseTimeReporter: the position of each result has the time of the database,
// which never decreases and is never later than the result of Told, the latest time that the database has
// returned.
func testTime(t *testing.T, s *testedEngine) {
	teller, ok := s.Engine.(engine.DatabaseTimeReporter)
	s.set("a", "a/1", "one")
	at := s.update([]string{"a"}, func(engine.Txn) error { return nil })
	if !ok {
		if at[0].Now != 0 {
			t.Errorf("the engine tells the time %d and is no Teller", at[0].Now)
		}
		return
	}
	last := int64(0)
	later := func(what string, now int64) {
		t.Helper()
		if told := teller.Told().UnixMicro(); now < last || now == 0 || told < now {
			t.Errorf("%s: %d behind %d, told is %d", what, now, last, told)
		}
		last = max(last, now)
	}
	later("update", at[0].Now)
	for range 3 {
		if err := s.View(ctx, func(r engine.Reader) error {
			at, err := r.Positions(keys("a"))
			if err == nil {
				later("view", at[0].Now)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if g, ok := s.Engine.(engine.Getter); ok {
			_, at, err := g.Get(ctx, []byte("a"), []byte("a/2"))
			if !errors.Is(err, engine.ErrNotFound) {
				t.Error(err)
			}
			later("get", at.Now)
		}
		var inside time.Time
		at := s.update([]string{"a"}, func(tx engine.Txn) error {
			inside = teller.Told()
			at, err := tx.Positions(keys("a"))
			if err == nil {
				later("in an update", at[0].Now)
			}
			return err
		})
		if inside.UnixMicro() < at[0].Now {
			t.Errorf("told in the update is %d, its position's is %d", inside.UnixMicro(), at[0].Now)
		}
		later("update", at[0].Now)
	}
}
