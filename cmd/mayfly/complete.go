package main

import (
	"context"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/inject"
)

// completionTime bounds the wait for a server that is asked for names: a person has pressed a key and waits.
const completionTime = 2 * time.Second

// fixedValues are the values of flags that have few.
var fixedValues = map[string][]string{
	"consistency": consistencyLevels,
	"compression": {"fastest", "balanced"},
	"log-level":   {"debug", "info", "warn", "error"},
	"log-format":  {"text", "json"},
	"operation":   inject.OperationNames(),
	"by":          {"second", "minute", "hour", "day", "month"},
}

// addCompletions lets shells complete the values of flags, and names of what a running server has, for cmd
// and all below it.
func addCompletions(cmd *cobra.Command) error {
	for name, values := range fixedValues {
		if err := completeFlag(cmd, name,
			cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			return err
		}
	}
	if cmd.Flags().Lookup("url") != nil {
		if err := completeFlag(cmd, "db", completeNames("dbs", "Databases")); err != nil {
			return err
		}
		if err := completeFlag(cmd, "container",
			completeNames("dbs/{db}/colls", "DocumentCollections")); err != nil {
			return err
		}
	}
	for _, sub := range cmd.Commands() {
		if err := addCompletions(sub); err != nil {
			return err
		}
	}
	return nil
}

func completeFlag(cmd *cobra.Command, name string, values cobra.CompletionFunc) error {
	if cmd.Flags().Lookup(name) == nil {
		return nil
	}
	return cmd.RegisterFlagCompletionFunc(name, values)
}

// completeNames completes names from a list of the running server: its path, and what the answer calls it. A
// server that does not answer has no names.
func completeNames(path, list string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		const nothing = cobra.ShellCompDirectiveNoFileComp
		if _, err := applyVariables(cmd.Flags(), os.LookupEnv); err != nil {
			return nil, nothing
		}
		var c serverCall
		for name, to := range map[string]*string{"url": &c.url, "key": &c.key, "db": &c.database} {
			if f := cmd.Flags().Lookup(name); f != nil {
				*to = f.Value.String()
			}
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		req, err := c.call(ctx, http.MethodGet, path, nil)
		if err != nil {
			return nil, nothing
		}
		answer, err := ask[map[string]any](req)
		if err != nil {
			return nil, nothing
		}
		return namesIn(answer[list], begun), nothing
	}
}

// firstArgument is a completion of a command's first argument alone.
func firstArgument(names cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(cmd, args, begun)
	}
}

// namesIn are the ids or names in a list of objects that begin with what was typed.
func namesIn(list any, begun string) (names []string) {
	rows, _ := list.([]any)
	for _, row := range rows {
		member, _ := row.(map[string]any)
		for _, key := range []string{"id", "name", "path"} {
			if name, ok := member[key].(string); ok && strings.HasPrefix(name, begun) {
				names = append(names, name)
			}
		}
	}
	return names
}
