package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/transfer"
)

func main() {
	os.Exit(execute(signalled(), os.Args[1:], os.Stdout, os.Stderr))
}

// signalled returns a context that is canceled by the first signal, so that the command ends in an orderly
// way. The second signal ends the process at once. The goroutine that waits for signals runs as long as the
// process.
func signalled() context.Context {
	signals := make(chan os.Signal, 2)
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), signalsContextKey{}, signals))
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitFailed)
	}()
	return ctx
}

// signalsContextKey is the type of a context key. The value under this key is the channel on which the
// process receives signals. The function signalled, which handles the signals, stores it.
type signalsContextKey struct{}

// withoutSignals stops the handling of signals that signalled has set up, for a command that handles
// Ctrl-C itself. It returns a context that signals do not cancel.
func withoutSignals(ctx context.Context) context.Context {
	if signals, ok := ctx.Value(signalsContextKey{}).(chan os.Signal); ok {
		signal.Stop(signals)
	}
	return context.WithoutCancel(ctx)
}

// rootCommand returns the program with all its commands.
func rootCommand() *cobra.Command {
	root := cli.ParentCommand(&cobra.Command{
		Use:   "mayfly",
		Short: "A document store with the protocol and expiry rules of Azure Cosmos DB",
		Long: "A document store with the protocol and expiry rules of Azure Cosmos DB.\n\n" +
			"Start a server with `mayfly serve`. Most other commands need a server at " +
			"http://localhost:8081,\n" +
			"or at the address in --url or MAYFLY_URL.",
		Example: "  mayfly serve\n" +
			"  mayfly databases create shop\n" +
			"  mayfly containers create carts --db shop --partition-key /user --ttl 30d\n" +
			"  mayfly put '{\"id\": \"1\", \"user\": \"ada\"}' --db shop --container carts\n" +
			"  mayfly shell --db shop --container carts",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	},
		slices.Concat(
			group("The server", serveCommand(), checkCommand(), healthCommand(), serversCommand(),
				doctorCommand(), migrateCommand(), certCommand(), benchCommand(), manCommand(),
				versionCommand()),
			group("Data", shellCommand(), databasesCommand(), containersCommand(), queryCommand(), queriesCommand(), getCommand(), putCommand(),
				transfer.ImportCommand(), transfer.ExportCommand(), explainCommand(), splitCommand(), snapshotCommand(),
				resetCommand(), seedCommand(), queueCommand(), faultsCommand(), requestsCommand()),
			group("Time to live", clockCommand(), expiryCommand(), forecastCommand(), dryRunCommand(),
				waitCommand(), lintCommand(),
				settingsCommand(), leaseCommand(), reaperCommand(), eventsCommand()),
		)...)
	for _, title := range []string{"The server", "Data", "Time to live"} {
		root.AddGroup(&cobra.Group{ID: title, Title: title})
	}
	root.SetHelpCommandGroupID("The server")
	root.SetCompletionCommandGroupID("The server")
	root.SetVersionTemplate(versionLine())
	root.SetFlagErrorFunc(cli.FlagError)
	cli.ReportArguments(root)
	addExamples(root)
	return root
}

// group assigns commands to the group with that title in the list of commands of the help, and returns
// them.
func group(title string, cmds ...*cobra.Command) []*cobra.Command {
	for _, cmd := range cmds {
		cmd.GroupID = title
	}
	return cmds
}

// execute runs one command and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return executeFrom(ctx, os.Stdin, args, stdout, stderr)
}

// executeFrom runs one command, which reads its standard input from stdin, and returns the exit code.
func executeFrom(ctx context.Context, stdin io.Reader, args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	if err := addCompletions(root); err != nil {
		fmt.Fprintln(stderr, "mayfly:", err)
		return exitFailed
	}
	// never nil: for nil, cobra uses the arguments of the process
	root.SetArgs(append([]string{}, convertEmulatorArguments(args)...))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var already *alreadyPrintedError
	if !errors.As(err, &already) {
		fmt.Fprintln(stderr, "mayfly:", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	var failed *cli.CommandError
	if errors.As(err, &failed) {
		return exitCode(failed)
	}
	return exitUsage // an error of cobra itself
}
