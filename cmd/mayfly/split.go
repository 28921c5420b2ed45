package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

// splitAnswer is the part of the answer to a split that is read: the two halves.
type splitAnswer struct {
	Halves []struct {
		ID  string `json:"id"`
		Min string `json:"minInclusive"`
		Max string `json:"maxExclusive"`
	} `json:"PartitionKeyRanges"`
}

func splitCommand() *cobra.Command {
	var c cli.ServerCall
	var at string
	cmd := &cobra.Command{
		Use:   "split RANGE",
		Short: "Ask a running server to split a partition key range of a container",
		Args:  cobra.ExactArgs(1),
		Long: "Ask a running server to split a partition key range of a container, and print the two ranges that it has become.\n\n" +
			"Without --at half of the documents go either way, as far as partition keys allow. Requests for the container wait until\n" +
			"it is done. Clients that name the range are told that it is gone (410), read the ranges anew and go on.",
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
		return cli.Show(cmd, &c, req, func(out io.Writer, answer splitAnswer) error {
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			for _, r := range answer.Halves {
				fmt.Fprintf(w, "range %s\tfrom %q\tto %q\n", r.ID, r.Min, r.Max)
			}
			return w.Flush()
		})
	})
	return cmd
}
