package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/bench"
	"github.com/mayflydb/mayfly/internal/cli"
)

func benchCommand() *cobra.Command {
	o := bench.Options{Version: version()}
	asJSON, engineURL := false, ""
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the speed of this build, relative to the bare engine and an empty server",
		Args:  cobra.NoArgs,
	}
	cmd.Long = benchHelp()
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntSliceVar(&o.Docs, "docs", nil,
		"numbers of documents in the data sets, ascending, separated by commas: the section query\n"+
			"uses all of them, multiples of 1000, and prints how the times grow; the sections import,\n"+
			"start, ttl and purge use the last one (default 10000 for query, 20000 with --engine,\n"+
			"else 1000000)")
	flags.StringVar(&o.Shapes, "shapes", "",
		"regular expression: in the section query, run only the queries that match")
	flags.StringSliceVar(&o.Only, "only", nil, "sections to run, separated by commas (default all)")
	flags.StringVar(&o.Dir, "dir", "",
		"folder to work in; it must be empty, and its content stays (default a temporary folder)")
	flags.Float64Var(&o.Seconds, "seconds", 5, "seconds for each measurement")
	flags.StringVar(&o.Compare, "compare", "",
		"file with the --json output of an older run: prints which figures have changed significantly")
	flags.Float64Var(&o.MaxDrop, "max-drop", 0,
		"with --compare: fail if a figure is significantly worse by more than this share, for example 0.1")
	flags.StringVar(&engineURL, "engine", "",
		"address of a PostgreSQL database: instead of the sections, measure the same operations on\n"+
			"Pebble, on that database, and on a plain table of jsonb in it; the database's schemas\n"+
			"mayfly_bench and mayfly_bench_table are replaced")
	flags.StringVar(&o.SVG, "svg", "", "folder for a picture of each section, as SVG")
	flags.BoolVar(&asJSON, "json", false,
		"print the figures as JSON, for programs; the table goes to the standard error output")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		if engineURL != "" {
			return compareEngines(cmd, engineURL, o)
		}
		table := cmd.OutOrStdout()
		if asJSON {
			table = cmd.ErrOrStderr()
		}
		b := bench.New(o, table, cmd.ErrOrStderr())
		err := b.Run(cmd.Context())
		var wrong *bench.OptionError
		switch {
		case errors.As(err, &wrong):
			return cli.Misuse(err.Error())
		case err != nil || !asJSON:
			return err
		}
		return cli.PrintResult(cmd.OutOrStdout(), true, "", b.Result())
	})
	cmd.AddCommand(benchServerCommand())
	return cmd
}

// benchHelp returns the long help of bench, with its sections.
func benchHelp() string {
	var help strings.Builder
	help.WriteString("Measure this build on this machine. Each figure is compared with a baseline: the " +
		"storage engine alone,\n" +
		"or an empty HTTP server, with the same bytes. Both run alternately for short intervals, so that\n" +
		"anything else that runs on the machine affects both. Compare the ratios. A figure that exceeds\n" +
		"its budget is marked; the exit code is 0 even then.\n\nSections:\n")
	for _, s := range bench.Sections() {
		fmt.Fprintf(&help, "  %-8s %s\n", s.Name, s.What)
	}
	help.WriteString("\nThe data take up to 6 KB of disk per document, in a temporary folder that is " +
		"removed at the end.")
	return help.String()
}

// benchServerCommand returns the hidden command `mayfly bench server`. `mayfly bench` runs it as a child
// process: it starts a Mayfly server, or an HTTP server that does nothing, and reports the processor time
// that it uses.
func benchServerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "server {mayfly FOLDER | empty FILE}",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: cli.Run(func(cmd *cobra.Command, args []string) error {
			start := startMayfly
			switch args[0] {
			case "mayfly":
			case "empty":
				start = bench.StartEmpty
			default:
				return cli.Misuse("there is no server " + args[0])
			}
			ctx, stop := context.WithCancel(cmd.Context())
			defer stop()
			address, serve, err := start(ctx, args[1])
			if err != nil {
				return err
			}
			ended := make(chan error, 1)
			go func() { ended <- serve(ctx) }()
			err = bench.AnswerCPU(address, cmd.InOrStdin(), cmd.OutOrStdout())
			stop()
			return errors.Join(err, <-ended)
		}),
	}
}

// startMayfly opens a Mayfly server on any free port, with the default settings of `mayfly serve` and its
// data in the folder dir. It returns the server's address and a function that serves requests until its
// context ends.
func startMayfly(ctx context.Context, dir string) (net.Addr, func(context.Context) error, error) {
	s := &serveCommandState{log: newLogger(os.Stderr, "warn", "text")}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.flags.register(flags)
	s.flags.port, s.flags.data = 0, dir
	if err := s.flags.settle(map[string]cli.SettingSource{"port": cli.FromFlag,
		"data": cli.FromFlag}); err != nil {
		return nil, nil, err
	}
	if err := s.Open(ctx); err != nil {
		return nil, nil, err
	}
	return s.server.Addr(), s.Run, nil
}
