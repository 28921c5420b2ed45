package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/engine/postgres"
	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// maxPrinted is how many violations check prints in full; the rest is only counted.
const maxPrinted = 100

func checkCommand() *cobra.Command {
	var accept, asJSON bool
	var database string
	cmd := &cobra.Command{
		Use:   "check [DIR]",
		Short: "Check the consistency of the data folder of a stopped server, or of a database",
		Long: "Check the consistency of the data folder of a stopped server: each item must be reachable\n" +
			"through all keys that lead to it, and each such key must lead to an item. The command " +
			"prints all\n" +
			"violations; its exit code is 1 if there are any.\n\n" +
			"A folder is only read and never changed. In a database, --engine, the command finishes what " +
			"a\n" +
			"killed server has left half-done, like the start of a server.",
		Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().BoolVar(&accept, acceptDamagedLog, false,
		"check what would be left if a damaged log of writes were accepted")
	cmd.Flags().StringVar(&database, "engine", "", "postgres:// address of a database to check instead")
	cli.RegisterResultJSON(cmd.Flags(), &asJSON)
	cmd.RunE = cli.Run(func(cmd *cobra.Command, args []string) error {
		if (len(args) == 1) == (database != "") {
			return cli.Misuse("give a data folder or --engine, one of them")
		}
		ctx, log := cmd.Context(), newLogger(cmd.ErrOrStderr(), "warn", "text")
		c := storeCheck{name: database, log: log, out: cmd.OutOrStdout(), json: asJSON}
		if database != "" {
			var err error
			if c.name, err = (postgres.Options{URL: database}).Name(); err != nil {
				return err
			}
			c.open = func() (engine.Engine, error) { return openDatabase(ctx, database, log) }
			return c.run(ctx)
		}
		c.name = args[0]
		c.open = func() (engine.Engine, error) {
			// With ReadOnly, the recovery after a crash happens in memory and leaves the files as they are.
			o := pebble.Options{Dir: c.name, AcceptDamagedLog: accept, ReadOnly: true, Logger: log}
			return pebble.Open(ctx, o)
		}
		return withRemedy(c.run(ctx), c.name)
	})
	return cmd
}

// checkCommandResult is what `mayfly check` prints: what the folder contains, and the violations found.
type checkCommandResult struct {
	Databases  int      `json:"databases"`
	Containers int      `json:"containers"`
	Documents  int64    `json:"documents"`
	Entities   int      `json:"entities"` // queues, topics, subscriptions
	Messages   int64    `json:"messages"`
	Found      int      `json:"found"`
	Violations []string `json:"violations"` // the first maxPrinted
	Format     int      `json:"format"`     // format of the folder as it is
	Current    int      `json:"current"`    // the format that this program writes
}

// storeCheck is one run of `mayfly check` on the data in a folder or in a database.
type storeCheck struct {
	name string
	open func() (engine.Engine, error)
	log  *slog.Logger
	out  io.Writer
	json bool
}

// run opens the store without the reaper and prints the findings of Check, then a summary.
func (c *storeCheck) run(ctx context.Context) (err error) {
	out, asJSON := c.out, c.json
	db, queues, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	format := db.Format()
	r := checkCommandResult{Violations: []string{}, Format: format.Found, Current: format.Current}
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
	summary := fmt.Sprintf("%s, %s, %s", cli.Plural(r.Databases, "database", "databases"),
		cli.Plural(r.Containers, "container", "containers"), cli.Plural(r.Documents, "document", "documents"))
	if r.Entities > 0 {
		summary += fmt.Sprintf(", %s, %s", cli.Plural(r.Entities, "queue, topic or subscription",
			"queues, topics and subscriptions"), cli.Plural(r.Messages, "message", "messages"))
	}
	summary += ": " + cli.Plural(r.Found, "violation", "violations")
	if err := cli.PrintResult(out, asJSON, summary, r); err != nil {
		return err
	}
	if r.Found > 0 {
		return fmt.Errorf("%s is inconsistent", c.name)
	}
	return nil
}

func describeFormat(f store.DataFormatVersions) string {
	if f.Found == f.Current {
		return fmt.Sprintf("format %d", f.Found)
	}
	return fmt.Sprintf("format %d, which serve brings up to date: format %d", f.Found, f.Current)
}

// openStore opens the store and its queues. The clock is virtual, so that data that were written with a
// virtual clock are checked at the time of that clock.
func (c *storeCheck) openStore(ctx context.Context) (*store.DB, *queue.Queues, error) {
	e, err := c.open()
	if err != nil {
		return nil, nil, err
	}
	queues := queue.New(queue.Options{Logger: c.log})
	o := store.Options{Clock: ttl.NewVirtualClock(ttl.SystemClock{}), Logger: c.log, ManualReaper: true}
	db, err := store.Open(ctx, e, o, queues.Tenant())
	return db, queues, err
}

// count returns the numbers of containers and of documents in the store. Documents that have expired but
// are not purged yet are included.
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
