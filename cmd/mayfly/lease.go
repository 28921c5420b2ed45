package main

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

func leaseCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var partitionKey string
	var life time.Duration
	var release bool
	cmd := &cobra.Command{
		Use:   "lease ID",
		Short: "Keep an item from expiring for some time",
		Args:  cobra.ExactArgs(1),
		Long: "Keep an item from expiring for at most a week. The item is not written: its _ts and its " +
			"etag\n" +
			"stay the same. If its time to live is over when the lease ends, by its time or by " +
			"--release, the\n" +
			"item expires at once.",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.Register(flags)
	c.RegisterJSON(flags)
	flags.StringVar(&partitionKey, "partition-key", "",
		`partition key as a JSON array: ["tenant-7"]; not needed where it is the id`)
	cli.DurationFlag(flags, &life, "for", time.Minute, "how long from now, by the server's data clock; whole seconds")
	flags.BoolVar(&release, "release", false, "end the item's lease")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		question := map[string]any{"id": args[0]}
		key, err := cli.ParsePartitionKey(partitionKey)
		if err != nil {
			return err
		}
		if key != nil {
			question["partitionKey"] = key
		}
		method := http.MethodDelete
		if life%time.Second != 0 {
			return cli.Misuse("--for must be of whole seconds, not " + life.String())
		}
		if !release {
			method, question["seconds"] = http.MethodPost, int64(life/time.Second)
		}
		req, err := c.Call(cmd.Context(), method, "_mayfly/dbs/{db}/colls/{coll}/lease", question)
		if err != nil {
			return err
		}
		return cli.Show(cmd, &c, req, func(out io.Writer, answer struct{ LeaseUntil int64 }) error {
			text := "the item has no lease any more"
			if !release {
				text = "leased until " + time.Unix(answer.LeaseUntil, 0).UTC().Format(time.RFC3339)
			}
			_, err := fmt.Fprintln(out, text)
			return err
		})
	})
	return cmd
}
