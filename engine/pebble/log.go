package pebble

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// logger brings Pebble's messages to slog. Its chatter about flushes and compactions is debug output here.
type logger struct {
	log   *slog.Logger
	fence *fence
}

func (l *logger) Infof(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug(fmt.Sprintf(format, args...))
	}
}

func (l *logger) Errorf(format string, args ...any) {
	l.log.Error(fmt.Sprintf(format, args...))
}

// Fatalf is called where Pebble expects the process to end. It trips the fence instead and returns: what
// Pebble does from here on can no longer reach the disk.
func (l *logger) Fatalf(format string, args ...any) {
	l.fence.trip(fmt.Errorf(format, args...))
}

// patience is how many times in a row work in the background may fail. Pebble tries again at once, without a
// pause, so a fault that will not go away would spin for ever, with writers waiting behind it.
const patience = 16

const stallMessage = "writers wait for background work"

// listen reports on the background work and ends it where it cannot succeed. Pebble calls the functions with
// its own locks held: they must not call it, nor wait.
func listen(log *slog.Logger, f *fence) *pebble.EventListener {
	var failures atomic.Int32
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			if f.err() != nil || f.space.paces(err) {
				return
			}
			n := failures.Add(1)
			log.Error("background work failed", "error", err, "in a row", n)
			if n >= patience {
				f.trip(err)
			}
		},
		FlushEnd: func(i pebble.FlushInfo) {
			if i.Err == nil {
				failures.Store(0)
				f.space.fed()
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
