package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/progress"
)

// Limits of one request of an import. A document that is larger than importBytes goes alone.
const (
	importDocuments = 100
	importBytes     = 1 << 20
)

// maxImportLine is the longest line of an import in bytes: a document may be 2 MB, and have blanks and system
// properties.
const maxImportLine = 8 << 20

// maxComplaints is how many refused lines an import tells of one by one.
const maxComplaints = 20

// importer is one import command.
type importer struct {
	serverCall
	create bool

	name     string // of the input, for messages
	out      io.Writer
	errs     io.Writer
	progress *progress.Bar

	line     int // of the input, the last that was read
	batch    []importLine
	size     int // of batch, in bytes
	imported int
	refused  int
}

// importLine is a document and where it came from.
type importLine struct {
	number int
	body   json.RawMessage
}

// importResult is what is read of the result of one document.
type importResult struct {
	Status  int    `json:"statusCode"`
	Message string `json:"message"`
}

// importFailure says that some documents were not taken.
type importFailure struct{ refused, imported int }

func (e *importFailure) Error() string {
	return fmt.Sprintf("%d documents were refused, %d were imported", e.refused, e.imported)
}

func importCommand() *cobra.Command {
	var i importer
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Store the documents of a file in a running server, with their age",
		Args:  cobra.ExactArgs(1),
		Long: "Store the documents of a file of JSON lines in a running server, or of the standard input for -.\n\n" +
			"A document is as old as its _ts says, which exported documents have, or as its member _mayfly, which goes before and is not stored:\n" +
			`{"timestamp": 1700000000}, {"age": "29d"} or {"expiresIn": "5m"}. Without either it is new.` +
			"\n\n" +
			"A document whose id exists replaces it, unless --create is given. One that has expired on arrival is stored, and is at\n" +
			"once what an expired item is that the reaper has not purged yet: no read sees it. The documents are taken in the order of their lines; one\n" +
			"that is refused is told of, and does not stop the others.",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	i.register(flags)
	registerResultJSON(flags, &i.json)
	flags.BoolVar(&i.create, "create", false, "refuse a document whose id exists instead of replacing that")
	cmd.RunE = runWithVariables(func(cmd *cobra.Command, args []string) error {
		i.name, i.out, i.errs = args[0], cmd.OutOrStdout(), cmd.ErrOrStderr()
		if i.name == "-" {
			i.name = "standard input"
			return i.run(cmd.Context(), cmd.InOrStdin(), -1)
		}
		f, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		size := int64(-1)
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
		return i.run(cmd.Context(), f, size)
	})
	return cmd
}

// run imports a stream of lines; size is how many bytes it has, -1 for nobody knows.
func (i *importer) run(ctx context.Context, in io.Reader, size int64) error {
	i.progress = progress.New(i.errs)
	defer i.progress.Stop()
	i.progress.Start("importing", int(size))
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxImportLine)
	for lines.Scan() {
		if err := ctx.Err(); err != nil {
			return i.ended(i.line+1, err)
		}
		i.line++
		body := bytes.TrimSpace(lines.Bytes())
		if len(body) == 0 {
			continue
		}
		if !json.Valid(body) {
			i.complain(i.line, "not JSON")
			continue
		}
		if i.size+len(body) > importBytes {
			if err := i.send(ctx); err != nil {
				return err
			}
		}
		i.batch = append(i.batch, importLine{i.line, bytes.Clone(body)})
		if i.size += len(body); len(i.batch) == importDocuments {
			if err := i.send(ctx); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: the line is longer than %d bytes", i.name, i.line+1, maxImportLine)
	} else if err != nil {
		return fmt.Errorf("%s: %w", i.name, err)
	}
	if err := i.send(ctx); err != nil {
		return err
	}
	i.progress.Stop()
	if i.refused == 0 || i.json {
		line := fmt.Sprintf("%d documents imported", i.imported)
		result := map[string]int{"imported": i.imported, "refused": i.refused}
		if err := printResult(i.out, i.json, line, result); err != nil {
			return err
		}
	}
	if i.refused > 0 {
		return &importFailure{i.refused, i.imported}
	}
	return nil
}

// send imports what has been gathered.
func (i *importer) send(ctx context.Context) error {
	if len(i.batch) == 0 {
		return nil
	}
	documents := make([]json.RawMessage, len(i.batch))
	for n, l := range i.batch {
		documents[n] = l.body
	}
	req, err := i.request(ctx, "_mayfly/dbs/{db}/colls/{coll}/import",
		map[string]any{"documents": documents, "create": i.create})
	if err != nil {
		return err
	}
	results, err := ask[[]importResult](req)
	if err == nil && len(results) != len(documents) {
		err = fmt.Errorf("%s answers with %d results for %d documents", req.URL, len(results), len(documents))
	}
	if err != nil {
		return i.ended(i.batch[0].number, err)
	}
	for n, r := range results {
		if r.Status/100 == 2 {
			i.imported++
		} else {
			i.complain(i.batch[n].number, fmt.Sprintf("%d %s", r.Status, r.Message))
		}
	}
	i.progress.Step(i.size + len(i.batch))
	i.batch, i.size = i.batch[:0], 0
	return nil
}

// ended tells how far an import has come that ends at a line.
func (i *importer) ended(line int, why error) error {
	return fmt.Errorf("%s:%d: %w (%d documents were imported before)", i.name, line, why, i.imported)
}

// complain tells of a line that was refused. After many it only counts.
func (i *importer) complain(line int, why string) {
	i.refused++
	switch {
	case i.refused <= maxComplaints:
		fmt.Fprintf(i.errs, "%s:%d: %s\n", i.name, line, why)
	case i.refused == maxComplaints+1:
		fmt.Fprintln(i.errs, "more lines were refused")
	}
}
