package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/bench"
	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/internal/transfer"
)

// completionTime limits how long completion in a shell waits for names from a running server.
const completionTime = 2 * time.Second

// flagValues returns completions of flags by name. If two commands use a flag name for different things, the
// name is preceded by the command's path. Flags that are missing here have arbitrary values.
func flagValues() map[string]cobra.CompletionFunc {
	var (
		entities = completeNames(entitiesPath, "entities")
		folders  = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	)
	return map[string]cobra.CompletionFunc{
		"db":                      completeNames("dbs", "Databases"),
		"container":               completeNames("dbs/{db}/colls", "DocumentCollections"),
		"entity":                  entities,
		"forward-to":              entities,
		"forward-dead-letters-to": entities,
		"url":                     choices("http://localhost:8081", "https://localhost:8081"),

		"consistency":       choices(consistencyLevels...),
		"compression":       choices("fastest", "balanced"),
		"log-level":         choices("debug", "info", "warn", "error"),
		"log-format":        choices("text", "json"),
		"operation":         listOf(inject.OperationNames()...),
		"only":              listOf(sectionNames()...),
		"by":                choices("second", "minute", "hour", "day", "month"),
		"status":            choices("Active", "Disabled", "SendDisabled", "ReceiveDisabled"),
		"protocol":          choices(requestlog.ProtocolNames()...),
		"requests --status": choices("429", "4xx", "5xx", "failed"),
		"method": choices("GET", "POST", "PUT", "PATCH", "DELETE", "attach", "transfer", "disposition",
			"management"),
		"har":             files("har"),
		"compare":         files("json"),
		"svg":             folders,
		"until":           choices("empty", "messages"),
		"after":           choices("now"),
		"import --format": choices(transfer.ImportFormats...),
		"export --format": choices("ndjson", "json", "csv"),
		"host":            choices("127.0.0.1", "::1", "0.0.0.0"),
		"advance":         choices("1s", "1m", "1h", "1d", "30d"),
		"rate":            choices("0", "1", "60", "3600"),
		"containers create --ttl": choices(
			"off",
			"never",
			"3600",
			"86400",
		),
		"throughput":                        choices("400", "1000", "4000"),
		"containers create --partition-key": choices("/id", "/pk"),

		"file":               files("json"),
		"cert trust --file":  files("pem", "crt"),
		"servicebus-config":  files("json"),
		"key-file":           files(),
		"seed":               files(),
		"export --to":        files(),
		"cert export --to":   files("pem", "crt"),
		"data":               folders,
		"dir":                folders,
		"snapshot fork --to": folders,
	}
}

// argumentValues returns completions of the commands' arguments, by the commands' paths.
func argumentValues() map[string]cobra.CompletionFunc {
	var (
		items        = firstArgument(completeItems)
		snapshots    = firstArgument(completeNames("_mayfly/snapshots", "snapshots"))
		savedQueries = firstArgument(completeNames(queriesPath, "queries"))
		folder       = firstArgument(
			func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return nil, cobra.ShellCompDirectiveFilterDirs
			},
		)
	)
	values := map[string]cobra.CompletionFunc{
		"get":     items,
		"expiry":  items,
		"lease":   items,
		"wait":    inOrder(choices("expired", "purged", "feed", "quiet"), completeItems),
		"dry-run": firstArgument(choices("off", "never", "60", "3600", "86400")),
		"split": firstArgument(
			completeNames("dbs/{db}/colls/{coll}/pkranges", "PartitionKeyRanges"),
		),
		"reaper":            firstArgument(choices("pause", "resume", "run", "step", "set")),
		"queries run":       savedQueries,
		"queries save":      savedQueries,
		"queries delete":    savedQueries,
		"faults add":        firstArgument(choices(inject.FaultNames()...)),
		"faults delete":     firstArgument(completeNames(faultsPath, "faults")),
		"databases delete":  firstArgument(completeNames(cli.DatabasesPath, "Databases")),
		"containers delete": firstArgument(completeNames(cli.ContainersPath, "DocumentCollections")),
		"snapshot restore":  snapshots,
		"snapshot fork":     snapshots,
		"snapshot delete":   snapshots,
		"cert trust":        firstArgument(choices(trustNames()...)),
		"check":             folder,
		"man":               folder,
		"import":            firstArgument(files("json", "ndjson", "jsonl", "csv", "gz", "zst")),
		"seed check":        firstArgument(files()),
	}
	for _, verb := range []string{"set", "show", "delete", "send", "receive", "peek", "dead-letters",
		"resubmit",
		"purge", "forecast", "wait", "query"} {
		values["queue "+verb] = firstArgument(completeNames(entitiesPath, "entities"))
	}
	values["queue explain"] = inOrder(completeNames(entitiesPath, "entities"), completeNumbers)
	return values
}

// addCompletions adds completions to cmd and its subcommands: of flag values, and of names that a running
// server returns. Everything else is not completed, not even with file names.
func addCompletions(cmd *cobra.Command) error {
	return addCompletionsOf(cmd, flagValues(), argumentValues())
}

