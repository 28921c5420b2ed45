package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func containersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "containers",
		Short: "List, create and delete containers of a running server",
	}
	return family(cmd, containersListCommand(), containersCreateCommand(), containersDeleteCommand())
}

// registerDatabase adds the flags that say which server and which database.
func (c *serverCall) registerDatabase(flags *pflag.FlagSet) {
	flags.SortFlags = false
	c.registerServer(flags)
	flags.StringVar(&c.database, "db", "", "database")
}

func containersListCommand() *cobra.Command {
	var c serverCall
	cmd := &cobra.Command{Use: "list", Short: "List the containers of a database", Args: cobra.NoArgs}
	c.registerDatabase(cmd.Flags())
	c.registerJSON(cmd.Flags())
	cmd.RunE = runWithVariables(func(cmd *cobra.Command, _ []string) error {
		return c.list(cmd, containersPath, "DocumentCollections",
			func(out io.Writer, rows []json.RawMessage) error {
				w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "CONTAINER\tPARTITION KEY\tTTL")
				for _, row := range rows {
					var a containerAnswer
					if err := json.Unmarshal(row, &a); err != nil {
						return err
					}
					fmt.Fprintf(w, "%s\t%s\t%s\n", a.ID, strings.Join(a.PartitionKey.Paths, " "),
						ttlText(a.DefaultTTL))
				}
				return w.Flush()
			})
	})
	return cmd
}

func containersCreateCommand() *cobra.Command {
	var c serverCall
	var paths []string
	var life, ttlPath string
	var throughput, ranges int
	cmd := &cobra.Command{
		Use:   "create ID",
		Short: "Create a container",
		Args:  cobra.ExactArgs(1),
		Long: "Create a container.\n\n" +
			"A --ttl is a number of seconds or a duration (90s, 12h, 30d), never (-1: only items with a\n" +
			"ttl of their own expire) or off (nothing does).",
	}
	flags := cmd.Flags()
	c.registerDatabase(flags)
	c.registerJSON(flags)
	flags.StringArrayVar(&paths, "partition-key", []string{"/id"},
		"path of the partition key; repeat for a hierarchical one")
	flags.StringVar(&life, "ttl", "off", "default time to live of its items")
	flags.StringVar(&ttlPath, "ttl-path", "",
		"property of seconds since 1970 from which times to live count (default the last write)")
	flags.IntVar(&throughput, "throughput", 0, "request units a second (default 400)")
	flags.IntVar(&ranges, "ranges", 0, "partition ranges (default by its throughput)")
	cmd.RunE = runWithVariables(func(cmd *cobra.Command, args []string) error {
		kind := "Hash"
		if len(paths) > 1 {
			kind = "MultiHash"
		}
		definition := map[string]any{"id": args[0], "partitionKey": map[string]any{"paths": paths,
			"kind": kind, "version": 2}}
		ttl, err := parseTTL(life)
		if err != nil {
			return err
		}
		if ttl != nil {
			definition["defaultTtl"] = *ttl
		}
		if ttlPath != "" {
			definition["ttlPropertyPath"] = ttlPath
		}
		headers := map[string]int{"X-Ms-Offer-Throughput": throughput, "X-Mayfly-Ranges": ranges}
		return c.create(cmd, containersPath, definition, headers, "container "+args[0])
	})
	return cmd
}

func containersDeleteCommand() *cobra.Command {
	var c serverCall
	var yes bool
	cmd := &cobra.Command{Use: "delete ID", Short: "Delete a container with all that it holds",
		Args: cobra.ExactArgs(1)}
	c.registerDatabase(cmd.Flags())
	registerResultJSON(cmd.Flags(), &c.json)
	cmd.Flags().BoolVar(&yes, "yes", false, "yes, delete it")
	cmd.RunE = runWithVariables(func(cmd *cobra.Command, args []string) error {
		c.container = args[0]
		return c.delete(cmd, containerPath, yes, "container "+args[0])
	})
	return cmd
}
