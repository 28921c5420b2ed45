package entity

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"PT1M": time.Minute, "P14D": 14 * 24 * time.Hour, "PT0.5S": 500 * time.Millisecond,
		"P1DT2H3M4.25S": 26*time.Hour + 3*time.Minute + 4250*time.Millisecond,
		"PT0S":          0, "-PT1S": -time.Second, "PT90M": 90 * time.Minute,
		"P10675199DT2H48M5.4775807S": Forever, "P10675199DT2H48M5.47758S": Forever,
		"P99999999999999999999D": Forever,
		"P2W":                    14 * 24 * time.Hour, " PT1M ": time.Minute, "PT5.S": 5 * time.Second,
	} {
		got, err := ParseDuration(text)
		if err != nil || got != want {
			t.Errorf("%q is %v (%v), not %v", text, got, err, want)
		}
		back, err := ParseDuration(FormatDuration(got))
		if err != nil || back != got {
			t.Errorf("%v is written as %q, which is %v (%v)", got, FormatDuration(got), back, err)
		}
	}
	for _, text := range []string{"", "P", "PT", "1", "P1Y", "P1M", "PT1", "PTS", "P1DT", "1d", "PT-1S",
		"P1.5D"} {
		if got, err := ParseDuration(text); ErrorCodeOf(err) != CodeArgument {
			t.Errorf("%q is %v (%v)", text, got, err)
		}
	}
	for d, want := range map[time.Duration]string{0: "PT0S", time.Minute: "PT1M", 24 * time.Hour: "P1D",
		-90 * time.Second: "-PT1M30S", time.Nanosecond: "PT0.000000001S"} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%v is written as %q, not %q", d, got, want)
		}
	}
}
