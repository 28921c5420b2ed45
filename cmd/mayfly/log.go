package main

import (
	"context"
	"io"
	"log/slog"
	"sync"
)

// Whoever sends requests decides how many lines there are: a loop that has gone wild, or a disk that is full
// while a thousand clients write, must not fill a disk in minutes, nor wait for a slow terminal at every
// step.
const (
	// maxDebugLines is how many lines below the level info may be written in a second.
	maxDebugLines = 1000
	// maxSameLines is how many lines with one message may be written in a second, from the level info on.
	maxSameLines = 50
	// maxLines is how many lines from the level info on may be written in a second, whatever they say.
	maxLines = 500
)

// newLogger writes what has at least a level, as many lines a second as the constants above allow.
func newLogger(w io.Writer, level, format string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: l}
	var h slog.Handler = slog.NewTextHandler(w, o)
	if format == "json" {
		h = slog.NewJSONHandler(w, o)
	}
	return slog.New(&boundedLog{h, &lineBudget{same: make(map[string]int)}})
}

// boundedLog is a handler with a budget of lines. What it leaves out it tells of in a line.
type boundedLog struct {
	slog.Handler
	lines *lineBudget
}

// Handle implements slog.Handler.
func (b *boundedLog) Handle(ctx context.Context, r slog.Record) error {
	ok, before := b.lines.take(r.Time.Unix(), r.Level, r.Message)
	if before.debug > 0 {
		if err := b.tell(ctx, r, slog.LevelDebug, "debug lines were left out",
			slog.Int("lines", before.debug), slog.Int("mostInASecond", maxDebugLines)); err != nil {
			return err
		}
	}
	if before.others > 0 {
		if err := b.tell(ctx, r, slog.LevelWarn, "lines were left out", slog.Int("lines", before.others),
			slog.String("such as", before.example)); err != nil {
			return err
		}
	}
	if !ok {
		return nil
	}
	return b.Handler.Handle(ctx, r)
}

// tell writes a line of the log's own at the time of another one.
func (b *boundedLog) tell(ctx context.Context, at slog.Record, level slog.Level, message string,
	attrs ...slog.Attr) error {
	told := slog.NewRecord(at.Time, level, message, 0)
	told.AddAttrs(attrs...)
	return b.Handler.Handle(ctx, told)
}

// WithAttrs implements slog.Handler.
func (b *boundedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &boundedLog{b.Handler.WithAttrs(attrs), b.lines}
}

// WithGroup implements slog.Handler.
func (b *boundedLog) WithGroup(name string) slog.Handler {
	return &boundedLog{b.Handler.WithGroup(name), b.lines}
}

// lineBudget counts the lines of a second.
type lineBudget struct {
	mu     sync.Mutex
	second int64
	debug  int            // lines below info that were written
	others int            // other lines
	same   map[string]int // of them, those with one message
	left   leftOut
}

// leftOut is how many lines nobody was told of.
type leftOut struct {
	debug, others int
	example       string // the message of the first of the others
}

// take asks for a line in a second. before is what was left out in the seconds before, which nobody was told
// of.
func (b *lineBudget) take(second int64, level slog.Level, message string) (ok bool, before leftOut) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if second != b.second {
		before = b.left
		b.second, b.debug, b.others, b.left = second, 0, 0, leftOut{}
		clear(b.same)
	}
	if level < slog.LevelInfo {
		if b.debug == maxDebugLines {
			b.left.debug++
			return false, before
		}
		b.debug++
		return true, before
	}
	if b.others == maxLines || b.same[message] == maxSameLines {
		if b.left.others++; b.left.example == "" {
			b.left.example = message
		}
		return false, before
	}
	b.others++
	b.same[message]++
	return true, before
}
