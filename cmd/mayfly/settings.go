package main

import (
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

const settingsPath = "_mayfly/dbs/{db}/colls/{coll}/settings"

func settingsCommand() *cobra.Command {
	var c cli.ServerCall
	cmd := &cobra.Command{
		Use:   "settings [PATCH]",
		Short: "Show or change Mayfly's own settings of a container",
		Args:  cobra.MaximumNArgs(1),
		Long: "Show Mayfly's own settings of a container of a running server, after changing some of " +
			"them where there is a PATCH.\n\n" +
			"PATCH is a JSON object with some of these members; null puts one back to what it is in a " +
			"new container:\n\n" +
			"  \"onExpire\": {\"moveTo\": \"archive\"}   what expires is moved to that container of the " +
			"same database\n" +
			"  \"onExpire\": {\"forwardTo\": \"orders\"} what expires becomes a message of that queue " +
			"or topic\n" +
			"  \"ttlCeiling\": true                  the default ttl is the upper bound of the items' " +
			"own as well\n" +
			"  \"autoDeleteOnIdle\": 3600            the container is deleted when nobody has used it " +
			"for that many seconds\n" +
			"  \"expiryEvents\": {\"retention\": 3600, \"webhooks\": [{\"url\": " +
			"\"https://app.example/expired\"}]}\n" +
			"  \"changesTo\": \"news\"              that queue or topic is sent each document that is " +
			"written\n" +
			"  \"reaper\": {\"delay\": {\"seconds\": 30}}  how it purges: as `mayfly reaper set` takes it",
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
