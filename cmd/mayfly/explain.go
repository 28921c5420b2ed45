package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/laboratory"
)

// explainFlags holds the flags of `mayfly explain`, which shows the plan of a query.
type explainFlags struct {
	cli.ClientCommandFlags
	partitionKey string
}

func explainCommand() *cobra.Command {
	var e explainFlags
	cmd := &cobra.Command{
		Use:   "explain QUERY",
		Short: "Show the plan of a query, and what its first page costs",
		Args:  cobra.ExactArgs(1),
		Long: "Show how the server executes a query: its plan, and what one page of it read and cost.\n\n" +
			"Without --partition-key the query covers the whole container. If QUERY is -, it is read " +
			"from the\n" +
			"standard input.",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	e.Register(flags)
	e.RegisterJSON(flags)
	flags.StringVar(&e.partitionKey, "partition-key", "", `partition key as a JSON array: ["tenant-7"]`)
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		text, err := argumentOrInput(args[0], cmd.InOrStdin())
		if err != nil {
			return err
		}
		req, err := e.request(cmd.Context(), text)
		if err != nil {
			return err
		}
		return cli.Show(cmd, &e.ClientCommandFlags, req, printExplanation)
	})
	return cmd
}

// request returns the signed request for the explanation of a query.
func (e *explainFlags) request(ctx context.Context, text string) (*http.Request, error) {
	question := map[string]any{"database": e.Database, "container": e.Container, "query": text}
	key, err := cli.ParsePartitionKey(e.partitionKey)
	if err != nil {
		return nil, err
	}
	if key != nil {
		question["partitionKey"] = key
	}
	return e.ClientCommandFlags.Request(ctx, "_mayfly/explain", question)
}

// printExplanation prints the query plan and the measurements of the execution as text.
func printExplanation(out io.Writer, e laboratory.QueryExplanation) error {
	if _, err := fmt.Fprintf(out, "%s\n\n", strings.TrimRight(e.Plan, "\n")); err != nil {
		return err
	}
	m := e.Metrics
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "rows\t%d (%d bytes)\n", e.Rows, m.BytesOutput)
	fmt.Fprintf(w, "charge\t%.2f RU\n", e.Charge)
	fmt.Fprintf(w, "documents\t%d read (%d bytes), %d matched\n", m.DocumentsLoaded, m.BytesLoaded,
		m.DocumentsMatched)
	fmt.Fprintf(w, "index entries\t%d\n", m.IndexEntries)
	fmt.Fprintf(w, "time\t%.3f ms: reading %.3f, filtering %.3f\n", m.ElapsedMs, m.LoadMs, m.FilterMs)
	if used := indexNames(e.Indexes.Utilized); used != "" {
		fmt.Fprintf(w, "indexes used\t%s\n", used)
	}
	if missed := indexNames(e.Indexes.Potential); missed != "" {
		fmt.Fprintf(w, "would help\t%s\n", missed)
	}
	return w.Flush()
}

func indexNames(list laboratory.IndexList) string {
	names := append([]string{}, list.Single...)
	for _, composite := range list.Composite {
		names = append(names, "("+strings.Join(composite, ", ")+")")
	}
	return strings.Join(names, ", ")
}
