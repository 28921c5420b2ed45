package main

import (
	"context"
	"io"
	"log/slog"
	"sync"
)

// maxDebugLines is how many lines the debug level may write in a second. Whoever sends requests decides how
// many there are: a loop that has gone wild must not fill a disk in minutes, nor wait for a slow terminal at
// every step.
const maxDebugLines = 1000

// newLogger writes what has at least a level. What is below info is bounded: see maxDebugLines.
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
	return slog.New(&boundedLog{h, &debugLines{most: maxDebugLines}})
}

// boundedLog is a handler whose records below info have a budget of lines. What it leaves out it tells of in
// a line.
type boundedLog struct {
	slog.Handler
	lines *debugLines
}

// Handle implements slog.Handler.
func (b *boundedLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		return b.Handler.Handle(ctx, r)
	}
	ok, leftOut := b.lines.take(r.Time.Unix())
	if leftOut > 0 {
		told := slog.NewRecord(r.Time, r.Level, "debug lines were left out", 0)
		told.AddAttrs(slog.Int("lines", leftOut), slog.Int("mostInASecond", b.lines.most))
		if err := b.Handler.Handle(ctx, told); err != nil {
			return err
		}
	}
	if !ok {
		return nil
	}
	return b.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (b *boundedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &boundedLog{b.Handler.WithAttrs(attrs), b.lines}
}

// WithGroup implements slog.Handler.
func (b *boundedLog) WithGroup(name string) slog.Handler {
	return &boundedLog{b.Handler.WithGroup(name), b.lines}
}

// debugLines counts the lines of a second.
type debugLines struct {
	most int

	mu      sync.Mutex
	second  int64
	written int
	leftOut int
}

// take asks for a line in a second. leftOut is how many there were before that nobody was told of.
func (d *debugLines) take(second int64) (ok bool, leftOut int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if second != d.second {
		leftOut = d.leftOut
		d.second, d.written, d.leftOut = second, 0, 0
	}
	if d.written == d.most {
		d.leftOut++
		return false, leftOut
	}
	d.written++
	return true, leftOut
}
