package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/laboratory"
	"github.com/mayflydb/mayfly/internal/requestlog"
)

const requestsPath = "_mayfly/requests"

// requestsPoll is how long one request waits for new log entries, in seconds. It is short because the server
// may be stopped during the wait.
const requestsPoll = 30

// requestLogFlags holds the flags of `mayfly requests`, which shows the server's log of requests.
type requestLogFlags struct {
	cli.ClientCommandFlags
	protocol, method, entity, status, text, since string
	substatus, limit                              int
	least                                         time.Duration
	explorer, follow, clear                       bool
	har                                           string
}

func requestsCommand() *cobra.Command {
	var c requestLogFlags
	cmd := &cobra.Command{
		Use:   "requests [ID]",
		Short: "Show the latest requests and responses",
		Args:  cobra.MaximumNArgs(1),
		Long: "Show the latest requests to a server, over HTTP, in direct mode and over AMQP, with " +
			"their status,\n" +
			"duration and charge. A line is an operation: ×3 means three attempts. With an ID, the " +
			"command shows\n" +
			"the headers and bodies of that request. The server keeps requests in memory only, and " +
			"masks keys,\n" +
			"tokens and signatures.",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.RegisterServer(flags)
	c.RegisterJSON(flags)
	flags.BoolVar(&c.follow, "follow", false, "continue with new requests until interrupted")
	flags.StringVar(&c.status, "status", "", "a status (429), a class of them (4xx), or failed")
	flags.StringVar(&c.Database, "db", "", "database (default any)")
	flags.StringVar(&c.Container, "container", "", "container (default any)")
	flags.StringVar(&c.entity, "entity", "", "queue, topic or subscription (default any)")
	flags.StringVar(&c.protocol, "protocol", "", "http, direct or amqp (default any)")
	flags.StringVar(&c.method, "method", "",
		"method of HTTP, or attach, transfer, disposition, management (default any)")
	flags.IntVar(&c.substatus, "substatus", 0, "substatus (default any)")
	cli.DurationFlag(flags, &c.least, "took", 0, "minimum duration (default any)")
	flags.StringVar(&c.text, "text", "",
		"text in the path, the names, the ids, the client or the request's body")
	flags.StringVar(&c.since, "since", "",
		"earliest start, in real time: a time (2027-03-01T12:00:00Z) or a duration before now (5m)")
	flags.IntVar(&c.limit, "limit", 100, "maximal number; the latest ones are shown")
	flags.BoolVar(&c.explorer, "explorer", false, "include requests of the explorer")
	flags.StringVar(&c.har, "har", "", "write an HTTP archive to this file, or to the standard output for "+
		"-; it has no AMQP operations")
	flags.BoolVar(&c.clear, "clear", false, "remove all requests from the log")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) })
	return cmd
}

func (c *requestLogFlags) run(cmd *cobra.Command, args []string) error {
	modes := 0
	for _, on := range []bool{len(args) > 0, c.follow, c.har != "", c.clear} {
		if on {
			modes++
		}
	}
	switch {
	case modes > 1:
		return cli.Misuse("an ID, --follow, --har and --clear exclude each other")
	case c.har != "" && c.protocol == requestlog.AMQP.String():
		return cli.Misuse("--har with --protocol amqp: an HTTP archive cannot contain AMQP operations")
	case len(args) > 0:
		return c.show(cmd, args[0])
	case c.clear:
		return sendAndPrint(cmd, &c.ClientCommandFlags, http.MethodDelete, requestsPath, nil,
			func(out io.Writer, _ struct{}) error {
				_, err := fmt.Fprintln(out, "the log of requests is empty now")
				return err
			})
	case c.har != "":
		return c.archive(cmd)
	case c.follow:
		return c.followAll(cmd)
	}
	return sendAndPrint(cmd, &c.ClientCommandFlags, http.MethodGet, requestsPath+"?"+c.query().Encode(), nil,
		func(out io.Writer, page laboratory.LoggedRequests) error {
			return (&requestTableWriter{out: out}).print(lastAttempts(page.Requests))
		})
}

// query returns the URL parameters that select entries of the log.
func (c *requestLogFlags) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"status": c.status, "entity": c.entity, "protocol": c.protocol,
		"method": c.method, "text": c.text, "since": c.since} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, n := range map[string]int64{"substatus": int64(c.substatus), "minMs": c.least.Milliseconds(),
		"limit": int64(c.limit)} {
		if n != 0 {
			q.Set(name, strconv.FormatInt(n, 10))
		}
	}
	if container := c.Container; container != "" {
		if c.Database != "" {
			container = c.Database + "/" + container
		}
		q.Set("container", container)
	} else if c.Database != "" {
		q.Set("database", c.Database)
	}
	if c.explorer {
		q.Set("explorer", "true")
	}
	return q
}

// followAll prints requests as they arrive.
func (c *requestLogFlags) followAll(cmd *cobra.Command) error {
	t := &requestTableWriter{out: cmd.OutOrStdout()}
	for q := c.query(); ; q.Set("wait", strconv.Itoa(requestsPoll)) {
		page, err := c.page(cmd.Context(), q)
		if err != nil && errors.Is(err, context.Canceled) {
			return nil // an interruption by the user is not an error
		}
		if err != nil {
			return err
		}
		if page.Lost {
			fmt.Fprintln(cmd.ErrOrStderr(), "some requests came faster than they could be shown")
		}
		if err := c.printNew(t, page.Requests); err != nil {
			return err
		}
		q.Set("after", strconv.FormatUint(max(page.Position, 1), 10))
	}
}

// printNew prints new requests. With --json it prints one object per line.
func (c *requestLogFlags) printNew(t *requestTableWriter, list []laboratory.LoggedRequest) error {
	if !c.JSON {
		return t.print(list)
	}
	for i := range list {
		text, err := json.Marshal(&list[i])
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(t.out, string(text)); err != nil {
			return err
		}
	}
	return nil
}

func (c *requestLogFlags) page(ctx context.Context,
	q url.Values) (page laboratory.LoggedRequests, err error) {
	req, err := c.Call(ctx, http.MethodGet, requestsPath+"?"+q.Encode(), nil)
	if err != nil {
		return page, err
	}
	return cli.Ask[laboratory.LoggedRequests](req)
}

// archive writes the requests as an HTTP archive (HAR).
func (c *requestLogFlags) archive(cmd *cobra.Command) error {
	req, err := c.Call(cmd.Context(), http.MethodGet, requestsPath+".har?"+c.query().Encode(), nil)
	if err != nil {
		return err
	}
	text, err := cli.Ask[json.RawMessage](req)
	if err != nil {
		return err
	}
	if c.har == "-" {
		_, err := cmd.OutOrStdout().Write(append(text, '\n'))
		return err
	}
	if err := os.WriteFile(c.har, text, 0o600); err != nil { // it contains documents
		return err
	}
	var archive laboratory.HARFile
	if err := json.Unmarshal(text, &archive); err != nil {
		return &cli.UnexpectedResponseError{URL: req.URL, Err: err}
	}
	n := len(archive.Log.Entries)
	return cli.PrintResult(cmd.OutOrStdout(), c.JSON, "wrote "+cli.Plural(n, "request",
		"requests")+" to "+c.har,
		map[string]any{"file": c.har, "requests": n})
}

// show prints a request with its headers and bodies.
func (c *requestLogFlags) show(cmd *cobra.Command, id string) error {
	c.Item = id
	return sendAndPrint(cmd, &c.ClientCommandFlags, http.MethodGet, requestsPath+"/{id}", nil, printRequest)
}
