package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// run runs the task t with p by the test clock for 40 seconds. Each second adds the given steps and count.
func run(p *Bar, clock *ttl.VirtualClock, t Task, steps, count int) {
	p.StartTask(t)
	for range 40 {
		clock.Advance(time.Second)
		p.Add(steps, count)
	}
	p.Stop()
	clock.Advance(time.Hour)
	p.Step(1)
}

// TestLines checks the lines of a log: one every 10 seconds, none for short work.
func TestLines(t *testing.T) {
	for _, c := range []struct {
		task         Task
		steps, count int
		want         string
	}{
		{Task{Name: "filling", Total: 400}, 5, 0,
			"filling: 50 of 400 (12 %), 1m 10s left|filling: 100 of 400 (25 %), 1m left|" +
				"filling: 150 of 400 (37 %), 50s left|filling: 200 of 400 (50 %), 40s left|"},
		{Task{Name: "filling", Total: -1}, 5, 0, "filling: 50|filling: 100|filling: 150|filling: 200|"},
		{Task{Name: "importing", Total: 40e6, Bytes: true, Unit: "documents"}, 1e6, 2500,
			"importing: 10.0 MB of 40.0 MB (25 %), 25000 documents, 2500/s, 30s left|" +
				"importing: 20.0 MB of 40.0 MB (50 %), 50000 documents, 2500/s, 20s left|" +
				"importing: 30.0 MB of 40.0 MB (75 %), 75000 documents, 2500/s, 10s left|" +
				"importing: 40.0 MB of 40.0 MB (100 %), 100000 documents, 2500/s|"},
		{Task{Name: "importing", Total: -1, Bytes: true, Unit: "documents"}, 1e3, 2,
			"importing: 10.0 KB, 20 documents, 2/s|importing: 20.0 KB, 40 documents, 2/s|" +
				"importing: 30.0 KB, 60 documents, 2/s|importing: 40.0 KB, 80 documents, 2/s|"},
		// what an earlier run has done counts for the percentage and not for the rate
		{Task{Name: "exporting", Total: 1000, Done: 600, Unit: "items"}, 10, 0,
			"exporting: 700 of 1000 items (70 %), 10/s, 30s left|exporting: 800 of 1000 items (80 %), " +
				"10/s, 20s left|" +
				"exporting: 900 of 1000 items (90 %), 10/s, 10s left|exporting: 1000 of 1000 items (100 " +
				"%), 10/s|"},
		// there is more than was counted at the start
		{Task{Name: "exporting", Total: 10, Unit: "items"}, 10, 0,
			strings.Repeat("exporting: 10 of 10 items (100 %), 10/s|", 4)},
	} {
		var out strings.Builder
		clock := ttl.NewManual(time.Unix(1_800_000_000, 0))
		p := New(&out, clock)
		p.Step(1) // before a task has begun
		run(p, clock, c.task, c.steps, c.count)
		if got := strings.ReplaceAll(out.String(), "\n", "|"); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.task, got, c.want)
		}
	}
	new(Bar).Step(1) // shows nothing
}

// TestTerminal checks that a line is drawn over the one before, and removed at the end.
func TestTerminal(t *testing.T) {
	var out strings.Builder
	clock := ttl.NewManual(time.Unix(1_800_000_000, 0))
	p := New(&out, clock)
	p.terminal = true
	p.StartTask(Task{Name: "importing", Total: 2000, Bytes: true})
	for _, steps := range []int{998, 1, 1000} {
		clock.Advance(drawEvery)
		p.Step(steps)
		p.Step(0) // too soon to be drawn
	}
	p.Start(strings.Repeat("long ", 40), 10)
	clock.Advance(drawEvery)
	p.Step(1)
	p.Stop()
	lines := strings.Split(out.String(), "\r")
	want := []string{"", "importing: 998 B of 2.0 KB (49 %)", "importing: 999 B of 2.0 KB (49 %)",
		"importing: 2.0 KB of 2.0 KB (99 " +
			"%)", strings.Repeat(" ", 34), "", strings.Repeat("long ", 16)[:maxColumns],
		strings.Repeat(" ", maxColumns), ""}
	if len(lines) != len(want) {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	for n := range want {
		if lines[n] != want[n] {
			t.Errorf("%d: %q, want %q", n, lines[n], want[n])
		}
	}
}

// TestSpeed checks that Speed returns a rate only for work that took long enough.
func TestSpeed(t *testing.T) {
	if got := Speed(200000, "documents", 62*time.Second); got != " (1m 2s, 3226 documents/s)" {
		t.Error(got)
	}
	if got := Speed(200, "documents", 2*time.Second); got != "" {
		t.Error(got)
	}
}
