package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/laboratory"
)

func queueQueryCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var dead bool
	cmd := queueCall(&c, "query PATH QUERY", "Query the messages of an entity as if they were documents",
		func(cmd *cobra.Command, args []string) error {
			question := map[string]any{"query": args[1], "deadLetters": dead}
			all := []json.RawMessage{}
			for {
				req, err := c.Call(cmd.Context(), http.MethodPost, entityPath+"/query", question)
				if err != nil {
					return err
				}
				page, err := cli.Ask[laboratory.MessageQueryPage](req)
				if err != nil {
					return err
				}
				if all = append(all, page.Rows...); page.Continuation == "" {
					return printRows(cmd.OutOrStdout(), c.JSON, all)
				}
				question["continuation"] = page.Continuation
			}
		})
	cmd.Flags().BoolVar(&dead, "dead-letters", false, "query the dead-letter queue")
	return cmd
}

// printRows prints each row of a query on its own line, or all rows as one JSON array if asJSON is set.
func printRows(out io.Writer, asJSON bool, rows []json.RawMessage) error {
	if asJSON {
		text, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		return cli.PrintJSON(out, text)
	}
	for _, row := range rows {
		fmt.Fprintf(out, "%s\n", row)
	}
	return nil
}
