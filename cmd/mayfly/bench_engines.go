package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/engine/postgres"
	"github.com/mayflydb/mayfly/internal/bench"
	"github.com/mayflydb/mayfly/internal/cli"
)

// benchEnginesCommand compares the engines.
func benchEnginesCommand() *cobra.Command {
	o := bench.EngineOptions{}
	cmd := &cobra.Command{
		Use:   "engines URL",
		Short: "Measure the same operations on Pebble, on PostgreSQL and on a plain table of jsonb",
		Long: "Load documents of 1 KB into a store on Pebble, into a store in a PostgreSQL database and\n" +
			"into a plain table of jsonb in that database, and measure the same operations on each of\n" +
			"them in turn. URL is the address of the database. Its schemas mayfly_bench and\n" +
			"mayfly_bench_table are replaced.",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().IntVar(&o.Docs, "docs", 20_000, "documents in each store")
	cmd.Flags().Float64Var(&o.Seconds, "seconds", 2, "seconds for each measurement")
	cmd.RunE = cli.Run(func(cmd *cobra.Command, args []string) (err error) {
		if o.URL = args[0]; !postgres.IsURL(o.URL) {
			return cli.Misuse("URL must begin with postgres://")
		}
		if o.Docs < 1 || o.Seconds <= 0 {
			return cli.Misuse("--docs and --seconds must be positive")
		}
		if o.Dir, err = os.MkdirTemp("", "mayfly-engines-"); err != nil {
			return err
		}
		err = bench.CompareEngines(cmd.Context(), o, cmd.OutOrStdout())
		return errors.Join(err, os.RemoveAll(o.Dir))
	})
	return cmd
}
