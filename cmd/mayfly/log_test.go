package main

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestDebugLogIsBounded: so many lines a second, whatever comes; the rest is counted. What is no debugging is
// never left out.
func TestDebugLogIsBounded(t *testing.T) {
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
