package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/testdisk"
)

// onDisk returns a function that opens stores whose data can be reopened, each on a disk of its own.
func onDisk(t *testing.T) metamorphic.SubjectOpener {
	return onDisksOf(func() *testdisk.EngineStorage { return testdisk.NewCrashable(t) })
}

func inMemory(t *testing.T) metamorphic.SubjectOpener {
	return onDisksOf(func() *testdisk.EngineStorage { return testdisk.New(t) })
}

func onDisksOf(disk func() *testdisk.EngineStorage) metamorphic.SubjectOpener {
	return func(c metamorphic.TestedContainerConfig) (metamorphic.TestSubject, error) {
		d := disk()
		return metamorphic.OpenStore(c, func() (engine.Engine, error) { return d.Open(context.Background()) })
	}
}

// TestRandomHistories compares a store with a model after random operations. Neither the pace of the
// reaper, nor the number of ranges, nor reopens, splits and operations that interrupt others may change a
// result.
func TestRandomHistories(t *testing.T) {
	all := metamorphic.Modes()
	splits := slices.Clone(all)
	for i := range splits {
		splits[i].Split = metamorphic.Sometimes
	}
	t.Run("side by side", func(t *testing.T) {
		for _, test := range []struct {
			name  string
			modes []metamorphic.HistoryRunConditions
			open  metamorphic.SubjectOpener
		}{
			{"OnDisk", all, onDisk(t)},
			{"WithSplits", splits, onDisk(t)},
			{"Interleaved", interleaved(), inMemory(t)},
			{"TwoStores", twoStores(splits), onDisk(t)},
			{"InMemory", slices.DeleteFunc(slices.Clone(all),
				func(m metamorphic.HistoryRunConditions) bool { return m.Reopen != metamorphic.Never }), inMemory(t)},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				metamorphic.Check(t, test.modes, test.open)
			})
		}
	})
}

// twoStores returns a copy of modes, the conditions under which histories run, with which two stores over one
// engine execute the steps in turn.
func twoStores(modes []metamorphic.HistoryRunConditions) []metamorphic.HistoryRunConditions {
	modes = slices.Clone(modes)
	for i := range modes {
		modes[i].Handles = 2
	}
	return modes
}

// interleaved returns the modes in which other operations happen between the steps of an operation.
func interleaved() []metamorphic.HistoryRunConditions {
	modes := slices.DeleteFunc(metamorphic.Modes(),
		func(m metamorphic.HistoryRunConditions) bool {
			return m.Reopen != metamorphic.Never || m.Sweep == metamorphic.Always
		})
	for i := range modes {
		modes[i].Between = true
	}
	return modes
}

// TestInterruptionsAreReproducible checks that random operations with interruptions are the same each time
// for one seed, so that a failure can be reproduced, and that every kind of interruption occurs.
func TestInterruptionsAreReproducible(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for i, m := range interleaved() {
		seed := metamorphic.FirstSeed() + uint64(i)
		once, err1 := metamorphic.Trace(seed, m, inMemory(t))
		again, err2 := metamorphic.Trace(seed, m, inMemory(t))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(once, again); d != "" {
			t.Fatalf("seed %d, %+v (-once +again):\n%s", seed, m, d)
		}
		for _, line := range once {
			seen[line]++
		}
	}
	wanted := []string{"gap 0 split ok", "gap 0 default ok", "gap 0 reindex ok", "gap 0 back ok",
		"gap 0 list ok", "gap 0 sweep",
		"gap 1 sweep", "gap 1 advance ok", "gap 2 sweep", "gap 2 advance ok", "gap 3 sweep", "gap 3 advance ok",
		"gap 3 list ok", "at the end default ok", "at the end split ok"}
	missing := func(want string) bool { return seen[want] == 0 }
	for seed := metamorphic.FirstSeed() + 1000; slices.ContainsFunc(wanted, missing); seed++ {
		if seed > metamorphic.FirstSeed()+1200 {
			t.Fatalf("it never came to %q", slices.DeleteFunc(wanted, func(w string) bool { return !missing(w) }))
		}
		modes := interleaved()
		more, err := metamorphic.Trace(seed, modes[seed%uint64(len(modes))], inMemory(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range more {
			seen[line]++
		}
	}
}
