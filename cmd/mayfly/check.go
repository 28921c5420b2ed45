package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// maxPrinted is how many violations check prints in full; the rest is only counted.
const maxPrinted = 100

func checkCommand() *cobra.Command {
	var accept, asJSON bool
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Check the consistency of the data folder of a stopped server",
		Long: "Check the consistency of the data folder of a stopped server: each item must be reachable\n" +
			"through all keys that lead to it, and each such key must lead to an item. The command " +
			"prints all\n" +
			"violations; its exit code is 1 if there are any.\n\n" +
			"The folder is only read and never changed.",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&accept, acceptDamagedLog, false,
		"check what would be left if a damaged log of writes were accepted")
	cli.RegisterResultJSON(cmd.Flags(), &asJSON)
	cmd.RunE = cli.Run(func(cmd *cobra.Command, args []string) error {
		log := newLogger(cmd.ErrOrStderr(), "warn", "text")
		folder := pebble.Options{Dir: args[0], AcceptDamagedLog: accept, Logger: log}
		return checkFolder(cmd.Context(), folder, cmd.OutOrStdout(), asJSON)
	})
	return cmd
}

// checkResult is the result of a check.
type checkResult struct {
	Databases  int      `json:"databases"`
	Containers int      `json:"containers"`
	Documents  int64    `json:"documents"`
	Entities   int      `json:"entities"` // queues, topics, subscriptions
	Messages   int64    `json:"messages"`
	Found      int      `json:"found"`
	Violations []string `json:"violations"` // the first maxPrinted
	Format     int      `json:"format"`     // of the folder as it is now
	Current    int      `json:"current"`    // the format that this program writes
}

// checkFolder opens the folder without the reaper and prints the findings of Check, then a summary.
func checkFolder(ctx context.Context, o pebble.Options, out io.Writer, asJSON bool) (err error) {
	db, queues, err := openExisting(ctx, o)
	if err != nil {
		return withRemedy(err, o.Dir)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	format := db.Format()
	r := checkResult{Violations: []string{}, Format: format.Found, Current: format.Current}
	if !asJSON {
		fmt.Fprintln(out, describeFormat(format))
	}
	report := func(violation error) bool {
		if r.Found++; r.Found > maxPrinted {
			return true
		}
		if r.Violations = append(r.Violations, violation.Error()); !asJSON {
			fmt.Fprintln(out, violation)
		}
		return true
	}
	if err = db.Check(ctx, report); err == nil {
		err = queues.Check(ctx, report)
	}
	if err != nil {
		return fmt.Errorf("the check could not be finished: %w", err)
	}
	if r.Found > maxPrinted && !asJSON {
		fmt.Fprintf(out, "... and %d more\n", r.Found-maxPrinted)
	}
	r.Databases = len(db.Databases())
	if r.Containers, r.Documents, err = count(ctx, db); err != nil {
		return err
	}
	if r.Entities, r.Messages, err = queues.Totals(ctx); err != nil {
		return err
	}
	summary := fmt.Sprintf("%s, %s, %s", cli.HowMany(r.Databases, "database", "databases"),
		cli.HowMany(r.Containers, "container", "containers"), cli.HowMany(r.Documents, "document", "documents"))
	if r.Entities > 0 {
		summary += fmt.Sprintf(", %s, %s", cli.HowMany(r.Entities, "queue, topic or subscription",
			"queues, topics and subscriptions"), cli.HowMany(r.Messages, "message", "messages"))
	}
	summary += ": " + cli.HowMany(r.Found, "violation", "violations")
	if err := cli.PrintResult(out, asJSON, summary, r); err != nil {
		return err
	}
	if r.Found > 0 {
		return fmt.Errorf("%s is inconsistent", o.Dir)
	}
	return nil
}

func describeFormat(f store.Format) string {
	if f.Found == f.Current {
		return fmt.Sprintf("format %d", f.Found)
	}
	return fmt.Sprintf("format %d, which serve brings up to date: format %d", f.Found, f.Current)
}

// openExisting opens an existing folder read-only: what a killed process has left half-done is finished in
// memory only. The clock is virtual, so that a folder that was served with a virtual clock is checked at its
// own time.
func openExisting(ctx context.Context, o pebble.Options) (*store.DB, *queue.Queues, error) {
	o.ReadOnly = true
	e, err := pebble.Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	queues := queue.New(queue.Options{Logger: o.Logger})
	db, err := store.Open(ctx, e, store.Options{Clock: ttl.NewVirtual(ttl.Real{}), Logger: o.Logger,
		ManualReaper: true},
		queues.Tenant())
	return db, queues, err
}

// count returns the numbers for the summary. Items that have expired but are not purged yet are counted.
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
