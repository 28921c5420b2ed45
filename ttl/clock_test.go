package ttl_test

import (
	"encoding/json"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mayflydb/mayfly/ttl"
)

var noon = time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)

// minimalClockWrapper wraps a clock and has only the methods of ttl.Clock, like a clock of another package.
type minimalClockWrapper struct{ c *ttl.VirtualClock }

func (f minimalClockWrapper) Now() time.Time                                   { return f.c.Now() }
func (f minimalClockWrapper) After(d time.Duration) (<-chan time.Time, func()) { return f.c.After(d) }

func checkNow(t *testing.T, c ttl.Clock, want time.Time) {
	t.Helper()
	if got := c.Now(); !got.Equal(want) {
		t.Errorf("the clock reads %s, want %s", got, want)
	}
}

// fired returns the time that a timer has sent; ok is false if it has not fired.
func fired(c <-chan time.Time) (at time.Time, ok bool) {
	select {
	case at = <-c:
		return at, true
	default:
		return at, false
	}
}

func checkFired(t *testing.T, c <-chan time.Time, want time.Time) {
	t.Helper()
	if at, ok := fired(c); !ok {
		t.Errorf("the timer has not fired, want %s", want)
	} else if !at.Equal(want) {
		t.Errorf("the timer sent %s, want %s", at, want)
	}
}

func checkSilent(t *testing.T, c <-chan time.Time) {
	t.Helper()
	if at, ok := fired(c); ok {
		t.Errorf("the timer fired at %s", at)
	}
}

func TestRealClock(t *testing.T) {
	before := ttl.SystemClock{}.Now()
	c, stop := ttl.SystemClock{}.After(time.Millisecond)
	defer stop()
	<-c
	if passed := (ttl.SystemClock{}).Now().Sub(before); passed < time.Millisecond {
		t.Errorf("a timer of 1ms fired after %s", passed)
	}
	far, stop := ttl.SystemClock{}.After(time.Hour)
	stop()
	stop()
	checkSilent(t, far)
}

func TestManualClock(t *testing.T) {
	c := ttl.NewManual(noon)
	checkNow(t, c, noon)
	c.Advance(1500 * time.Millisecond)
	checkNow(t, c, noon.Add(1500*time.Millisecond))
	c.Advance(-time.Hour)
	checkNow(t, c, noon.Add(1500*time.Millisecond-time.Hour))
	c.Set(noon)
	checkNow(t, c, noon)
	c.Set(time.Unix(math.MaxInt64/2, 0))
	if y := c.Now().Year(); y != 9999 {
		t.Errorf("far set clock reads the year %d", y)
	}
	c.Advance(math.MaxInt64)
	c.Set(time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC))
	if y := c.Now().Year(); y != 1 {
		t.Errorf("far back set clock reads the year %d", y)
	}
}

func TestRunningClock(t *testing.T) {
	base := ttl.NewManual(noon)
	c := ttl.NewVirtualClock(base)
	checkNow(t, c, noon)
	base.Advance(time.Second)
	checkNow(t, c, noon.Add(time.Second))

	c.Freeze()
	base.Advance(time.Second)
	checkNow(t, c, noon.Add(time.Second))
	c.Resume()
	base.Advance(time.Second)
	checkNow(t, c, noon.Add(2*time.Second))

	if err := c.SetRate(3600); err != nil {
		t.Fatal(err)
	}
	c.Resume() // a running clock keeps its speed
	base.Advance(700 * time.Millisecond)
	checkNow(t, c, noon.Add(2*time.Second+42*time.Minute))

	c.Set(noon)
	checkNow(t, c, noon)
	base.Advance(time.Second)
	checkNow(t, c, noon.Add(time.Hour))

	if err := c.SetRate(0); err != nil {
		t.Fatal(err)
	}
	base.Advance(time.Second)
	checkNow(t, c, noon.Add(time.Hour))
}

func TestRateRefused(t *testing.T) {
	c := ttl.NewManual(noon)
	for _, rate := range []float64{-1, math.Inf(1), math.NaN(), 2 * ttl.MaxRate} {
		var refused *ttl.ClockRateError
		if err := c.SetRate(rate); !errors.As(err, &refused) {
			t.Errorf("SetRate(%g): error %v, want a *RateError", rate, err)
		}
		if err := c.Restore(ttl.VirtualClockState{At: noon.Add(time.Hour), Rate: rate}); !errors.As(err,
			&refused) {
			t.Errorf("Restore of the rate %g: error %v, want a *RateError", rate, err)
		}
	}
	checkNow(t, c, noon)
}

func TestTimersFireOnJumps(t *testing.T) {
	c := ttl.NewManual(noon)
	second, _ := c.After(2 * time.Second)
	first, _ := c.After(time.Second)
	gone, stop := c.After(time.Second)
	at0, _ := c.After(0)
	checkFired(t, at0, noon)

	c.Advance(999 * time.Millisecond)
	checkSilent(t, first)
	stop()
	c.Advance(time.Millisecond)
	checkFired(t, first, noon.Add(time.Second))
	checkSilent(t, second)
	checkSilent(t, gone)
	stop()

	c.Set(noon.Add(-time.Hour)) // set back: the deadline stays
	c.Advance(time.Hour + time.Second)
	checkSilent(t, second)
	c.Set(noon.Add(24 * time.Hour))
	checkFired(t, second, noon.Add(24*time.Hour))
}

