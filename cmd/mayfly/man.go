package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/mayflydb/mayfly/internal/cli"
)

func manCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands into a folder",
		Args:  cobra.ExactArgs(1),
		Long: "Write the manual pages of all commands into a folder, for man(1): mayfly.1, " +
			"mayfly-serve.1, ...\n" +
			"Packages install them; `man -l DIR/mayfly-serve.1` shows a page in any folder.",
	}
	cli.RegisterResultJSON(cmd.Flags(), &asJSON)
	cmd.RunE = cli.Run(func(cmd *cobra.Command, args []string) error {
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return err
		}
		// Two builds of the same revision must give the same pages.
		revised := revisionTime()
		header := &doc.GenManHeader{Section: "1", Source: "mayfly " + version(), Manual: "Mayfly",
			Date: &revised}
		if err := doc.GenManTree(cmd.Root(), header, args[0]); err != nil {
			return err
		}
		pages := 0
		for range everyCommand(cmd.Root()) {
			pages++
		}
		return cli.PrintResult(cmd.OutOrStdout(), asJSON, fmt.Sprintf("%d pages in %s", pages, args[0]),
			map[string]any{"pages": pages, "folder": args[0]})
	})
	return cmd
}

// revisionTime returns when the revision of this build was committed, or 1970 if the binary does not contain
// it.
func revisionTime() time.Time {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if at, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
				return at
			}
		}
	}
	return time.Unix(0, 0).UTC()
}

// everyCommand returns an iterator over cmd and those of its subcommands that have a manual page.
func everyCommand(cmd *cobra.Command) func(yield func(*cobra.Command) bool) {
	return func(yield func(*cobra.Command) bool) { eachCommand(cmd, yield) }
}

func eachCommand(cmd *cobra.Command, yield func(*cobra.Command) bool) bool {
	if !cmd.IsAvailableCommand() && cmd.HasParent() || cmd.IsAdditionalHelpTopicCommand() {
		return true
	}
	for _, sub := range cmd.Commands() {
		if !eachCommand(sub, yield) {
			return false
		}
	}
	return yield(cmd)
}
