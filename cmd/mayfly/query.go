package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/cli"
)

// queryFlags holds the flags of a query: its container, its partition key, its parameters and the format of
// its rows.
type queryFlags struct {
	cli.ClientCommandFlags
	partitionKey string
	params       []string
	lines        bool
}

func queryCommand() *cobra.Command {
	var c queryFlags
	cmd := &cobra.Command{
		Use:   "query QUERY",
		Short: "Run a query and print its rows",
		Args:  cobra.ExactArgs(1),
		Long: "Run a query and print all its rows: as a table, with --json as a JSON array, or with " +
			"--ndjson as one\n" +
			"JSON value per line. The table omits the system properties (_rid, _self, _etag, " +
			"_attachments) and\n" +
			"shortens long values.\n\n" +
			"If QUERY is -, it is read from the standard input.\n\n" +
			"Without --partition-key the query covers the whole container, and the server merges the " +
			"results of\n" +
			"the partition ranges.",
	}
	c.registerQuery(cmd.Flags())
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		if err := c.checkQuery(); err != nil {
			return err
		}
		text, err := argumentOrInput(args[0], cmd.InOrStdin())
		if err != nil {
			return err
		}
		return c.run(cmd.Context(), text, cmd.OutOrStdout())
	})
	return cmd
}

// registerQuery adds the flags of a query: its container, its parameters and the format of its rows.
func (c *queryFlags) registerQuery(flags *pflag.FlagSet) {
	flags.SortFlags = false
	c.Register(flags)
	flags.StringVar(&c.partitionKey, "partition-key", "", `partition key as a JSON array: ["tenant-7"]`)
	c.registerParams(flags)
	flags.BoolVar(&c.JSON, "json", false, "print a JSON array")
	flags.BoolVar(&c.lines, "ndjson", false, "print one JSON value per line")
}

// registerParams adds the flag of a query's parameters.
func (c *queryFlags) registerParams(flags *pflag.FlagSet) {
	flags.StringArrayVar(&c.params, "param", nil,
		"parameter of the query, NAME=VALUE; the value is JSON, or else text; may be repeated")
}

// checkQuery returns a usage error if --json and --ndjson are both given, or if a --param is not NAME=VALUE.
func (c *queryFlags) checkQuery() error {
	if c.JSON && c.lines {
		return cli.Misuse("--json and --ndjson exclude each other")
	}
	for _, p := range c.params {
		if name, _, given := strings.Cut(p, "="); !given || strings.TrimPrefix(name, "@") == "" {
			return cli.Misuse("--param must be NAME=VALUE, not " + p)
		}
	}
	return nil
}

// argumentOrInput returns the argument, or the standard input for "-".
func argumentOrInput(argument string, stdin io.Reader) (string, error) {
	if argument != "-" {
		return argument, nil
	}
	text, err := io.ReadAll(io.LimitReader(stdin, cli.MaxDocument+1))
	if err != nil {
		return "", fmt.Errorf("the standard input: %w", err)
	}
	if len(text) > cli.MaxDocument {
		return "", fmt.Errorf("the standard input is longer than %d bytes", cli.MaxDocument)
	}
	return string(text), nil
}

// rowWriter prints the rows of a query, page by page.
type rowWriter interface {
	page(rows []json.RawMessage, charge float64) error
	end() error
}

func (c *queryFlags) run(ctx context.Context, text string, out io.Writer) error {
	var w rowWriter = newTableWriter(text, out)
	switch {
	case c.lines:
		w = &jsonLinesRowWriter{out: out}
	case c.JSON:
		w = &jsonArrayWriter{out: out}
	}
	_, err := c.pages(ctx, text, "", 0, func(rows []json.RawMessage, a cli.PageHeaders) (bool, error) {
		return true, w.page(rows, a.Charge)
	})
	if err != nil {
		return err
	}
	return w.end()
}

// pages reads pages of a query and passes each to fn, until fn returns more = false. It begins at a
// continuation token ("": at the first page); each page has at most most rows (0: the server's default). It
// returns the continuation token of the last page that it has read, or "" at the end of the query.
func (c *queryFlags) pages(ctx context.Context, text, continuation string, most int,
	fn func(rows []json.RawMessage, a cli.PageHeaders) (more bool, err error)) (last string, err error) {
	question := map[string]any{"query": text, "parameters": c.parameters()}
	key, err := cli.ParsePartitionKey(c.partitionKey)
	if err != nil {
		return "", err
	}
	err = cli.EachPage(continuation, func() (*http.Request, error) {
		req, err := c.Request(ctx, cli.ItemsPath, question)
		if err != nil {
			return nil, err
		}
		if most > 0 {
			req.Header.Set("X-Ms-Max-Item-Count", strconv.Itoa(most))
		}
		req.Header.Set("Content-Type", "application/query+json")
		req.Header.Set("X-Ms-Documentdb-Isquery", "true")
		if key != nil {
			cli.SetPartitionKey(req, key)
			return req, nil
		}
		req.Header.Set("X-Ms-Documentdb-Query-Enablecrosspartition", "true")
		req.Header.Set("X-Mayfly-Serve-Cross-Partition", "true")
		return req, nil
	}, "Documents", func(rows []json.RawMessage, a cli.PageHeaders) error {
		last = a.Continuation
		more, err := fn(rows, a)
		if err == nil && !more {
			err = errStopPaging
		}
		return err
	})
	if err == errStopPaging {
		err = nil
	}
	return last, err
}

// errStopPaging is returned by a function that receives pages, to stop reading. It is not a failure.
var errStopPaging = errors.New("enough")

// parameters returns the query parameters given by --param, in the form of Cosmos DB's requests. A value
// that is not JSON is a string. The @ before a name may be omitted.
func (c *queryFlags) parameters() []map[string]any {
	list := []map[string]any{}
	for _, p := range c.params {
		name, text, _ := strings.Cut(p, "=")
		value := any(text)
		if json.Valid([]byte(text)) {
			value = json.RawMessage(text)
		}
		list = append(list, map[string]any{"name": "@" + strings.TrimPrefix(name, "@"), "value": value})
	}
	return list
}

// jsonLinesRowWriter prints one row per line.
type jsonLinesRowWriter struct {
	out  io.Writer
	line bytes.Buffer
}

func (w *jsonLinesRowWriter) page(rows []json.RawMessage, _ float64) error {
	for _, row := range rows {
		w.line.Reset()
		if err := json.Compact(&w.line, row); err != nil {
			return err
		}
		w.line.WriteByte('\n')
		if _, err := w.out.Write(w.line.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func (w *jsonLinesRowWriter) end() error { return nil }

// jsonArrayWriter prints one JSON array.
type jsonArrayWriter struct {
	out   io.Writer
	count int
}

func (w *jsonArrayWriter) page(rows []json.RawMessage, _ float64) error {
	for _, row := range rows {
		between := ",\n  "
		if w.count == 0 {
			between = "[\n  "
		}
		w.count++
		if _, err := fmt.Fprintf(w.out, "%s%s", between, row); err != nil {
			return err
		}
	}
	return nil
}

func (w *jsonArrayWriter) end() error {
	text := "\n]\n"
	if w.count == 0 {
		text = "[]\n"
	}
	_, err := io.WriteString(w.out, text)
	return err
}
