package ttl_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// TestReaperRangeClocks checks that a range with a clock of its own is swept when that clock has reached
// the expiry of an item, whatever the reaper's clock shows, and that other ranges are not swept then.
func TestReaperRangeClocks(t *testing.T) {
	own := ttl.NewManual(noon)
	g := newReaperRig(t, ttl.ReaperOptions{}, func(y *testSweeper) {
		y.clocks = map[ttl.SweepRange]ttl.Clock{slot(2): own}
		y.put(slot(1), 1, 3*time.Second)
		y.put(slot(2), 1, 3*time.Second)
	})
	g.settle()
	g.check(t, 2, "1 2")
	for range 2 {
		own.Advance(time.Second)
		g.settle()
		g.check(t, 2, "")
	}
	own.Advance(time.Second)
	g.settle()
	g.check(t, 1, "2")
	g.clock.Advance(3 * time.Second)
	g.settle()
	g.check(t, 0, "1")
}

// TestRebase checks that a virtual clock keeps its timers when Rebase gives it another base, and that it
// follows the new base.
func TestRebase(t *testing.T) {
	server, system := ttl.NewManual(noon), ttl.NewManual(noon)
	v := ttl.NewVirtualClock(server)
	fires, stop := v.After(10 * time.Second)
	defer stop()
	fired := func(want bool) {
		t.Helper()
		select {
		case <-fires:
			if !want {
				t.Error("fired too early")
			}
		default:
			if want {
				t.Error("did not fire")
			}
		}
	}
	shows := func(seconds int) {
		t.Helper()
		if got := v.Now().Sub(noon); got != time.Duration(seconds)*time.Second {
			t.Errorf("shows %v, not %d s", got, seconds)
		}
	}
	server.Advance(4 * time.Second)
	shows(4)
	if err := v.Rebase(system, v.State()); err != nil { // its mark is 4 seconds ahead of the system's time
		t.Fatal(err)
	}
	shows(0)
	server.Advance(time.Hour)
	shows(0)
	fired(false)
	system.Advance(9 * time.Second)
	shows(9)
	fired(false)
	system.Advance(time.Second)
	fired(true)
	if err := v.Rebase(server, ttl.In(server)); err != nil {
		t.Fatal(err)
	}
	shows(3604)
	server.Set(noon)
	shows(0)
	if v.Base() != ttl.Clock(server) {
		t.Error("another base")
	}
	if err := v.Rebase(server, ttl.VirtualClockState{Rate: math.NaN()}); !errors.As(err,
		new(*ttl.ClockRateError)) {
		t.Error(err)
	}
}

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "29d": 29 * day, "1d12h": 36 * time.Hour, "0d": 0, "0s": 0, "1d0s": day,
		"-1d": -day, "-1d12h": -36 * time.Hour, "-5m": -5 * time.Minute, "106751d": 106751 * day, "1d1.5h": 25*time.Hour + 30*time.Minute,
		"5": 5 * time.Second, "1.5": 1500 * time.Millisecond, "-5": -5 * time.Second, " 90s ": 90 * time.Second,
		"1h 59m 13s": 2*time.Hour - 47*time.Second, "1d 12h": 36 * time.Hour, "PT1H30M": 90 * time.Minute, "P14D": 14 * day,
		"pt0.5s": 500 * time.Millisecond, "-PT5S": -5 * time.Second, "P1W": 7 * day,
	} {
		if d, err := ttl.ParseDuration(text); d != want || err != nil {
			t.Errorf("%s: %v %v", text, d, err)
		}
	}
	for _, text := range []string{"", "d", "d5h", "1.5d", "1d-5h", "1d+5h", "1dd", "1d5", "5h1d",
		"106752d", "106751d24h", "99999999999d", "1 d", "-", "PT", "P1M", "P1Y",
		"P106752D", "1h  5m", "5 5", "1h 5", "1e3", "0x5", "+-5"} {
		if d, err := ttl.ParseDuration(text); !errors.As(err, new(*ttl.DurationSyntaxError)) {
			t.Errorf("%s: %v %v", text, d, err)
		}
	}
	if got := fmt.Sprint((&ttl.DurationSyntaxError{Text: "x"}).Error()); got != `"x" is not a duration such as 90s, 1h30m, 29d, PT1H or a number of seconds` {
		t.Error(got)
	}
}

// TestTimersBesideMoves checks that a timer on a virtual clock fires even if the clock's base is moved
// while the timer is being set.
func TestTimersBesideMoves(t *testing.T) {
	for range 2000 {
		server := ttl.NewManual(noon)
		v := ttl.NewVirtualClock(server)
		armed := make(chan (<-chan time.Time))
		go func() {
			fires, _ := ttl.At(v, noon.Add(10*time.Second))
			armed <- fires
		}()
		server.Advance(4 * time.Second)
		server.Advance(6 * time.Second)
		select {
		case <-<-armed:
		default:
			t.Fatal("nobody was woken at the moment that was waited for")
		}
	}
}

// TestFormatDuration checks the text of several durations, and that ParseDuration reads each text back.
func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 90 * time.Second: "1m 30s", 2*time.Hour - 47*time.Second: "1h 59m 13s",
		720 * time.Hour: "30d", 500 * time.Millisecond: "0.5s", -36 * time.Hour: "-1d 12h", 86401 * time.Second: "1d 1s",
		math.MinInt64: "-106751d 23h 47m 16.854775808s"} {
		got := ttl.FormatDuration(d)
		back, err := ttl.ParseDuration(got)
		if got != want || (d != math.MinInt64 && (back != d || err != nil)) {
			t.Errorf("%v is written as %q, which is %v (%v), not %q", d, got, back, err, want)
		}
	}
}
