package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

func databasesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "databases",
		Short: "List, create and delete databases",
	}
	return cli.ParentCommand(cmd, databasesListCommand(), databasesCreateCommand(), databasesDeleteCommand())
}

func databasesListCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	cmd := &cobra.Command{Use: "list", Short: "List the databases", Args: cobra.NoArgs}
	c.RegisterServer(cmd.Flags())
	c.RegisterJSON(cmd.Flags())
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		return c.List(cmd, cli.DatabasesPath, "Databases", func(out io.Writer, rows []json.RawMessage) error {
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

func databasesCreateCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var throughput int
	cmd := &cobra.Command{Use: "create ID", Short: "Create a database", Args: cobra.ExactArgs(1)}
	cmd.Flags().SortFlags = false
	c.RegisterServer(cmd.Flags())
	c.RegisterJSON(cmd.Flags())
	cmd.Flags().IntVar(&throughput, "throughput", 0,
		"request units a second that its containers share (default none)")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		return c.Create(cmd, cli.DatabasesPath, map[string]any{"id": args[0]},
			map[string]int{"X-Ms-Offer-Throughput": throughput}, "database "+args[0])
	})
	return cmd
}

func databasesDeleteCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var yes bool
	cmd := &cobra.Command{Use: "delete ID", Short: "Delete a database and its content",
		Args: cobra.ExactArgs(1)}
	c.RegisterServer(cmd.Flags())
	cli.RegisterResultJSON(cmd.Flags(), &c.JSON)
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm the deletion")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		c.Database = args[0]
		return c.Delete(cmd, cli.DatabasePath, yes, "database "+args[0])
	})
	return cmd
}
