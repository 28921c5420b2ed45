package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
)

// snapshotFlags holds the flags of the commands for the snapshots of a running server.
type snapshotFlags struct{ cli.ClientCommandFlags }

// snapshotResponse is a server's response that describes a snapshot.
type snapshotResponse struct {
	Name      string    `json:"name"`
	Time      time.Time `json:"time"`
	Bytes     int64     `json:"bytes"`
	Databases []string  `json:"databases"`
}

func snapshotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Take and restore snapshots",
		Long: "Take and restore snapshots.\n\n" +
			"A snapshot of the whole store and its restore copy no data, since files are shared. To " +
			"restore or fork\n" +
			"a single database, its data are copied.",
	}
	return cli.ParentCommand(cmd, snapshotCreateCommand(), snapshotListCommand(), snapshotRestoreCommand(),
		snapshotForkCommand(), snapshotDeleteCommand())
}

// snapshotVerb completes the command cmd about the snapshots of a server: it adds the flags for the server
// and --json, checks the snapshot name in the first argument, and makes the command run ask.
func snapshotVerb(cmd *cobra.Command, c *snapshotFlags,
	ask func(cmd *cobra.Command, args []string) error) *cobra.Command {
	cmd.Flags().SortFlags = false
	c.RegisterServer(cmd.Flags())
	c.RegisterJSON(cmd.Flags())
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && !engine.ValidSnapshotName(args[0]) {
			return cli.Misuse(fmt.Sprintf("%q cannot be a snapshot's name: it has 1 to 64 lower-case "+
				"letters, digits, '-', '_' and '.', begins with a letter or a digit, and is no device "+
				"of Windows", args[0]))
		}
		return ask(cmd, args)
	})
	return cmd
}

// showSnapshot sends one request and prints the answer. path is below _mayfly/snapshots; a nil question sends
// no body.
func showSnapshot[T any](cmd *cobra.Command, c *snapshotFlags, method, path string, question any,
	print func(out io.Writer, answer T) error) error {
	req, err := c.Call(cmd.Context(), method, "_mayfly/snapshots"+path, question)
	if err != nil {
		return err
	}
	return cli.Show(cmd, &c.ClientCommandFlags, req, print)
}

func snapshotCreateCommand() *cobra.Command {
	var c snapshotFlags
	return snapshotVerb(&cobra.Command{
		Use:   "create NAME",
		Short: "Take a snapshot of the whole store",
		Args:  cobra.ExactArgs(1),
	}, &c, func(cmd *cobra.Command, args []string) error {
		return showSnapshot(cmd, &c, http.MethodPost, "", map[string]string{"name": args[0]},
			func(out io.Writer, s snapshotResponse) error {
				return printSnapshots(out, []snapshotResponse{s})
			})
	})
}

func snapshotListCommand() *cobra.Command {
	var c snapshotFlags
	return snapshotVerb(&cobra.Command{
		Use:   "list",
		Short: "List the snapshots: name, time of the data clock, bytes, databases",
		Args:  cobra.NoArgs,
	}, &c, func(cmd *cobra.Command, _ []string) error {
		return showSnapshot(cmd, &c, http.MethodGet, "", nil,
			func(out io.Writer, list struct{ Snapshots []snapshotResponse }) error {
				return printSnapshots(out, list.Snapshots)
			})
	})
}

func printSnapshots(out io.Writer, list []snapshotResponse) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tTIME\tSIZE\tDATABASES")
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t%d bytes\t%s\n", s.Name, s.Time.Format(time.RFC3339), s.Bytes,
			strings.Join(s.Databases, ", "))
	}
	return w.Flush()
}

