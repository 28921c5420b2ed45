package main

import (
	"context"
	"io"
	"log/slog"
	"sync"
)

// Limits of the number of log lines per second. Without them a client in a loop, or a full disk while a
// thousand clients write, could fill a disk with log lines in minutes, or make each request wait for a
// slow terminal.
const (
	// maxDebugLines is the maximum number of lines a second below level info.
	maxDebugLines = 1000
	// maxSameLines is the maximum number of lines a second with the same message, from level info on.
	maxSameLines = 50
	// maxLines is the maximum number of lines a second from level info on, whatever their message.
	maxLines = 500
)

// newLogger returns a logger that writes lines from a level on, limited by the constants in this file.
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
	return slog.New(&rateLimitedLogHandler{h, &logLineLimiter{same: make(map[string]int)}})
}

// rateLimitedLogHandler is a slog.Handler that limits the number of lines a second. It reports how many lines
// it has dropped.
type rateLimitedLogHandler struct {
	slog.Handler
	lines *logLineLimiter
}

// Handle passes a log record on to the wrapped handler, or leaves it out if there were too many in the same
// second. It first logs how many records were left out before. It implements slog.Handler.
func (b *rateLimitedLogHandler) Handle(ctx context.Context, r slog.Record) error {
	ok, before := b.lines.take(r.Time.Unix(), r.Level, r.Message)
	if before.debug > 0 {
		if err := b.writeNotice(ctx, r, slog.LevelDebug, "debug lines were left out",
			slog.Int("lines", before.debug), slog.Int("mostInASecond", maxDebugLines)); err != nil {
			return err
		}
	}
	if before.others > 0 {
		if err := b.writeNotice(ctx, r, slog.LevelWarn, "lines were left out", slog.Int("lines",
			before.others),
			slog.String("such as", before.example)); err != nil {
			return err
		}
	}
	if !ok {
		return nil
	}
	return b.Handler.Handle(ctx, r)
}

// writeNotice writes a line about the log itself. at is the record from which the line takes its time.
func (b *rateLimitedLogHandler) writeNotice(ctx context.Context, at slog.Record, level slog.Level,
	message string,
	attrs ...slog.Attr) error {
	told := slog.NewRecord(at.Time, level, message, 0)
	told.AddAttrs(attrs...)
	return b.Handler.Handle(ctx, told)
}

// WithAttrs implements slog.Handler.
func (b *rateLimitedLogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &rateLimitedLogHandler{b.Handler.WithAttrs(attrs), b.lines}
}

// WithGroup implements slog.Handler.
func (b *rateLimitedLogHandler) WithGroup(name string) slog.Handler {
	return &rateLimitedLogHandler{b.Handler.WithGroup(name), b.lines}
}

// logLineLimiter limits the number of log lines in each second. It counts the lines that were written,
// and those that were dropped.
type logLineLimiter struct {
	mu     sync.Mutex
	second int64
	debug  int            // lines below info that were written
	others int            // number of other lines
	same   map[string]int // number of other lines by message
	left   droppedLineCounts
}

// droppedLineCounts counts lines that were dropped and not reported yet.
type droppedLineCounts struct {
	debug, others int
	example       string // message of the first of the other lines
}

// take counts a line that is logged in the given second (of Unix time) and reports whether it may be written.
// At the first line of a new second, before has the numbers of lines that were dropped in the last second in
// which lines were logged.
func (b *logLineLimiter) take(second int64, level slog.Level, message string) (ok bool,
	before droppedLineCounts) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if second != b.second {
		before = b.left
		b.second, b.debug, b.others, b.left = second, 0, 0, droppedLineCounts{}
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
