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
	var c cli.ClientCommandFlags
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Return a server to the state after its start",
		Args:  cobra.NoArgs,
		Long: "Return a server to the state after its start: documents, queues and clocks.\n\n" +
			"The command restores the snapshot 'seeded', which a start with --seed or --servicebus-config\n" +
			"takes; `mayfly snapshot create seeded` replaces it. Faults on demand are removed, and a\n" +
			"reaper that is paused is resumed.",
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
