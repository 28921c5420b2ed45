package main

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestDebugLogIsBounded checks that at most maxDebugLines debug lines are logged in a second, that the
// dropped ones are counted in the log, and that lines of higher levels are not affected.
func TestDebugLogIsBounded(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		var out strings.Builder
		log := newLogger(&out, "debug", format)
		at := func(second int64, level slog.Level, message string) {
			r := slog.NewRecord(time.Unix(second, 0), level, message, 0)
			if err := log.With("part", "x").WithGroup("g").Handler().Handle(context.Background(), r); err != nil {
				t.Fatal(err)
			}
		}
		for range maxDebugLines + 500 {
			at(7, slog.LevelDebug, "often")
		}
		at(7, slog.LevelWarn, "trouble")
		at(8, slog.LevelDebug, "later")
		at(9, slog.LevelDebug, "later")
		text := out.String()
		for part, want := range map[string]int{
			"often": maxDebugLines, "trouble": 1, "left out": 1, "500": 1, "later": 2,
		} {
			if got := strings.Count(text, part); got != want {
				t.Errorf("%s: %q is there %d times, want %d", format, part, got, want)
			}
		}
	}
}

// TestLogIsBounded checks that lines from level info on are limited to maxSameLines a second with the same
// message and maxLines in all, and that the dropped ones are counted in the log.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := newLogger(&out, "info", "json")
	at := func(second int64, level slog.Level, message string) {
		r := slog.NewRecord(time.Unix(second, 0), level, message, 0)
		if err := log.Handler().Handle(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	for range 10_000 {
		at(7, slog.LevelWarn, "refused")
	}
	at(7, slog.LevelError, "trouble")
	at(8, slog.LevelWarn, "refused")
	for i := range 2 * maxLines {
		at(9, slog.LevelWarn, "storm "+strconv.Itoa(i))
	}
	at(10, slog.LevelInfo, "calm")
	text := out.String()
	for part, want := range map[string]int{`"msg":"refused"`: maxSameLines + 1, `"msg":"trouble"`: 1,
		`"lines":9950,"such as":"refused"`: 1, `"msg":"storm`: maxLines,
		`"lines":500,"such as":"storm 500"`: 1,
		`"msg":"calm"`:                      1} {
		if got := strings.Count(text, part); got != want {
			t.Errorf("%q is there %d times, want %d", part, got, want)
		}
	}
}
