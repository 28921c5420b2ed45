package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// maxPrinted is how many violations check prints in full; the rest is only counted.
const maxPrinted = 100

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check DIR",
		Short: "Prove that the data folder of a stopped server is consistent",
		Long: "Prove that the data folder of a stopped server is consistent: that every item can be found through every key\n" +
			"that leads to it, and that every such key leads to an item. Prints what is wrong; exit code 1 where anything is.",
		Args: cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			log := newLogger(cmd.ErrOrStderr(), "warn", "text")
			return checkFolder(cmd.Context(), args[0], cmd.OutOrStdout(), log)
		}),
	}
}

// checkFolder opens the folder without the reaper and prints what Check finds, then a summary.
func checkFolder(ctx context.Context, dir string, out io.Writer, log *slog.Logger) (err error) {
	db, err := openExisting(ctx, dir, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	found := 0
	err = db.Check(ctx, func(violation error) bool {
		if found++; found <= maxPrinted {
			fmt.Fprintln(out, violation)
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("the check could not be finished: %w", err)
	}
	if found > maxPrinted {
		fmt.Fprintf(out, "... and %d more\n", found-maxPrinted)
	}
	containers, documents, err := count(ctx, db)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d databases, %d containers, %d documents: %d violations\n", len(db.Databases()), containers, documents, found)
	if found > 0 {
		return fmt.Errorf("%s is inconsistent", dir)
	}
	return nil
}

// openExisting opens a folder that has been Mayfly's before. The clock is a virtual one, so that a folder is
// checked as of its own time where it was served with one.
func openExisting(ctx context.Context, dir string, log *slog.Logger) (*store.DB, error) {
	if err := mustHoldData(dir); err != nil {
		return nil, err
	}
	e, err := pebble.Open(ctx, pebble.Options{Dir: dir, Logger: log})
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, e, store.Options{Clock: ttl.NewVirtual(ttl.Real{}), Logger: log, ManualReaper: true})
}

// mustHoldData refuses a folder in which opening the engine would make a new database.
func mustHoldData(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "MANIFEST-") || strings.HasPrefix(e.Name(), "marker.") {
			return nil
		}
	}
	return fmt.Errorf("%w: %s holds no data", engine.ErrNotDatabase, dir)
}

// count tells how much there is, for the summary. Items that have expired and are not purged yet count.
func count(ctx context.Context, db *store.DB) (containers int, documents int64, err error) {
	for _, d := range db.Databases() {
		for _, c := range d.Containers() {
			usage, err := c.Usage(ctx)
			if err != nil {
				return 0, 0, err
			}
			containers++
			documents += usage.Documents
		}
	}
	return containers, documents, nil
}
