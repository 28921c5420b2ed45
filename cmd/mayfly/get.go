package main

import (
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

func getCommand() *cobra.Command {
	var c itemExpiryFlags
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Print an item",
		Args:  cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.register(flags)
	c.RegisterJSONAnyway(flags)
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		c.Item = args[0]
		req, err := c.Call(cmd.Context(), http.MethodGet, cli.ItemPath, nil)
		if err != nil {
			return err
		}
		key, err := c.itemKey(cmd.Context())
		if err != nil {
			return err
		}
		cli.SetPartitionKey(req, key)
		answer, err := cli.Ask[json.RawMessage](req)
		if err != nil {
			return err
		}
		return cli.PrintJSON(cmd.OutOrStdout(), answer)
	})
	return cmd
}
