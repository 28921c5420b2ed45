package main

import (
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/laboratory"
)

func lintCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Find times to live that are probably mistakes",
		Args:  cobra.NoArgs,
		Long: "Find times to live in a container that are probably mistakes: the default of the " +
			"container, and\n" +
			"those of items that were written since the server was started.",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.Register(flags)
	c.RegisterJSON(flags)
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		req, err := c.Call(cmd.Context(), http.MethodGet, "_mayfly/dbs/{db}/colls/{coll}/lint", nil)
		if err != nil {
			return err
		}
		return cli.Show(cmd, &c, req, printLint)
	})
	return cmd
}

func printLint(out io.Writer, answer laboratory.TTLLintReport) error {
	if len(answer.Container) == 0 && len(answer.Items) == 0 {
		_, err := fmt.Fprintln(out, "nothing found: no time to live looks like a mistake")
		return err
	}
	for _, f := range answer.Container {
		fmt.Fprintf(out, "%s: the container's default: %s\n", f.Rule, f.Explain)
	}
	for _, f := range answer.Items {
		own := ""
		if f.Last.TTL != 0 {
			own = fmt.Sprintf(" with ttl %d", f.Last.TTL)
		}
		fmt.Fprintf(out, "%s: %s, the last of %q%s: %s\n", f.Rule,
			cli.Plural(int64(f.Count), "write", "writes"),
			f.Last.ID, own, f.Explain)
	}
	return nil
}
