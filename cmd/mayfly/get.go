package main

import (
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"
)

func getCommand() *cobra.Command {
	var c itemCall
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Print an item of a running server",
		Args:  cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.register(flags)
	c.registerJSONAnyway(flags)
	cmd.RunE = runWithVariables(func(cmd *cobra.Command, args []string) error {
		c.item = args[0]
		req, err := c.call(cmd.Context(), http.MethodGet, itemPath, nil)
		if err != nil {
			return err
		}
		key, err := c.itemKey(cmd.Context())
		if err != nil {
			return err
		}
		setPartitionKey(req, key)
		answer, err := ask[json.RawMessage](req)
		if err != nil {
			return err
		}
		return printJSON(cmd.OutOrStdout(), answer)
	})
	return cmd
}