func addCompletionsOf(cmd *cobra.Command, flags, arguments map[string]cobra.CompletionFunc) (err error) {
	nothing := cobra.NoFileCompletions
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		values, ok := flags[path+" --"+f.Name]
		if !ok {
			values, ok = flags[f.Name]
		}
		if !ok || f.NoOptDefVal != "" {
			values = nothing
		}
		if f.Name != "help" && f.Name != "version" {
			err = errors.Join(err, cmd.RegisterFlagCompletionFunc(f.Name, values))
		}
	})
	if values := arguments[path]; values != nil {
		cmd.ValidArgsFunction = values
	} else if !cmd.HasSubCommands() && cmd.ValidArgs == nil {
		cmd.ValidArgsFunction = nothing
	}
	for _, sub := range cmd.Commands() {
		err = errors.Join(err, addCompletionsOf(sub, flags, arguments))
	}
	return err
}

// choices returns a completion function that offers a fixed list: all possible values, or the most
// frequent ones.
func choices(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// listOf returns a completion function for a list of words separated by commas. It offers those of the
// values that are not in the list yet.
func listOf(values ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		before := begun[:strings.LastIndexByte(begun, ',')+1]
		var list []string
		for _, v := range values {
			if !slices.Contains(strings.Split(before, ","), v) {
				list = append(list, before+v)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// files returns a completion function that offers files with one of the given endings; without endings,
// all files and folders.
func files(ends ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		if len(ends) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return ends, cobra.ShellCompDirectiveFilterFileExt
	}
}

func sectionNames() (names []string) {
	for _, s := range bench.Sections() {
		names = append(names, s.Name)
	}
	return names
}

func trustNames() (names []string) {
	for _, h := range trustHints() {
		names = append(names, h.For)
	}
	return names
}

// completeNames returns a completion function that offers names from the running server. path is the path
// of the request, and list the member of the response that contains the names. If the server does not
// answer, there are no completions.
func completeNames(path, list string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		var names []string
		withServer(cmd, func(ctx context.Context, c *cli.ClientCommandFlags) error {
			req, err := c.Call(ctx, http.MethodGet, path, nil)
			if err != nil {
				return err
			}
			answer, err := cli.Ask[map[string]any](req)
			names = namesIn(answer[list], begun)
			return err
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completedItems is the maximum number of item ids that are offered as completions.
const completedItems = 50

// completeItems completes ids of items of the container given by the flags.
func completeItems(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	withServer(cmd, func(ctx context.Context, c *cli.ClientCommandFlags) error {
		start, err := json.Marshal(begun)
		if err != nil {
			return err
		}
		q := queryFlags{ClientCommandFlags: *c}
		text := fmt.Sprintf(
			"SELECT DISTINCT TOP %d VALUE c.id FROM c WHERE STARTSWITH(c.id, @begun)",
			completedItems,
		)
		q.params = []string{"begun=" + string(start)}
		_, err = q.pages(ctx, text, "", 0, func(rows []json.RawMessage, _ cli.PageHeaders) (bool, error) {
			for _, row := range rows {
				ids = append(ids, jsondoc.Of(row).Str())
			}
			return true, nil
		})
		return err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// completeNumbers completes sequence numbers of the first messages of an entity.
func completeNumbers(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var numbers []string
	withServer(cmd, func(ctx context.Context, c *cli.ClientCommandFlags) error {
		c.Item = args[0]
		req, err := c.Call(ctx, http.MethodPost, entityPath+"/peek", map[string]any{"count": completedItems})
		if err != nil {
			return err
		}
		list, err := cli.Ask[laboratory.Messages](req)
		for _, m := range list.Messages {
			if n := strconv.FormatInt(m.Number, 10); strings.HasPrefix(n, begun) {
				numbers = append(numbers, n)
			}
		}
		return err
	})
	return numbers, cobra.ShellCompDirectiveNoFileComp
}

// withServer runs fn with the server that the flags and the environment select. If the server does not
// answer in time, or refuses the request, there are no completions; errors are not shown while the user
// types.
func withServer(cmd *cobra.Command, fn func(ctx context.Context, c *cli.ClientCommandFlags) error) {
	if _, err := cli.ApplyVariables(cmd.Flags(), os.LookupEnv); err != nil {
		return
	}
	var c cli.ClientCommandFlags
	for name, to := range map[string]*string{"url": &c.URL, "key": &c.Key, "db": &c.Database,
		"container": &c.Container} {
		if f := cmd.Flags().Lookup(name); f != nil {
			*to = f.Value.String()
		}
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	if err := fn(ctx, &c); err != nil {
		cobra.CompDebugln(err.Error(), false)
	}
}

// firstArgument returns a completion function that completes a command's first argument with names, and
// offers nothing for later arguments.
func firstArgument(names cobra.CompletionFunc) cobra.CompletionFunc { return inOrder(names) }

// inOrder returns a completion function that completes the first argument by the first of the given
// functions, the second by the second one, and so on.
func inOrder(each ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(each) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return each[len(args)](cmd, args, begun)
	}
}

// namesIn returns those ids or names in a list of objects that begin with the text typed so far.
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
