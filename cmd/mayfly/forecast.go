package main

import (
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/laboratory"
)

func forecastCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var by string
	cmd := &cobra.Command{
		Use:   "forecast",
		Short: "Show what is going to expire",
		Args:  cobra.NoArgs,
		Long: "Show what is going to expire: in one container or, without --db and --container, in all " +
			"of them.",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.Register(flags)
	c.RegisterJSON(flags)
	flags.StringVar(&by, "by", "minute", "length of the counted periods: second, minute, hour, day or month")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		path := "_mayfly/forecast"
		if c.Database != "" || c.Container != "" {
			path = "_mayfly/dbs/{db}/colls/{coll}/forecast"
		}
		req, err := c.Call(cmd.Context(), http.MethodGet, path, nil)
		if err != nil {
			return err
		}
		return cli.Show(cmd, &c, req, func(out io.Writer, f laboratory.ForecastAnswer) error {
			steps, ok := f.By[by]
			if !ok {
				return cli.Misuse("--by must be second, minute, hour, day or month, not " + by)
			}
			return printForecast(out, f, steps)
		})
	})
	return cmd
}

func printForecast(out io.Writer, f laboratory.ForecastAnswer, steps []laboratory.ForecastStep) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "now\t%s%s\n", f.Now, reservations(f.Method, f.Complete))
	fmt.Fprintf(w, "overdue\t%d (the oldest for %d s)\n", f.Overdue, f.Lag)
	fmt.Fprintf(w, "coming\t%d\n", f.Coming)
	if f.NextIn > 0 {
		fmt.Fprintf(w, "next\tin %d s, at %s\n", f.NextIn, f.NextAt)
	}
	if len(steps) > 0 {
		fmt.Fprintf(w, "\nseconds from now\titems\n")
	}
	for _, s := range steps {
		fmt.Fprintf(w, "%d - %d\t%d\n", s.From, s.To, s.Count)
	}
	return w.Flush()
}