// TestTimersOfARunningClock checks that the timers of a running virtual clock fire at their time, over
// several kinds of underlying clocks and after a change of the rate.
func TestTimersOfARunningClock(t *testing.T) {
	manual := ttl.NewManual(noon)
	for name, base := range map[string]ttl.Clock{"manual": manual, "virtual": ttl.NewVirtualClock(manual),
		"foreign": minimalClockWrapper{manual}} {
		t.Run(name, func(t *testing.T) {
			start := base.Now()
			c := ttl.NewVirtualClock(base)
			hour, stop := c.After(3 * time.Hour)
			minute, _ := c.After(time.Minute)
			never, stopNever := c.After(time.Minute)
			stopNever()
			manual.Advance(time.Minute)
			if at := <-minute; !at.Equal(start.Add(time.Minute)) {
				t.Errorf("the timer of a minute sent %s, the clock started at %s", at, start)
			}
			if err := c.SetRate(60); err != nil {
				t.Fatal(err)
			}
			manual.Advance(179*time.Second - time.Millisecond)
			checkSilent(t, hour)
			manual.Advance(time.Millisecond)
			if at := <-hour; !at.Equal(start.Add(3 * time.Hour)) {
				t.Errorf("the timer of three hours sent %s, the clock started at %s", at, start)
			}
			checkSilent(t, never)
			stop()

			c.Freeze()
			frozen, stop := c.After(time.Second)
			manual.Advance(time.Hour)
			checkSilent(t, frozen)
			c.Resume()
			manual.Advance(time.Second)
			<-frozen
			stop()
			_, stop = c.After(time.Hour) // what is stopped leaves nothing behind: TestMain looks
			stop()
		})
	}
}

func TestTimersOnTheRealClock(t *testing.T) {
	c := ttl.NewVirtualClock(ttl.SystemClock{})
	if err := c.SetRate(ttl.MaxRate); err != nil {
		t.Fatal(err)
	}
	start := c.Now()
	fired, stop := c.After(time.Hour) // 3.6 ms
	defer stop()
	if passed := (<-fired).Sub(start); passed < time.Hour {
		t.Errorf("a timer of an hour fired after %s", passed)
	}
}

func TestStateRoundTrip(t *testing.T) {
	base := ttl.NewManual(noon)
	c := ttl.NewVirtualClock(base)
	c.Set(noon.Add(-48 * time.Hour))
	if err := c.SetRate(2); err != nil {
		t.Fatal(err)
	}
	base.Advance(time.Second)
	stored, err := json.Marshal(c.State())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"at":"2024-05-04T12:00:02Z","mark":"2024-05-06T12:00:01Z","rate":2}`
	if string(stored) != want {
		t.Errorf("state %s, want %s", stored, want)
	}

	base.Advance(time.Minute) // the process is down
	var s ttl.VirtualClockState
	if err := json.Unmarshal(stored, &s); err != nil {
		t.Fatal(err)
	}
	again := ttl.NewVirtualClock(base)
	waiting, _ := again.After(time.Second)
	if err := again.Restore(s); err != nil {
		t.Fatal(err)
	}
	checkNow(t, again, noon.Add(-48*time.Hour+2*time.Second+2*time.Minute))
	checkNow(t, again, c.Now())
	base.Advance(time.Second)
	checkNow(t, again, c.Now())
	checkSilent(t, waiting)

	c.Freeze()
	if err := again.Restore(c.State()); err != nil {
		t.Fatal(err)
	}
	base.Advance(time.Minute)
	checkNow(t, again, c.Now())
}

// TestClockModel applies random changes (advance, set, rate) to a virtual clock. It compares the time with
// a model, and checks that each timer fires when its deadline is reached and not before.
func TestClockModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := ttl.NewManual(noon)
		c := ttl.NewVirtualClock(base)
		at, rate, passed := noon, time.Duration(1), time.Duration(0)
		type timer struct {
			c        <-chan time.Time
			stop     func()
			deadline time.Time
		}
		var timers []timer
		seconds := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0,
				20).Draw(t, "s")) * time.Second
		})
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			at, passed = at.Add(rate*passed), 0
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				passed = seconds.Draw(t, "base")
				base.Advance(passed)
			case 1:
				d := seconds.Draw(t, "advance")
				c.Advance(d)
				at = at.Add(d)
			case 2:
				at = noon.Add(seconds.Draw(t, "set"))
				c.Set(at)
			case 3:
				rate = time.Duration(rapid.IntRange(0, 3).Draw(t, "rate"))
				if err := c.SetRate(float64(rate)); err != nil {
					t.Fatal(err)
				}
			case 4:
				if err := c.Restore(c.State()); err != nil {
					t.Fatal(err)
				}
			case 5:
				d := seconds.Draw(t, "after")
				ch, stop := c.After(d)
				timers = append(timers, timer{ch, stop, at.Add(d)})
			case 6:
				if len(timers) > 0 {
					timers[0].stop()
					timers = timers[1:]
				}
			}
			now := at.Add(rate * passed)
			if !c.Now().Equal(now) {
				t.Fatalf("the clock reads %s, want %s", c.Now(), now)
			}
			left := timers[:0]
			for _, tm := range timers {
				_, ok := fired(tm.c)
				if ok == tm.deadline.After(now) {
					t.Fatalf("at %s the timer for %s: fired = %t", now, tm.deadline, ok)
				}
				if !ok {
					left = append(left, tm)
				}
			}
			timers = left
		}
	})
}

func TestConcurrentClockUse(t *testing.T) {
	base := ttl.NewManual(noon)
	c := ttl.NewVirtualClock(base)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 200 {
				ch, stop := c.After(time.Duration(i%7) * time.Millisecond)
				c.Advance(time.Millisecond)
				base.Advance(time.Millisecond)
				if i%3 == 0 {
					stop()
				} else if i%7 <= 1 {
					<-ch
				}
				c.Freeze()
				c.State()
				c.Resume()
			}
		})
	}
	wg.Wait()
}
