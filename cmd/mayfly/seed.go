package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/seed"
)

func seedCommand() *cobra.Command {
	return cli.ParentCommand(&cobra.Command{
		Use:   "seed",
		Short: "Check seeds for `mayfly serve --seed`, and print their schema",
	}, seedCheckCommand(), seedSchemaCommand())
}

func seedCheckCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check PATH",
		Short: "Check a seed, a file or a folder; needs no server",
		Long: "Check a seed, a file or a folder, by loading it into a temporary server in memory.\n\n" +
			"Mistakes are reported with file, line and column; the exit code is then 1.",
		Args: cobra.ExactArgs(1),
	}
	cli.RegisterResultJSON(cmd.Flags(), &asJSON)
	cmd.RunE = cli.Run(func(cmd *cobra.Command, args []string) error {
		s, err := seed.Open(args[0])
		if err != nil {
			return err
		}
		if err := s.DryRun(cmd.Context()); err != nil {
			return err
		}
		c := s.Count()
		text := fmt.Sprintf("the seed is good: %s, %s, %s, %s", cli.Plural(c.Databases, "database",
			"databases"),
			cli.Plural(c.Containers, "container", "containers"), cli.Plural(c.Documents, "document",
				"documents"),
			cli.Plural(c.Entities, "queue, topic or subscription", "queues, topics and subscriptions"))
		return cli.PrintResult(cmd.OutOrStdout(), asJSON, text, c)
	})
	return cmd
}

func seedSchemaCommand() *cobra.Command {
	var asJSON bool // the output is always JSON
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of seed files, for editors",
		Args:  cobra.NoArgs,
	}
	cli.RegisterResultJSON(cmd.Flags(), &asJSON)
	cmd.RunE = cli.Run(func(cmd *cobra.Command, _ []string) error {
		text, err := seed.Schema()
		if err == nil {
			_, err = cmd.OutOrStdout().Write(text)
		}
		return err
	})
	return cmd
}
