package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/laboratory"
)

const reaperPath = "_mayfly/dbs/{db}/colls/{coll}/reaper"

func reaperCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	cmd := &cobra.Command{
		Use:   "reaper [pause|resume|run|step [ITEMS]|set JSON]",
		Short: "Show or control the purge of expired items",
		Args:  cobra.MaximumNArgs(2),
		Long: "Show or control how a server purges the expired items of a container. Expired items are " +
			"invisible\n" +
			"to readers whether or not they are purged, so this only serves to test what depends on " +
			"purges.\n\n" +
			"  pause, resume   stop and resume purges; without --db and --container in all containers\n" +
			"  run             purge all expired items, even if paused; without --db and --container in " +
			"all containers\n" +
			"  step [ITEMS]    purge one item, or the given number\n" +
			"  set JSON        \"delay\": {\"seconds\": 30}                  purge items that long " +
			"after they expire\n" +
			"                  \"delay\": {\"min\": 5, \"max\": 60, \"seed\": 1}  a random delay, the " +
			"same for the same seed\n" +
			"                  \"starved\": {\"perSecond\": 5}               purge at most that many " +
			"items per second\n" +
			"                  \"starved\": {\"perSecond\": 0}               purge only while the " +
			"server serves no request\n" +
			"                  null removes either",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.Register(flags)
	c.RegisterJSON(flags)
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		o, err := parseReaperArgs(args, c.Database == "" && c.Container == "")
		if err != nil {
			return err
		}
		req, err := c.Call(cmd.Context(), o.method, o.path, o.body)
		if err != nil {
			return err
		}
		return cli.Show(cmd, &c, req,
			func(out io.Writer, answer json.RawMessage) error { return printReaper(out, o, answer) })
	})
	return cmd
}

// reaperCommandRequest is the HTTP request that `mayfly reaper` sends.
type reaperCommandRequest struct {
	method, path string
	body         any  // nil: no body
	purges       bool // the response contains the number of purged items
	all          bool // it applies to all containers
}

func parseReaperArgs(args []string, all bool) (reaperCommandRequest, error) {
	verb, rest := "", args
	if len(args) > 0 {
		verb, rest = args[0], args[1:]
	}
	path := reaperPath
	if all && (verb == "" || verb == "pause" || verb == "resume" || verb == "run") {
		path = "_mayfly/reaper"
	} else {
		all = false
	}
	switch {
	case verb == "" || (verb == "pause" || verb == "resume" || verb == "run") && len(rest) > 0:
	case verb == "pause" || verb == "resume":
		return reaperCommandRequest{http.MethodPut, path, map[string]bool{"paused": verb == "pause"}, false,
			all}, nil
	case verb == "run":
		return reaperCommandRequest{http.MethodPost, path + "/run", nil, true, all}, nil
	case verb == "step" && len(rest) == 0:
		return reaperCommandRequest{http.MethodPost, path + "/step", map[string]int{"items": 1}, true,
			false}, nil
	case verb == "step":
		n, err := strconv.Atoi(rest[0])
		if err != nil || n < 1 {
			return reaperCommandRequest{}, cli.Misuse("how many items to purge must be a number above 0, not " +
				rest[0])
		}
		return reaperCommandRequest{http.MethodPost, path + "/step", map[string]int{"items": n}, true,
			false}, nil
	case verb == "set" && len(rest) == 1:
		if !json.Valid([]byte(rest[0])) {
			return reaperCommandRequest{}, cli.Misuse("this is not JSON: " + rest[0])
		}
		return reaperCommandRequest{http.MethodPut, path, json.RawMessage(rest[0]), false, false}, nil
	}
	if verb == "" {
		return reaperCommandRequest{http.MethodGet, path, nil, false, all}, nil
	}
	return reaperCommandRequest{}, cli.Misuse("the reaper takes: pause, resume, run, step [ITEMS], set JSON")
}

// printReaper prints the server's response to the request of `mayfly reaper` as text.
func printReaper(out io.Writer, o reaperCommandRequest, answer json.RawMessage) error {
	if o.purges {
		var p laboratory.PurgeItemsResult
		if err := json.Unmarshal(answer, &p); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "%d purged\n", p.Purged)
		return err
	}
	var s laboratory.ReaperState
	if err := json.Unmarshal(answer, &s); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if o.all {
		fmt.Fprintf(w, "paused everywhere\t%t\n", s.Paused)
		return w.Flush()
	}
	fmt.Fprintf(w, "paused\t%t\n", s.Paused)
	fmt.Fprintf(w, "paused everywhere\t%t\n", s.AllPaused)
	switch d := s.Delay; {
	case d == nil:
	case d.Seconds > 0:
		fmt.Fprintf(w, "delay\t%d s\n", d.Seconds)
	default:
		fmt.Fprintf(w, "delay\t%d to %d s, seed %d\n", d.Min, d.Max, d.Seed)
	}
	switch {
	case s.Starved == nil:
	case s.Starved.PerSecond > 0:
		fmt.Fprintf(w, "starved\t%d a second\n", s.Starved.PerSecond)
	default:
		fmt.Fprintf(w, "starved\twhile requests are being served\n")
	}
	fmt.Fprintf(w, "purged\t%d\n", s.Purged)
	fmt.Fprintf(w, "backlog\t%d\n", s.Backlog)
	if s.Backlog > 0 {
		fmt.Fprintf(w, "oldest\t%d s\n", s.Oldest)
	}
	return w.Flush()
}
