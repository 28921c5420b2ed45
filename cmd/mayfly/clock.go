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

// clockFlags holds the flags of `mayfly clock`, which shows or changes the clock of a running server.
type clockFlags struct {
	cli.ClientCommandFlags
	set, advance                         string
	rate                                 float64
	freeze, resume, real, follow, settle bool
}

// clockResponse is a server's response that describes a clock.
type clockResponse struct {
	Now     time.Time `json:"now"`
	Frozen  bool      `json:"frozen"`
	Rate    float64   `json:"rate"`
	Virtual bool      `json:"virtual"`
	Own     *bool     `json:"own"` // set only for the clock of a database
}

func clockCommand() *cobra.Command {
	var c clockFlags
	cmd := &cobra.Command{
		Use:   "clock",
		Short: "Show or move the clock of a server or of one database",
		Args:  cobra.NoArgs,
		Long: "Show or move the clock of a server or, with --db, of one database. A database whose " +
			"clock is\n" +
			"moved has a clock of its own from then on.\n\n" +
			"Clocks can be moved if the server was started with --virtual-clock. A clock can be set " +
			"back, but\n" +
			"not behind stored data or an expiry. Flags are applied in the order of this list.",
	}
	c.register(cmd.Flags())
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		method, question, err := c.request(cmd.Flags())
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
		return cli.Show(cmd, &c.ClientCommandFlags, req, printClock)
	})
	return cmd
}

func (c *clockFlags) register(flags *pflag.FlagSet) {
	flags.SortFlags = false
	c.RegisterServer(flags)
	c.RegisterJSON(flags)
	flags.StringVar(&c.Database, "db", "", "database with the clock (default the server's clock)")
	flags.BoolVar(&c.follow, "follow", false, "let the database follow the server's clock again")
	flags.BoolVar(&c.real, "real", false, "return to the system's time")
	flags.StringVar(&c.set, "set", "", "set the time: RFC 3339, or seconds since 1970")
	flags.StringVar(&c.advance, "advance", "", "advance by a duration: 90s, 1h30m, 29d")
	flags.Float64Var(&c.rate, "rate", 1, "speed relative to the system's clock; 0 stops the clock")
	flags.BoolVar(&c.freeze, "freeze", false, "stop the clock")
	flags.BoolVar(&c.resume, "resume", false, "let a stopped clock run again")
	flags.BoolVar(&c.settle, "settle", false, "then wait until all expired items are purged")
}

// request returns the method and the body of the HTTP request that makes the change given by the flags. If
// the flags give no change, it returns a request that only reads the clock.
func (c *clockFlags) request(flags *pflag.FlagSet) (method string, body any, err error) {
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
		return "", nil, cli.Misuse("--follow needs --db and cannot be combined with other changes")
	case c.follow:
		return http.MethodDelete, nil, nil
	case len(change) > 0:
		return http.MethodPut, change, nil
	case c.settle:
		return "", nil, cli.Misuse("--settle needs a change of the clock")
	}
	return http.MethodGet, nil, nil
}

func printClock(w io.Writer, a clockResponse) error {
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
