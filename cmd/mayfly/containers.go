package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

func containersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "containers",
		Short: "List, create and delete containers",
	}
	return cli.ParentCommand(cmd, containersListCommand(), containersCreateCommand(),
		containersDeleteCommand())
}

func containersListCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	cmd := &cobra.Command{Use: "list", Short: "List the containers of a database", Args: cobra.NoArgs}
	c.RegisterDatabase(cmd.Flags())
	c.RegisterJSON(cmd.Flags())
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		return c.List(cmd, cli.ContainersPath, "DocumentCollections",
			func(out io.Writer, rows []json.RawMessage) error {
				w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "CONTAINER\tPARTITION KEY\tTTL")
				for _, row := range rows {
					var a cli.ContainerDefinition
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
	var c cli.ClientCommandFlags
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
	c.RegisterDatabase(flags)
	c.RegisterJSON(flags)
	flags.StringArrayVar(&paths, "partition-key", nil,
		"path of the partition key, such as /user; required; repeat it for a hierarchical key")
	flags.StringVar(&life, "ttl", "off", "default time to live of its items")
	flags.StringVar(&ttlPath, "ttl-path", "",
		"path of the property, in seconds since 1970, from which a time to live counts (default the last "+
			"write)")
	flags.IntVar(&throughput, "throughput", 0, "request units per second (default 400)")
	flags.IntVar(&ranges, "ranges", 0, "number of partition ranges (default by the throughput)")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		if err := checkPartitionKey(paths); err != nil {
			return err
		}
		kind := "Hash"
		if len(paths) > 1 {
			kind = "MultiHash"
		}
		definition := map[string]any{"id": args[0], "partitionKey": map[string]any{"paths": paths,
			"kind": kind, "version": 2}}
		ttl, err := cli.ParseTTL(life)
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
		return c.Create(cmd, cli.ContainersPath, definition, headers, "container "+args[0])
	})
	return cmd
}

// checkPartitionKey returns a usage error, with advice, if the flag --partition-key is missing or one of its
// paths is malformed, such as "user" instead of "/user".
func checkPartitionKey(paths []string) error {
	if len(paths) == 0 {
		return cli.Misuse("--partition-key is missing: the path of the property by which documents are " +
			"distributed, such as --partition-key /user; it cannot be changed later " +
			"(--partition-key /id where nothing else fits)")
	}
	for _, path := range paths {
		switch {
		case !strings.HasPrefix(path, "/"):
			return cli.Misuse(fmt.Sprintf("--partition-key %q: a path begins with /: "+
				"is it --partition-key /%s?", path, path))
		case len(path) > 1 && strings.HasSuffix(path, "/"):
			return cli.Misuse(fmt.Sprintf("--partition-key %q: a path does not end with /: "+
				"is it --partition-key %s?", path, strings.TrimRight(path, "/")))
		}
	}
	return nil
}

func containersDeleteCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var yes bool
	cmd := &cobra.Command{Use: "delete ID", Short: "Delete a container and its content",
		Args: cobra.ExactArgs(1)}
	c.RegisterDatabase(cmd.Flags())
	cli.RegisterResultJSON(cmd.Flags(), &c.JSON)
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm the deletion")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		c.Container = args[0]
		return c.Delete(cmd, cli.ContainerPath, yes, "container "+args[0])
	})
	return cmd
}
