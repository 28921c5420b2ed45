package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"
)

func databasesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "databases",
		Short: "List, create and delete databases of a running server",
	}
	return family(cmd, databasesListCommand(), databasesCreateCommand(), databasesDeleteCommand())
}

func databasesListCommand() *cobra.Command {
	var c serverCall
	cmd := &cobra.Command{Use: "list", Short: "List the databases", Args: cobra.NoArgs}
	c.registerServer(cmd.Flags())
	c.registerJSON(cmd.Flags())
	cmd.RunE = runWithVariables(func(cmd *cobra.Command, _ []string) error {
		return c.list(cmd, databasesPath, "Databases", func(out io.Writer, rows []json.RawMessage) error {
			for _, row := range rows {
				var d struct{ ID string }
				if err := json.Unmarshal(row, &d); err != nil {
					return err
				}
				fmt.Fprintln(out, d.ID)
			}
			return nil
		})
	})
	return cmd
}

// list prints all rows of a short list: with --json as an array.
func (c *serverCall) list(cmd *cobra.Command, path, list string,
	print func(out io.Writer, rows []json.RawMessage) error) error {
	all := []json.RawMessage{}
	err := eachPage("", func() (*http.Request, error) {
		return c.call(cmd.Context(), http.MethodGet, path,
			nil)
	}, list,
		func(rows []json.RawMessage, _ answered) error {
			all = append(all, rows...)
			return nil
		})
	if err != nil {
		return err
	}
	if !c.json {
		return print(cmd.OutOrStdout(), all)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return printJSON(cmd.OutOrStdout(), text)
}

func databasesCreateCommand() *cobra.Command {
	var c serverCall
	var throughput int
	cmd := &cobra.Command{Use: "create ID", Short: "Create a database", Args: cobra.ExactArgs(1)}
	cmd.Flags().SortFlags = false
	c.registerServer(cmd.Flags())
	c.registerJSON(cmd.Flags())
	cmd.Flags().IntVar(&throughput, "throughput", 0,
		"request units a second that its containers share (default none)")
	cmd.RunE = runWithVariables(func(cmd *cobra.Command, args []string) error {
		return c.create(cmd, databasesPath, map[string]any{"id": args[0]},
			map[string]int{"X-Ms-Offer-Throughput": throughput}, "database "+args[0])
	})
	return cmd
}

// create makes a database or container and says so. A header of 0 is not sent.
func (c *serverCall) create(cmd *cobra.Command, path string, definition map[string]any,
	headers map[string]int, what string) error {
	req, err := c.call(cmd.Context(), http.MethodPost, path, definition)
	if err != nil {
		return err
	}
	for name, value := range headers {
		if value != 0 {
			req.Header.Set(name, strconv.Itoa(value))
		}
	}
	return show(cmd, c, req, func(out io.Writer, _ json.RawMessage) error {
		_, err := fmt.Fprintln(out, "created", what)
		return err
	})
}

func databasesDeleteCommand() *cobra.Command {
	var c serverCall
	var yes bool
	cmd := &cobra.Command{Use: "delete ID", Short: "Delete a database with all that it holds",
		Args: cobra.ExactArgs(1)}
	c.registerServer(cmd.Flags())
	registerResultJSON(cmd.Flags(), &c.json)
	cmd.Flags().BoolVar(&yes, "yes", false, "yes, delete it")
	cmd.RunE = runWithVariables(func(cmd *cobra.Command, args []string) error {
		c.database = args[0]
		return c.delete(cmd, databasePath, yes, "database "+args[0])
	})
	return cmd
}

// delete deletes a database or container, if that is meant.
func (c *serverCall) delete(cmd *cobra.Command, path string, yes bool, what string) error {
	if !yes {
		return &usageError{"this deletes " + what + " and all that it holds: add --yes if that is meant"}
	}
	req, err := c.call(cmd.Context(), http.MethodDelete, path, nil)
	if err != nil {
		return err
	}
	if _, err = ask[json.RawMessage](req); err != nil {
		return err
	}
	return printResult(cmd.OutOrStdout(), c.json, "deleted "+what, map[string]string{"deleted": what})
}
