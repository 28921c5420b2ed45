package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// exportPage is how many items an export asks for at once; the server ends a page earlier by its bytes.
const exportPage = "1000"

// exporter is one export command.
type exporter struct {
	serverCall
	to string
}

func exportCommand() *cobra.Command {
	var e exporter
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the items of a container or database of a running server as JSON lines",
		Args:  cobra.NoArgs,
		Long: "Write the items of a container of a running server as JSON lines, to the standard output or the file --to. Without --container all\n" +
			"containers of the database are written, each to a file CONTAINER.ndjson in the folder --to.\n\n" +
			"Items have their _ts, so that import gives them the age that they have. What is written meanwhile may be there or not.\n" +
			"A file gets its name when it is whole.",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	e.register(flags)
	flags.StringVar(&e.to, "to", "", "file, or folder for a database")
	cmd.RunE = runWithVariables(func(cmd *cobra.Command, _ []string) error {
		switch {
		case e.container == "":
			return e.whole(cmd.Context(), cmd.ErrOrStderr())
		case e.to == "":
			_, err := e.items(cmd.Context(), cmd.OutOrStdout())
			return err
		}
		return e.file(cmd.Context(), e.to, cmd.ErrOrStderr())
	})
	return cmd
}

// whole exports each container of the database.
func (e *exporter) whole(ctx context.Context, told io.Writer) error {
	if e.database == "" || e.to == "" {
		return &usageError{"give --db and --container, or --db and a folder --to for all containers"}
	}
	var names []string
	err := eachPage(func() (*http.Request, error) { return e.call(ctx, http.MethodGet, containersPath, nil) }, "DocumentCollections",
		func(rows []json.RawMessage, _ float64) error {
			for _, row := range rows {
				var a containerAnswer
				if err := json.Unmarshal(row, &a); err != nil {
					return err
				}
				names = append(names, a.ID)
			}
			return nil
		})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(e.to, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		e.container = name
		if err := e.file(ctx, filepath.Join(e.to, url.PathEscape(name)+".ndjson"), told); err != nil {
			return err
		}
	}
	return nil
}

// file exports the container to a file.
func (e *exporter) file(ctx context.Context, path string, told io.Writer) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	n, err := e.items(ctx, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	_, err = fmt.Fprintf(told, "%d items of %s in %s\n", n, e.container, path)
	return err
}

// items writes the items of the container and tells how many there were.
func (e *exporter) items(ctx context.Context, out io.Writer) (n int, err error) {
	buffered := bufio.NewWriter(out)
	lines := &lineWriter{out: buffered}
	err = eachPage(func() (*http.Request, error) {
		req, err := e.call(ctx, http.MethodGet, itemsPath, nil)
		if err == nil {
			req.Header.Set("X-Ms-Max-Item-Count", exportPage)
		}
		return req, err
	}, "Documents", func(rows []json.RawMessage, charge float64) error {
		n += len(rows)
		return lines.page(rows, charge)
	})
	return n, errors.Join(err, buffered.Flush())
}
