package pebble

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// logger sends Pebble's messages to slog. Messages about flushes and compactions have level debug.
type logger struct {
	log   *slog.Logger
	fence *memoryAfterWriteErrorFS
}

func (l *logger) Infof(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug(fmt.Sprintf(format, args...))
	}
}

func (l *logger) Errorf(format string, args ...any) {
	l.log.Error(fmt.Sprintf(format, args...))
}

// Fatalf is called when Pebble expects the process to end. It cuts off the disk instead (see
// memoryAfterWriteErrorFS) and returns: Pebble's later writes no longer reach the disk.
func (l *logger) Fatalf(format string, args ...any) {
	l.fence.trip(fmt.Errorf(format, args...))
}

// maxBackgroundFailures is the number of consecutive failures of background work that are allowed. Pebble
// retries at once, without a pause, so a permanent fault would loop for ever while writers wait.
const maxBackgroundFailures = 16

const stallMessage = "writers wait for background work"

// listen returns a listener that logs background work and reports flushes to s. If the work fails too often
// in a row, the listener makes f cut off the disk, so that the engine fails instead of trying for ever.
// Pebble calls the functions with its locks held: they must not call Pebble and must not block.
func listen(log *slog.Logger, f *memoryAfterWriteErrorFS, s *compactionScheduler) *pebble.EventListener {
	var failures atomic.Int32
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			if f.err() != nil || f.space.delaysRetry(err) {
				return
			}
			n := failures.Add(1)
			log.Error("background work failed", "error", err, "in a row", n)
			if n >= maxBackgroundFailures {
				f.trip(err)
			}
		},
		FlushEnd: func(i pebble.FlushInfo) {
			if i.Err == nil {
				failures.Store(0)
				f.space.flushSucceeded()
				s.flushed()
			}
		},
		CompactionEnd: func(i pebble.CompactionInfo) {
			if i.Err == nil {
				failures.Store(0)
			}
		},
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			log.Error("a table is corrupt", "path", i.Path, "error", i.Details)
		},
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) {
			log.Warn(stallMessage, "reason", i.Reason)
			f.space.stall(true)
		},
		WriteStallEnd: func() { f.space.stall(false) },
	}
}
