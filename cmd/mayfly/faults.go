package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/laboratory"
)

const faultsPath = "_mayfly/faults"

func faultsCommand() *cobra.Command {
	return cli.ParentCommand(&cobra.Command{
		Use:   "faults",
		Short: "Make operations fail on demand",
		Long: "Make operations of a server fail on demand, to test how a program handles it. With the " +
			"same\n" +
			"--random-seed, the same operations in the same order meet the same faults.",
	}, faultsListCommand(), faultsAddCommand(), faultsDeleteCommand(), faultsClearCommand())
}

// faultsCall completes the command cmd about the fault rules of a server, which make operations fail: it
// adds the flags for the server and --json, and makes the command run do.
func faultsCall(c *cli.ServerCall, cmd *cobra.Command,
	do func(cmd *cobra.Command, args []string) error) *cobra.Command {
	flags := cmd.Flags()
	flags.SortFlags = false
	c.RegisterServer(flags)
	c.RegisterJSON(flags)
	cmd.RunE = cli.RunWithVariables(do)
	return cmd
}

func faultsListCommand() *cobra.Command {
	var c cli.ServerCall
	return faultsCall(&c, &cobra.Command{Use: "list", Short: "List the faults, with what they have done",
		Args: cobra.NoArgs},
		func(cmd *cobra.Command, _ []string) error {
			return sendAndPrint(cmd, &c, http.MethodGet, faultsPath, nil,
				func(out io.Writer, list laboratory.Faults) error { return printFaults(out, list.Faults) })
		})
}

// faultFlags holds the flags that define a fault rule.
type faultFlags struct {
	operations        []string
	entity            string
	share             float64
	seed, skip, count int64
	life              time.Duration
	after             bool
	latency, retry    time.Duration
	substatus         int
}

func faultsAddCommand() *cobra.Command {
	var c cli.ServerCall
	var f faultFlags
	cmd := faultsCall(&c, &cobra.Command{
		Use:   "add FAULT",
		Short: "Add a fault",
		Args:  cobra.ExactArgs(1),
		Long: "Let operations fail: with a status of Cosmos DB's (429, 449, 410, 503, 408), by a\n" +
			"connection that is dropped (drop), by time that passes (latency), by a lock that is\n" +
			"lost (lockLost) or a link that is detached (detach). A status is for documents;\n" +
			"lockLost and detach are for messages. The operations are:\n\n  " +
			strings.Join(inject.OperationNames(), ", ") + "\n\n" +
			"Without --operation it is all of them but queryPlan and metadata.",
	}, func(cmd *cobra.Command, args []string) error {
		if args[0] == "latency" && f.latency == 0 {
			return cli.Misuse("a latency has a length: --latency 200ms")
		}
		return sendAndPrint(cmd, &c, http.MethodPost, faultsPath, f.requestBody(args[0], &c),
			func(out io.Writer, made laboratory.Fault) error {
				return printFaults(out, []laboratory.Fault{made})
			})
	})
	flags := cmd.Flags()
	flags.StringSliceVar(&f.operations, "operation", nil, "affected operation; may be repeated")
	flags.StringVar(&c.Database, "db", "", "database of the documents (default any)")
	flags.StringVar(&c.Container, "container", "", "container of the documents (default any)")
	flags.StringVar(&f.entity, "entity", "", "queue, topic or subscription of the messages (default any)")
	flags.Float64Var(&f.share, "share", 1, "share of the operations, above 0 and up to 1")
	// The flag is not called seed: MAYFLY_SEED is the variable of serve's --seed.
	flags.Int64Var(&f.seed, "random-seed", 0, "seed of the random choice by --share")
	flags.Int64Var(&f.skip, "skip", 0, "number of operations to skip first")
	flags.Int64Var(&f.count, "count", 0, "remove the fault after this number of hits (default never)")
	cli.DurationFlag(flags, &f.life, "for", 0,
		"it ends after this time of the data's clock (default never)")
	flags.BoolVar(&f.after, "after", false,
		"the operation is carried out first: the client does not learn what became of it")
	cli.DurationFlag(flags, &f.latency, "latency", 0,
		"how long the operation is held up, whatever else happens to it")
	cli.DurationFlag(flags, &f.retry, "retry-after", 0, "when a 429 tells to come again (default 100ms)")
	flags.IntVar(&f.substatus, "substatus", 0,
		"substatus of the answer (default 3200 for 429, 1002 for 410)")
	return cmd
}

// requestBody returns the body of a request that creates a rule for a fault, as the flags describe it.
func (f *faultFlags) requestBody(fault string, c *cli.ServerCall) map[string]any {
	q := map[string]any{"fault": fault, "share": f.share, "seed": f.seed, "skip": f.skip, "count": f.count,
		"latencyMs": f.latency.Milliseconds(), "retryAfterMs": f.retry.Milliseconds(),
		"substatus": f.substatus, "database": c.Database, "container": c.Container, "entity": f.entity,
		"operations": f.operations}
	if f.operations == nil {
		delete(q, "operations")
	}
	if f.life != 0 {
		q["for"] = f.life.String()
	}
	if f.after {
		q["when"] = "after"
	}
	return q
}

func faultsDeleteCommand() *cobra.Command {
	var c cli.ServerCall
	return faultsCall(&c, &cobra.Command{Use: "delete ID", Short: "End a fault", Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, args []string) error {
			c.Item = args[0]
			return sendAndPrint(cmd, &c, http.MethodDelete, faultsPath+"/{id}", nil,
				func(out io.Writer, _ struct{}) error {
					_, err := fmt.Fprintf(out, "fault %s has ended\n", args[0])
					return err
				})
		})
}

func faultsClearCommand() *cobra.Command {
	var c cli.ServerCall
	return faultsCall(&c, &cobra.Command{Use: "clear", Short: "End all faults", Args: cobra.NoArgs},
		func(cmd *cobra.Command, _ []string) error {
			return sendAndPrint(cmd, &c, http.MethodDelete, faultsPath, nil, func(out io.Writer,
				_ struct{}) error {
				_, err := fmt.Fprintln(out, "there are no faults any more")
				return err
			})
		})
}

// printFaults prints the fault rules of a server, which make operations fail, as text.
func printFaults(out io.Writer, list []laboratory.Fault) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "id\tfault\toperations\tof\tshare\twhen\tuntil\tseen\thits\tended")
	for _, f := range list {
		of, until := f.Entity, f.Until
		if f.Database != "" {
			of = strings.TrimSuffix(f.Database+"/"+f.Container, "/")
		}
		if f.Count > 0 {
			until = strings.TrimPrefix(until+" or "+strconv.FormatInt(f.Count, 10)+" hits", " or ")
		}
		what := f.Fault
		if f.LatencyMs > 0 {
			what += fmt.Sprintf(" +%d ms", f.LatencyMs)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%v\t%s\t%s\t%d\t%d\t%t\n", f.ID, what,
			orAll(strings.Join(f.Operations, ",")), orAll(of), f.Share, f.When, orDeleted(until),
			f.Seen, f.Hits, f.Ended)
	}
	return w.Flush()
}

func orAll(text string) string {
	if text == "" {
		return "all"
	}
	return text
}

func orDeleted(text string) string {
	if text == "" {
		return "deleted"
	}
	return text
}
