package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/laboratory"
)

// The URL paths of the saved queries of a container.
const (
	queriesPath    = "_mayfly/dbs/{db}/colls/{coll}/queries"
	savedQueryPath = queriesPath + "/{id}"
)

var errNoQueryName = cli.Misuse("NAME must not be empty")

func queriesCommand() *cobra.Command {
	return cli.ParentCommand(&cobra.Command{
		Use:   "queries",
		Short: "List, run, save and delete the saved queries of a container",
		Long: "List, run, save and delete the saved queries of a container. They are part of its " +
			"settings, and\n" +
			"the explorer shows the same queries.",
	}, queriesListCommand(), queriesRunCommand(), queriesSaveCommand(), queriesDeleteCommand())
}

func queriesListCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	cmd := &cobra.Command{Use: "list", Short: "List the saved queries by name", Args: cobra.NoArgs}
	c.Register(cmd.Flags())
	c.RegisterJSON(cmd.Flags())
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		req, err := c.Call(cmd.Context(), http.MethodGet, queriesPath, nil)
		if err != nil {
			return err
		}
		return cli.Show(cmd, &c, req, printSavedQueries)
	})
	return cmd
}

// printSavedQueries prints one query per line, with its parameters.
func printSavedQueries(out io.Writer, saved laboratory.SavedQueries) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tPARAMETERS\tQUERY")
	for _, q := range saved.Queries {
		var parameters []string
		for _, p := range q.Parameters {
			parameters = append(parameters, p.Name+"="+string(p.Value))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", q.Name, strings.Join(parameters, " "),
			strings.Join(strings.Fields(q.Query), " "))
	}
	return w.Flush()
}

func queriesRunCommand() *cobra.Command {
	var c queryFlags
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "Run a saved query and print its rows",
		Args:  cobra.ExactArgs(1),
		Long: "Run a saved query and print its rows, as `mayfly query` does. A --param replaces the " +
			"saved value of\n" +
			"the parameter.",
	}
	c.registerQuery(cmd.Flags())
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		if err := c.checkQuery(); err != nil {
			return err
		}
		req, err := c.Call(cmd.Context(), http.MethodGet, queriesPath, nil)
		if err != nil {
			return err
		}
		saved, err := cli.Ask[laboratory.SavedQueries](req)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(saved.Queries, func(q laboratory.SavedQuery) bool { return q.Name == args[0] })
		if at < 0 {
			return noSavedQuery(args[0], saved.Queries)
		}
		q := saved.Queries[at]
		c.params = append(savedParams(q, c.params), c.params...)
		return c.run(cmd.Context(), q.Query, cmd.OutOrStdout())
	})
	return cmd
}

// savedParams returns the parameters stored with a saved query as values for --param (name=value), except
// those whose names occur in given, the values of --param from the user.
func savedParams(q laboratory.SavedQuery, given []string) (list []string) {
	for _, p := range q.Parameters {
		replaced := slices.ContainsFunc(given, func(one string) bool {
			name, _, _ := strings.Cut(one, "=")
			return strings.TrimPrefix(name, "@") == strings.TrimPrefix(p.Name, "@")
		})
		if !replaced && len(p.Value) > 0 { // a parameter without a value is undefined
			list = append(list, p.Name+"="+string(p.Value))
		}
	}
	return list
}

// noSavedQuery returns the error for a name under which no query is saved.
func noSavedQuery(name string, saved []laboratory.SavedQuery) error {
	var names []string
	for _, q := range saved {
		names = append(names, q.Name)
	}
	hint := "`mayfly queries list` lists them"
	if near := cli.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Errorf("there is no saved query %q: %s", name, hint)
}

func queriesSaveCommand() *cobra.Command {
	var c queryFlags
	cmd := &cobra.Command{
		Use:   "save NAME QUERY",
		Short: "Save a query under a name",
		Args:  cobra.ExactArgs(2),
		Long: "Save a query under a name, with the values of its parameters. A saved query of the same " +
			"name is\n" +
			"replaced. If QUERY is -, it is read from the standard input.",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.Register(flags)
	c.RegisterJSON(flags)
	c.registerParams(flags)
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		if err := c.checkQuery(); err != nil {
			return err
		}
		text, err := argumentOrInput(args[1], cmd.InOrStdin())
		if err != nil {
			return err
		}
		if c.Item = args[0]; c.Item == "" {
			return errNoQueryName
		}
		question := map[string]any{"query": text, "parameters": c.parameters()}
		req, err := c.Call(cmd.Context(), http.MethodPut, savedQueryPath, question)
		if err != nil {
			return err
		}
		return cli.Show(cmd, &c.ClientCommandFlags, req, func(out io.Writer, q laboratory.SavedQuery) error {
			_, err := fmt.Fprintln(out, "saved query", q.Name)
			return err
		})
	})
	return cmd
}

func queriesDeleteCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	cmd := &cobra.Command{Use: "delete NAME", Short: "Delete a saved query", Args: cobra.ExactArgs(1)}
	c.Register(cmd.Flags())
	cli.RegisterResultJSON(cmd.Flags(), &c.JSON)
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		if c.Item = args[0]; c.Item == "" {
			return errNoQueryName
		}
		return c.Delete(cmd, savedQueryPath, true, "query "+args[0])
	})
	return cmd
}
