package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/laboratory"
)

func waitCommand() *cobra.Command {
	var c itemExpiryFlags
	var after int64
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait expired|purged|feed ID | wait quiet",
		Short: "Wait until an item is expired, purged or in the change feed, or a container is quiet",
		Args:  cobra.RangeArgs(1, 2),
		Long: "Wait until an item is expired, purged or in the change feed. A container is quiet when " +
			"no background\n" +
			"work is left: expired items are purged, and documents are indexed by the current policy.\n\n" +
			"The exit code is 1 if the time limit ends first.",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.register(flags)
	c.RegisterJSON(flags)
	flags.Int64Var(&after, "after", 0, "with feed: only changes after this LSN")
	cli.DurationFlag(flags, &timeout, "timeout", 30*time.Second, "how long to wait, in real time; 10m at most")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		question := map[string]any{}
		if len(args) > 1 {
			var err error
			if question, err = c.requestBody(args[1]); err != nil {
				return err
			}
		}
		question["until"], question["timeout"] = args[0], int64(math.Ceil(timeout.Seconds()))
		if after > 0 {
			question["after"] = after
		}
		req, err := c.Request(cmd.Context(), "_mayfly/dbs/{db}/colls/{coll}/wait", question)
		if err != nil {
			return err
		}
		return cli.Show(cmd, &c.ClientCommandFlags, req, func(out io.Writer,
			answer laboratory.WaitForItemResult) error {
			text := answer.Until
			if answer.Item != nil {
				text = answer.Item.Explain
			}
			_, err := fmt.Fprintln(out, text)
			return err
		})
	})
	return cmd
}
