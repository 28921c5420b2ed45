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
func faultsCall(c *cli.ClientCommandFlags, cmd *cobra.Command,
	do func(cmd *cobra.Command, args []string) error) *cobra.Command {
	flags := cmd.Flags()
	flags.SortFlags = false
	c.RegisterServer(flags)
	c.RegisterJSON(flags)
	cmd.RunE = cli.RunWithVariables(do)
	return cmd
}

func faultsListCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	return faultsCall(&c, &cobra.Command{Use: "list", Short: "List the faults, with their numbers of hits",
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
	var c cli.ClientCommandFlags
	var f faultFlags
	cmd := faultsCall(&c, &cobra.Command{
		Use:   "add FAULT",
		Short: "Add a fault",
		Args:  cobra.ExactArgs(1),
		Long: "Make operations fail. FAULT is one of these:\n\n" +
			"  429, 449, 410, 503, 408  respond with this status of Cosmos DB; for documents\n" +
			"  drop                     close the connection\n" +
			"  latency                  delay the operation by --latency\n" +
			"  lockLost                 the lock of the message is lost; for messages\n" +
			"  detach                   detach the link; for messages\n\n" +
			"The operations are:\n\n  " +
			strings.Join(inject.OperationNames(), ", ") + "\n\n" +
			"Without --operation, the fault applies to all of them except queryPlan and metadata.",
	}, func(cmd *cobra.Command, args []string) error {
		if args[0] == "latency" && f.latency == 0 {
			return cli.Misuse("the fault latency requires a duration: --latency 200ms")
		}
		return sendAndPrint(cmd, &c, http.MethodPost, faultsPath, f.requestBody(args[0], &c),
			func(out io.Writer, made laboratory.FaultRule) error {
				return printFaults(out, []laboratory.FaultRule{made})
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
	flags.Int64Var(&f.count, "count", 0, "end the fault after this number of hits (default never)")
	cli.DurationFlag(flags, &f.life, "for", 0,
		"end the fault after this time of the data clock (default never)")
	flags.BoolVar(&f.after, "after", false,
		"execute the operation before the fault: the client does not get its result")
	cli.DurationFlag(flags, &f.latency, "latency", 0,
		"delay of the operation, in addition to the fault")
	cli.DurationFlag(flags, &f.retry, "retry-after", 0,
		"time after which a 429 tells the client to retry (default 100ms)")
	flags.IntVar(&f.substatus, "substatus", 0,
		"substatus of the response (default 3200 for 429, 1002 for 410)")
	return cmd
}

// requestBody returns the body of a request that creates a rule for a fault, as the flags describe it.
func (f *faultFlags) requestBody(fault string, c *cli.ClientCommandFlags) map[string]any {
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
	var c cli.ClientCommandFlags
	return faultsCall(&c, &cobra.Command{Use: "delete ID", Short: "Delete a fault", Args: cobra.ExactArgs(1)},
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
	var c cli.ClientCommandFlags
	return faultsCall(&c, &cobra.Command{Use: "clear", Short: "Delete all faults", Args: cobra.NoArgs},
		func(cmd *cobra.Command, _ []string) error {
			return sendAndPrint(cmd, &c, http.MethodDelete, faultsPath, nil, func(out io.Writer,
				_ struct{}) error {
				_, err := fmt.Fprintln(out, "there are no faults any more")
				return err
			})
		})
}

// printFaults prints the fault rules of a server, which make operations fail, as text.
func printFaults(out io.Writer, list []laboratory.FaultRule) error {
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
