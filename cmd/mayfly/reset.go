package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

func resetCommand() *cobra.Command {
	var c cli.ServerCall
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Put a running server back to what it had from its start, clocks included",
		Args:  cobra.NoArgs,
		Long: "Put a running server back to what it had from its start: documents, queues, clocks.\n\n" +
			"It goes back to the snapshot 'seeded', which each start with --seed or --servicebus-config\n" +
			"makes, and `mayfly snapshot create seeded`, too. The faults on demand end, too.",
	}
	cmd.Flags().SortFlags = false
	c.RegisterServer(cmd.Flags())
	c.RegisterJSON(cmd.Flags())
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		req, err := c.Call(cmd.Context(), http.MethodPost, "_mayfly/reset", nil)
		if err != nil {
			return err
		}
		return cli.Show(cmd, &c, req, func(out io.Writer, answer struct{ Databases []string }) error {
			_, err := fmt.Fprintf(out, "databases: %s\n", strings.Join(answer.Databases, ", "))
			return err
		})
	})
	return cmd
}
