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

// signalled is a context that the first signal ends, and with it the command in good order. A second signal
// ends the process at once. The goroutine that waits for them lives as long as the process.
func signalled() context.Context {
	signals := make(chan os.Signal, 2)
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), signalsKey{}, signals))
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitFailed)
	}()
	return ctx
}

// signalsKey is where the context of signalled has its channel.
type signalsKey struct{}

// withoutSignals takes signals away from signalled: for a command that gives Ctrl-C a meaning of its own.
func withoutSignals(ctx context.Context) context.Context {
	if signals, ok := ctx.Value(signalsKey{}).(chan os.Signal); ok {
		signal.Stop(signals)
	}
	return context.WithoutCancel(ctx)
}

// rootCommand is the program with all of its commands.
func rootCommand() *cobra.Command {
	root := cli.Family(&cobra.Command{
		Use:           "mayfly",
		Short:         "A document store whose documents can be mortal, on the wire of Azure Cosmos DB",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	},
		slices.Concat(
			group("The server", serveCommand(), checkCommand(), healthCommand(), doctorCommand(), certCommand(), benchCommand(), manCommand(),
				versionCommand()),
			group("Data", shellCommand(), databasesCommand(), containersCommand(), queryCommand(), getCommand(), putCommand(),
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
	cli.TellArguments(root)
	addExamples(root)
	return root
}

// group says under which title the help lists commands.
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

// executeFrom is execute with an input of its own.
func executeFrom(ctx context.Context, stdin io.Reader, args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	if err := addCompletions(root); err != nil {
		fmt.Fprintln(stderr, "mayfly:", err)
		return exitFailed
	}
	// of no arguments, too: for nil, cobra takes those of the process
	root.SetArgs(append([]string{}, takeEmulatorArguments(args)...))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var already *told
	if !errors.As(err, &already) {
		fmt.Fprintln(stderr, "mayfly:", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	var failed *cli.Failure
	if errors.As(err, &failed) {
		return exitCode(failed)
	}
	return exitUsage // what cobra itself refuses
}