func snapshotRestoreCommand() *cobra.Command {
	var c snapshotFlags
	cmd := snapshotVerb(&cobra.Command{
		Use:   "restore NAME",
		Short: "Restore a snapshot: the whole store or, with --db, a database or container",
		Args:  cobra.ExactArgs(1),
	}, &c, func(cmd *cobra.Command, args []string) error {
		question := map[string]string{}
		if c.Database != "" {
			question["database"] = c.Database
		}
		if c.Container != "" {
			if c.Database == "" {
				return cli.Misuse("--container goes with its --db")
			}
			question["container"] = c.Container
		}
		return showSnapshot(cmd, &c, http.MethodPost, "/"+args[0]+"/restore", question,
			func(out io.Writer, answer struct{ Databases []string }) error {
				_, err := fmt.Fprintf(out, "databases: %s\n", strings.Join(answer.Databases, ", "))
				return err
			})
	})
	cmd.Flags().StringVar(&c.Database, "db", "", "restore only this database")
	cmd.Flags().StringVar(&c.Container, "container", "", "restore only this container of the database")
	return cmd
}

func snapshotDeleteCommand() *cobra.Command {
	var c snapshotFlags
	return snapshotVerb(&cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a snapshot",
		Args:  cobra.ExactArgs(1),
	}, &c, func(cmd *cobra.Command, args []string) error {
		req, err := c.Call(cmd.Context(), http.MethodDelete, "_mayfly/snapshots/"+args[0], nil)
		if err != nil {
			return err
		}
		if _, err = cli.Ask[struct{}](req); err != nil {
			return err
		}
		return cli.PrintResult(cmd.OutOrStdout(), c.JSON, "deleted snapshot "+args[0],
			map[string]string{"deleted": args[0]})
	})
}

func snapshotForkCommand() *cobra.Command {
	var c snapshotFlags
	var as, data, to string
	cmd := snapshotVerb(&cobra.Command{
		Use:   "fork NAME",
		Short: "Create a database or a data folder from a snapshot",
		Args:  cobra.ExactArgs(1),
		Long: "Create a database from a snapshot: --db X --as Y copies the database X to Y in the " +
			"running server.\n\n" +
			"Or create a data folder: --data DIR --to NEW. This works whether or not a server has DIR open.",
	}, &c, func(cmd *cobra.Command, args []string) error {
		switch {
		case to != "" && data != "" && as == "" && c.Database == "":
			if err := forkFolder(cmd.Context(), data, args[0], to); err != nil {
				return err
			}
			return cli.PrintResult(cmd.OutOrStdout(), c.JSON, "made "+to+" of snapshot "+args[0],
				map[string]string{"made": to})
		case to != "" || data != "" || as == "" || c.Database == "":
			return cli.Misuse("give --db and --as, or --data and --to")
		}
		question := map[string]string{"database": c.Database, "as": as}
		return showSnapshot(cmd, &c, http.MethodPost, "/"+args[0]+"/fork", question,
			func(out io.Writer, answer struct{ ID string }) error {
				_, err := fmt.Fprintf(out, "database %s\n", answer.ID)
				return err
			})
	})
	flags := cmd.Flags()
	flags.StringVar(&c.Database, "db", "", "database of the snapshot")
	flags.StringVar(&as, "as", "", "name of the new database")
	flags.StringVar(&data, "data", "", "data folder with the snapshot")
	flags.StringVar(&to, "to", "", "data folder to create")
	return cmd
}

// forkFolder makes a new data folder from a snapshot. The folder has a temporary name until it is complete.
func forkFolder(ctx context.Context, data, name, to string) (err error) {
	if _, err := os.Stat(to); err == nil {
		return fmt.Errorf("%s exists already", to)
	}
	draft := strings.TrimRight(to, `/\`) + ".new"
	if err := pebble.CopySnapshot(pebble.Options{Dir: data}, name, draft); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(draft))
		}
	}()
	e, err := pebble.Open(ctx, pebble.Options{Dir: draft})
	if err != nil {
		return err
	}
	if err := errors.Join(store.Adopt(ctx, e, queue.New(queue.Options{}).Tenant()), e.Close()); err != nil {
		return err
	}
	return os.Rename(draft, to)
}
