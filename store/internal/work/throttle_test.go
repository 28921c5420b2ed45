package work

import (
	"testing"
	"time"
)

// TestThroughputBudget checks that a ThroughputBudget admits requests until the RU of one second are spent.
// The last request may exceed the budget. Further requests must wait until the excess has been paid back.
func TestThroughputBudget(t *testing.T) {
	const perSecond = 400
	at := time.Unix(1_000_000, 0)
	var b ThroughputBudget
	admitted := 0
	for b.Wait(at, perSecond) == 0 {
		b.Spend(at, perSecond, 30)
		admitted++
	}
	if admitted != 14 { // 13 cost 390, the 14th overdraws
		t.Errorf("%d requests of 30 RU run in one moment, want 14", admitted)
	}
	wait := b.Wait(at, perSecond)
	if want := 50 * time.Millisecond; wait != want { // 20 RU over
		t.Errorf("the next waits %v, want %v", wait, want)
	}
	if again := b.Wait(at.Add(wait-time.Millisecond), perSecond); again == 0 {
		t.Error("a request is admitted before the time it was told")
	}
	if again := b.Wait(at.Add(wait+time.Millisecond), perSecond); again != 0 {
		t.Errorf("after the time it was told it waits %v more", again)
	}
	if b.Wait(at.Add(time.Hour), perSecond); b.spent != 0 {
		t.Errorf("after an hour %v RU are still owed", b.spent)
	}
	b.Wait(at, perSecond)
	if !b.at.Equal(at.Add(time.Hour)) {
		t.Error("a clock that steps back refills the budget twice")
	}
}
