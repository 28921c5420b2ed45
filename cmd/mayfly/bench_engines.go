package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/engine/postgres"
	"github.com/mayflydb/mayfly/internal/bench"
	"github.com/mayflydb/mayfly/internal/cli"
)

// engineDocs is the default number of documents in each store of a comparison of engines.
const engineDocs = 20_000

// compareEngines measures the same operations on Pebble, on the PostgreSQL database at url and on a plain
// table of jsonb in that database, and prints a table.
func compareEngines(cmd *cobra.Command, url string, o bench.Options) (err error) {
	e := bench.EngineComparisonOptions{URL: url, Docs: engineDocs, Seconds: o.Seconds}
	switch {
	case !postgres.IsURL(url):
		return cli.Misuse("--engine must begin with postgres://")
	case len(o.Docs) > 1 || len(o.Docs) == 1 && o.Docs[0] < 1:
		return cli.Misuse("with --engine, --docs is one number above 0")
	case o.Seconds <= 0:
		return cli.Misuse("--seconds must be above 0")
	case len(o.Docs) == 1:
		e.Docs = o.Docs[0]
	}
	for _, name := range []string{"only", "shapes", "dir", "compare", "max-drop", "svg", "json"} {
		if cmd.Flags().Changed(name) {
			return cli.Misuse("--engine compares engines and prints a table: --" + name + " is not possible with it")
		}
	}
	if e.Dir, err = os.MkdirTemp("", "mayfly-engines-"); err != nil {
		return err
	}
	err = bench.CompareEngines(cmd.Context(), e, cmd.OutOrStdout())
	return errors.Join(err, os.RemoveAll(e.Dir))
}
