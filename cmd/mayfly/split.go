package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

// rangeSplitResponse is the part of the response to a split that the command reads: the two new ranges.
type rangeSplitResponse struct {
	Halves []struct {
		ID  string `json:"id"`
		Min string `json:"minInclusive"`
		Max string `json:"maxExclusive"`
	} `json:"PartitionKeyRanges"`
}

func splitCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var at string
	cmd := &cobra.Command{
		Use:   "split RANGE",
		Short: "Split a partition key range of a container",
		Args:  cobra.ExactArgs(1),
		Long: "Split a partition key range of a container, and print the two new ranges.\n\n" +
			"Without --at, each half gets half of the documents, as far as partition keys allow; an empty " +
			"range is\n" +
			"split in the middle. Requests continue during the split. Afterwards clients that address the " +
			"old range\nget 410, read the ranges again and continue.",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.Register(flags)
	c.RegisterJSON(flags)
	flags.StringVar(&at, "at", "", "effective partition key at which the upper half begins, in hexadecimal")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		question := map[string]string{"range": args[0]}
		if at != "" {
			question["at"] = at
		}
		req, err := c.Request(cmd.Context(), "_mayfly/dbs/{db}/colls/{coll}/split", question)
		if err != nil {
			return err
		}
		return cli.Show(cmd, &c, req, func(out io.Writer, answer rangeSplitResponse) error {
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			for _, r := range answer.Halves {
				fmt.Fprintf(w, "range %s\tfrom %q\tto %q\n", r.ID, r.Min, r.Max)
			}
			return w.Flush()
		})
	})
	return cmd
}
