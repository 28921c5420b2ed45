package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

// putFlags holds the flags of `mayfly put`, which stores one document.
type putFlags struct {
	cli.ClientCommandFlags
	create, replace bool
	ifMatch, file   string
}

func putCommand() *cobra.Command {
	var c putFlags
	cmd := &cobra.Command{
		Use:   "put [DOCUMENT]",
		Short: "Create or replace an item",
		Args:  cobra.MaximumNArgs(1),
		Long: "Create or replace an item, and print it as stored. DOCUMENT is JSON; if it is -, the " +
			"document is\n" +
			"read from the standard input.\n\n" +
			"Use import for many documents.",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.Register(flags)
	c.RegisterJSONAnyway(flags)
	flags.StringVar(&c.file, "file", "", "read the document from this file")
	flags.BoolVar(&c.create, "create", false, "fail if an item with this id exists")
	flags.BoolVar(&c.replace, "replace", false, "fail if no item with this id exists")
	flags.StringVar(&c.ifMatch, "if-match", "", "with --replace: fail if the item has another etag")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		if c.create && c.replace {
			return cli.Misuse("--create and --replace contradict each other")
		}
		if c.ifMatch != "" && !c.replace {
			return cli.Misuse("--if-match needs --replace")
		}
		in := cmd.InOrStdin()
		if len(args) > 0 && args[0] == "-" {
			typed := cli.Interruptible(cmd.Context(), in)
			defer typed.Close()
			in = typed
		}
		document, err := c.document(in, args)
		if err != nil {
			return err
		}
		req, err := c.request(cmd.Context(), document)
		if err != nil {
			return err
		}
		answer, err := cli.Ask[json.RawMessage](req)
		if err != nil {
			return err
		}
		if err := cli.PrintJSON(cmd.OutOrStdout(), answer); err != nil {
			return err
		}
		// without it the item is stored as well
		if definition, err := c.Definition(cmd.Context()); err == nil {
			hintMissing(cmd.ErrOrStderr(), definition, document)
		}
		return nil
	})
	return cmd
}

// hintMissing prints a hint if the stored document has no value for the partition key of the container.
// Cosmos DB stores such a document under the partition key value undefined.
func hintMissing(w io.Writer, definition cli.ContainerDefinition, document json.RawMessage) {
	if missing := definition.MissingPaths(document); len(missing) > 0 {
		fmt.Fprintf(w, "hint: the item has no %s, of which the partition key consists; it was stored under "+
			"an "+
			"undefined value\n", strings.Join(missing, " and no "))
	}
}

// document reads the document from the argument, a file or the standard input.
func (c *putFlags) document(stdin io.Reader, args []string) (document json.RawMessage, err error) {
	if (len(args) > 0) == (c.file != "") {
		return nil, cli.Misuse("give the document, - for the standard input, or --file")
	}
	where := "the document"
	switch {
	case c.file != "":
		f, err := os.Open(c.file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		stdin, where = f, c.file
	case args[0] != "-":
		document, stdin = json.RawMessage(args[0]), nil
	default:
		where = "the standard input"
	}
	if stdin != nil {
		if document, err = io.ReadAll(io.LimitReader(stdin, cli.MaxDocument+1)); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		if len(document) > cli.MaxDocument {
			return nil, fmt.Errorf("%s is longer than %d bytes", where, cli.MaxDocument)
		}
	}
	return document, cli.CheckJSON(where, document)
}

// request returns the request that writes the document. For a create or an upsert the partition key comes
// from the document; for a replace it must be given.
func (c *putFlags) request(ctx context.Context, document json.RawMessage) (*http.Request, error) {
	if !c.replace {
		req, err := c.Call(ctx, http.MethodPost, cli.ItemsPath, document)
		if err == nil && !c.create {
			req.Header.Set("X-Ms-Documentdb-Is-Upsert", "true")
		}
		return req, err
	}
	var named struct{ ID string }
	if err := json.Unmarshal(document, &named); err != nil || named.ID == "" {
		return nil, cli.Misuse("the document has no id")
	}
	c.Item = named.ID
	req, err := c.Call(ctx, http.MethodPut, cli.ItemPath, document)
	if err != nil {
		return nil, err
	}
	container, err := c.Definition(ctx)
	if err != nil {
		return nil, err
	}
	key, err := container.PartitionKeyOf(document)
	if err != nil {
		return nil, err
	}
	cli.SetPartitionKey(req, key)
	if c.ifMatch != "" {
		req.Header.Set("If-Match", c.ifMatch)
	}
	return req, nil
}
