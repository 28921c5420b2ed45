package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/laboratory"
)

// itemExpiryFlags holds the flags of a command about the expiry of one item.
type itemExpiryFlags struct {
	cli.ClientCommandFlags
	partitionKey string
}

func (c *itemExpiryFlags) register(flags *pflag.FlagSet) {
	c.ClientCommandFlags.Register(flags)
	flags.StringVar(&c.partitionKey, "partition-key", "",
		`partition key as a JSON array: ["tenant-7"]; not needed where it is the id`)
}

// requestBody returns the body that names the item.
func (c *itemExpiryFlags) requestBody(id string) (map[string]any, error) {
	q := map[string]any{"id": id}
	key, err := cli.ParsePartitionKey(c.partitionKey)
	if key != nil {
		q["partitionKey"] = key
	}
	return q, err
}

// itemKey returns the partition key of an item: the one that the user gave, or the item's id if the
// partition key path of the container is /id.
func (c *itemExpiryFlags) itemKey(ctx context.Context) (json.RawMessage, error) {
	key, err := cli.ParsePartitionKey(c.partitionKey)
	if key != nil || err != nil {
		return key, err
	}
	container, err := c.Definition(ctx)
	if err != nil {
		return nil, err
	}
	if paths := container.PartitionKey.Paths; len(paths) != 1 || paths[0] != "/id" {
		return nil, cli.Misuse(fmt.Sprintf("--partition-key is missing: the container is partitioned by %s",
			strings.Join(paths, ", ")))
	}
	return json.Marshal([]string{c.Item})
}

func expiryCommand() *cobra.Command {
	var c itemExpiryFlags
	cmd := &cobra.Command{
		Use:   "expiry ID",
		Short: "Show when an item expires, and why",
		Args:  cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.register(flags)
	c.RegisterJSON(flags)
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		question, err := c.requestBody(args[0])
		if err != nil {
			return err
		}
		req, err := c.Request(cmd.Context(), "_mayfly/dbs/{db}/colls/{coll}/explain-item", question)
		if err != nil {
			return err
		}
		return cli.Show(cmd, &c.ClientCommandFlags, req, printExpiry)
	})
	return cmd
}

func printExpiry(out io.Writer, e laboratory.ItemExpiry) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "state\t%s\n", e.State)
	if e.ExpiresAt != "" {
		fmt.Fprintf(w, "expires at\t%s\n", e.ExpiresAt)
		fmt.Fprintf(w, "remaining\t%d s\n", e.ExpiresIn)
	}
	if e.Source != "" {
		fmt.Fprintf(w, "decided by\t%s\n", e.Source)
	}
	fmt.Fprintf(w, "now\t%s\n", e.Now)
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s\n", e.Explain)
	return err
}
