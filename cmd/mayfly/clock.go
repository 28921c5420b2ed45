package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/cli"
)

// clockCall is the request of a clock command.
type clockCall struct {
	cli.ServerCall
	set, advance                         string
	rate                                 float64
	freeze, resume, real, follow, settle bool
}

// clockAnswer is a server's description of a clock.
type clockAnswer struct {
	Now     time.Time `json:"now"`
	Frozen  bool      `json:"frozen"`
	Rate    float64   `json:"rate"`
	Virtual bool      `json:"virtual"`
	Own     *bool     `json:"own"` // only for a database's clock
}

func clockCommand() *cobra.Command {
	var c clockCall
	cmd := &cobra.Command{
		Use:   "clock",
		Short: "Show or move the clock of a running server, or of one of its databases",
		Args:  cobra.NoArgs,
		Long: "Show or move the clock of a running server, or with --db that of one of its databases, which then has a clock of its own.\n\n" +
			"A server lets its clock be moved where it was started with --virtual-clock. A clock can be set back to a moment that is\n" +
			"not behind anything stored, nor behind an expiry. Flags apply in the order of this list.",
	}
	c.register(cmd.Flags())
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		method, question, err := c.question(cmd.Flags())
		if err != nil {
			return err
		}
		path := "_mayfly/clock"
		if c.Database != "" {
			path = "_mayfly/dbs/{db}/clock"
		}
		if c.settle {
			path += "?settle=true"
		}
		req, err := c.Call(cmd.Context(), method, path, question)
		if err != nil {
			return err
		}
		return cli.Show(cmd, &c.ServerCall, req, printClock)
	})
	return cmd
}

func (c *clockCall) register(flags *pflag.FlagSet) {
	flags.SortFlags = false
	c.RegisterServer(flags)
	c.RegisterJSON(flags)
	flags.StringVar(&c.Database, "db", "", "database whose clock is meant (default the server's)")
	flags.BoolVar(&c.follow, "follow", false, "let the database follow the server's clock again")
	flags.BoolVar(&c.real, "real", false, "go back to the system's time")
	flags.StringVar(&c.set, "set", "", "go to a moment: RFC 3339, or seconds since 1970")
	flags.StringVar(&c.advance, "advance", "", "go on by a duration: 90s, 1h30m, 29d")
	flags.Float64Var(&c.rate, "rate", 1, "run at this many times the speed of the system's clock; 0 stops it")
	flags.BoolVar(&c.freeze, "freeze", false, "stop")
	flags.BoolVar(&c.resume, "resume", false, "run on from where it stands")
	flags.BoolVar(&c.settle, "settle", false, "wait until all that has expired by then is purged")
}

// question returns the request. Without a change it just reads the clock.
func (c *clockCall) question(flags *pflag.FlagSet) (method string, body any, err error) {
	change := map[string]any{}
	if c.real {
		change["real"] = true
	}
	if c.set != "" {
		change["set"] = c.set
		if n, err := strconv.ParseInt(c.set, 10, 64); err == nil {
			change["set"] = n
		}
	}
	if c.advance != "" {
		change["advance"] = c.advance
	}
	if flags.Changed("rate") {
		change["rate"] = c.rate
	}
	if c.freeze && c.resume {
		return "", nil, cli.Misuse("--freeze and --resume contradict each other")
	}
	if c.freeze || c.resume {
		change["freeze"] = c.freeze
	}
	switch {
	case c.follow && (c.Database == "" || len(change) > 0):
		return "", nil, cli.Misuse("--follow is for a --db, and goes with no other change")
	case c.follow:
		return http.MethodDelete, nil, nil
	case len(change) > 0:
		return http.MethodPut, change, nil
	case c.settle:
		return "", nil, cli.Misuse("--settle goes with a change of the clock")
	}
	return http.MethodGet, nil, nil
}

func printClock(w io.Writer, a clockAnswer) error {
	how := fmt.Sprintf("rate %g", a.Rate)
	if a.Frozen {
		how = "frozen"
	}
	switch {
	case !a.Virtual:
		how = "the system's clock"
	case a.Own != nil && *a.Own:
		how += ", the database's own"
	case a.Own != nil:
		how += ", the server's"
	}
	_, err := fmt.Fprintf(w, "%s  %s\n", a.Now.UTC().Format(time.RFC3339Nano), how)
	return err
}
