package store_test

import (
	"context"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/metatest"
)

// onDisk opens stores whose data outlives them, each on a file system of its own.
func onDisk(c metatest.Config) (metatest.Subject, error) {
	fs := vfs.NewMem()
	return metatest.OpenStore(c, func() (engine.Engine, error) {
		return pebble.Open(context.Background(), pebble.Options{Dir: "data", FS: fs, Strict: true})
	})
}

func inMemory(c metatest.Config) (metatest.Subject, error) {
	return metatest.OpenStore(c, func() (engine.Engine, error) {
		return pebble.Open(context.Background(), pebble.Options{Memory: true, Strict: true})
	})
}

// Whatever the pace of the reaper, the number of ranges and the reopens between: the answers are those of a map.
func TestRandomHistories(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	metatest.Check(t, metatest.Modes(), onDisk)
}

// Nor do splits change an answer, at whatever moment they come.
func TestRandomHistoriesWithSplits(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var modes []metatest.Mode
	for _, m := range metatest.Modes() {
		m.Split = metatest.Sometimes
		modes = append(modes, m)
	}
	metatest.Check(t, modes, onDisk)
}

// Nor does what comes between any two steps of an operation.
func TestRandomHistoriesInterleaved(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	modes := slices.DeleteFunc(metatest.Modes(), func(m metatest.Mode) bool { return m.Reopen != metatest.Never || m.Sweep == metatest.Always })
	for i := range modes {
		modes[i].Between = true
	}
	metatest.Check(t, modes, inMemory)
}

func TestRandomHistoriesInMemory(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	modes := slices.DeleteFunc(metatest.Modes(), func(m metatest.Mode) bool { return m.Reopen != metatest.Never })
	metatest.Check(t, modes, inMemory)
}
