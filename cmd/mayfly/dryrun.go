package main

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/laboratory"
	"github.com/mayflydb/mayfly/ttl"
)

func dryRunCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var examples int
	var path string
	cmd := &cobra.Command{
		Use:   "dry-run TTL",
		Short: "Predict the effects of a change of a default time to live",
		Args:  cobra.ExactArgs(1),
		Long: "Predict which items would expire, or live longer, if the default time to live of a " +
			"container were\n" +
			"TTL. Nothing is changed.\n\n" +
			"TTL is a number of seconds or a duration (90s, 12h, 30d), never (-1: only items with a ttl\n" +
			"of their own expire) or off (nothing expires).",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.Register(flags)
	c.RegisterJSON(flags)
	flags.IntVar(&examples, "examples", 5, "maximum number of examples for each effect")
	flags.StringVar(&path, "ttl-path", "",
		"proposed path of the property from which times to live count, or none (default as it is)")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		ttl, err := cli.ParseTTL(args[0])
		if err != nil {
			return err
		}
		question := map[string]any{"defaultTtl": ttl, "examples": examples}
		if path == "none" {
			question["ttlPropertyPath"] = ""
		} else if path != "" {
			question["ttlPropertyPath"] = path
		}
		req, err := c.Request(cmd.Context(), "_mayfly/dbs/{db}/colls/{coll}/ttl-dry-run", question)
		if err != nil {
			return err
		}
		return cli.Show(cmd, &c, req, printDryRun)
	})
	return cmd
}

// effectTexts are the effects of a change on items with the texts that describe them, the most important
// first.
var effectTexts = []struct{ name, text string }{
	{"diesAtOnce", "expire at once"}, {"becomesMortal", "will expire, and would not have"},
	{"diesSooner", "will expire sooner"}, {"diesLater", "will expire later"},
	{"becomesImmortal", "will not expire any more"}, {"unchanged", "are not concerned"},
}

func printDryRun(out io.Writer, d laboratory.DryRunAnswer) error {
	fmt.Fprintf(out, "default %s -> %s at %s%s\n", ttlText(d.From), ttlText(d.To), d.Now,
		reservations(d.Method, d.Complete))
	if d.FromPath != d.ToPath {
		fmt.Fprintf(out, "counted from %s -> %s\n", cmp.Or(d.FromPath, "_ts"), cmp.Or(d.ToPath, "_ts"))
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, e := range effectTexts {
		fmt.Fprintf(w, "%d\t%s\n", d.Effects[e.name].Count, e.text)
	}
	fmt.Fprintf(w, "%d\thave expired already\n", d.Expired)
	fmt.Fprintf(w, "\nexpire within\titems\n")
	for _, a := range d.After {
		fmt.Fprintf(w, "%s\t%d\n", a.Within, a.Count)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, e := range effectTexts {
		list := d.Effects[e.name].Examples
		if len(list) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s:\n", e.text)
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, x := range list {
			fmt.Fprintf(w, "  %s\t%s\t%s\t-> %s\n", x.ID, x.PartitionKey, orNever(x.Before), orNever(x.After))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// reservations returns a text that is appended to the result of a dry run or a forecast: it says whether
// the counts are estimates, and whether they are incomplete. It returns "" if they are exact and complete.
func reservations(method string, complete bool) (text string) {
	if method != "exact" {
		text = " (estimated: leases were not looked at)"
	}
	if !complete {
		text += " (cut short: all counts are lower bounds)"
	}
	return text
}

func ttlText(life *int64) string {
	switch {
	case life == nil:
		return "off"
	case *life == -1:
		return "never"
	}
	return ttl.FormatDuration(time.Duration(*life) * time.Second)
}

func orNever(moment string) string {
	if moment == "" {
		return "never"
	}
	return moment
}
