package main

import (
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

const settingsPath = "_mayfly/dbs/{db}/colls/{coll}/settings"

func settingsCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	cmd := &cobra.Command{
		Use:   "settings [PATCH]",
		Short: "Show or change Mayfly's own settings of a container",
		Args:  cobra.MaximumNArgs(1),
		Long: "Show Mayfly's own settings of a container. With PATCH, change some of them first.\n\n" +
			"PATCH is a JSON object with some of these members; null resets a setting to its default:\n\n" +
			"  \"onExpire\": {\"moveTo\": \"archive\"}   move expired documents to this container of the " +
			"same database\n" +
			"  \"onExpire\": {\"forwardTo\": \"orders\"} send expired documents as messages to this queue " +
			"or topic\n" +
			"  \"ttlCeiling\": true                  the default ttl is also the upper limit of the items' " +
			"own ttl\n" +
			"  \"autoDeleteOnIdle\": 3600            delete the container when it has not been used " +
			"for this many seconds\n" +
			"  \"expiryEvents\": {\"retention\": 3600, \"webhooks\": [{\"url\": " +
			"\"https://app.example/expired\"}]}\n" +
			"  \"changesTo\": \"news\"                 send each written document to this queue or topic\n" +
			"  \"reaper\": {\"delay\": {\"seconds\": 30}}  delay purges: see `mayfly reaper set`",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.Register(flags)
	c.RegisterJSONAnyway(flags)
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		method, patch := http.MethodGet, any(nil)
		if len(args) > 0 {
			if !json.Valid([]byte(args[0])) {
				return cli.Misuse("the patch is not JSON: " + args[0])
			}
			method, patch = http.MethodPatch, json.RawMessage(args[0])
		}
		req, err := c.Call(cmd.Context(), method, settingsPath, patch)
		if err != nil {
			return err
		}
		answer, err := cli.Ask[json.RawMessage](req)
		if err != nil {
			return err
		}
		return cli.PrintJSON(cmd.OutOrStdout(), answer)
	})
	return cmd
}
