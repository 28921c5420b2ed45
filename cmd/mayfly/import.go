package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

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
	create, resume bool
	format         string
	text           []string

	path     string // of the file; empty: it is none that notes can lie beside
	name     string // of the input, for messages
	out      io.Writer
	errs     io.Writer
	progress *progress.Bar
	in       *counted

	read     int // documents so far
	skip     int // of them, those that an import before this one has taken
	size     int64
	batch    []importLine
	bytes    int // of batch
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
		Long: "Store the documents of a file in a running server, or of the standard input for -. A file has a JSON\n" +
			"value a line, is one JSON array, or CSV; it may be compressed by gzip or zstd. What it is, its name and\n" +
			"its first bytes tell. The first row of CSV names the members: a.b is a member of a member. A cell that\n" +
			"is a JSON number, true, false, null, an array or an object is that value; other cells are strings, and\n" +
			"those of the columns --text in any case. An empty cell is no member.\n\n" +
			"A document is as old as its _ts says, which exported documents have, or as its member _mayfly, which\n" +
			"goes before and is not stored: " +
			`{"timestamp": 1700000000}, {"age": "29d"} or {"expiresIn": "5m"}` +
			".\nWithout either it is new.\n\n" +
			"A document whose id exists replaces it, unless --create is given. One that has expired on arrival is\n" +
			"stored, and is at once what an expired item is that the reaper has not purged yet: no read sees it.\n" +
			"The documents are taken in their order; one that is refused is told of, and does not stop the others.\n\n" +
			"While a file is imported, FILE.imported tells how far that is. An import that has stopped, or was\n" +
			"killed, goes on there with --continue: nothing is lost, and nothing is there twice.",
		Example: "  mayfly import carts.ndjson.zst --db shop --container carts\n" +
			"  mayfly import carts.csv --text zip,phone --db shop --container carts",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	i.register(flags)
	registerResultJSON(flags, &i.json)
	flags.BoolVar(&i.create, "create", false, "refuse a document whose id exists instead of replacing that")
	flags.BoolVar(&i.resume, "continue", false,
		"go on with an import of the same file that has not come to its end")
	flags.StringVar(&i.format, "format", "auto", "auto, ndjson, json (an array) or csv")
	flags.StringSliceVar(&i.text, "text", nil, "columns of CSV that are strings, whatever they hold")
	cmd.RunE = runWithVariables(func(cmd *cobra.Command, args []string) error {
		i.name, i.out, i.errs = args[0], cmd.OutOrStdout(), cmd.ErrOrStderr()
		if !slices.Contains(importFormats, i.format) {
			return &usageError{"--format is one of " + strings.Join(importFormats, ", ")}
		}
		if i.name == "-" {
			if i.resume {
				return &usageError{"--continue goes with a file: what has come from the standard input is gone"}
			}
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
			size, i.path = info.Size(), args[0]
		}
		return i.run(cmd.Context(), f, size)
	})
	return cmd
}

// begin reads how far an import before this one has come, where this one goes on with it.
func (i *importer) begin() error {
	if !i.resume || i.path == "" {
		return nil
	}
	state, err := readImportState(i.path)
	if err != nil || state.Documents == 0 {
		return err
	}
	if now := (importState{URL: i.url, Container: i.database + "/" + i.container,
		Size: i.size}); state.URL != now.URL ||
		state.Container != now.Container || state.Size != now.Size {
		return &usageError{fmt.Sprintf(
			"%s is of an import of %d bytes into %s at %s: begin anew without --continue",
			importStateOf(i.path), state.Size, state.Container, state.URL)}
	}
	i.skip, i.imported, i.refused = state.Documents, state.Imported, state.Refused
	return nil
}

// note writes how far the import is.
func (i *importer) note() error {
	if i.path == "" {
		return nil
	}
	return importState{URL: i.url, Container: i.database + "/" + i.container, Size: i.size, Documents: i.read,
		Imported: i.imported, Refused: i.refused}.write(i.path)
}

// run imports a stream; size is how many bytes it has, -1 for nobody knows.
func (i *importer) run(ctx context.Context, in io.Reader, size int64) error {
	i.size = size
	if err := i.begin(); err != nil {
		return err
	}
	i.progress = progress.New(i.errs)
	defer i.progress.Stop()
	i.progress.Start("importing", int(size))
	i.in = &counted{in: in}
	docs, closing, err := openDocuments(i.in, i.name, i.format, i.text)
	if err != nil {
		return fmt.Errorf("%s: %w", i.name, err)
	}
	defer closing()
	if err := i.documents(ctx, docs); err != nil {
		return err
	}
	i.progress.Stop()
	if i.path != "" {
		if err := forgetImport(i.path); err != nil {
			return err
		}
	}
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

// documents imports what a source has, in requests of some documents each.
func (i *importer) documents(ctx context.Context, docs documentSource) error {
	for {
		number, body, err := docs.next()
		if ended := ctx.Err(); ended != nil {
			err = ended
		}
		var bad *badDocument
		switch {
		case err == io.EOF:
			return i.send(ctx)
		case errors.As(err, &bad):
			if i.read++; i.read > i.skip {
				i.complain(number, bad.why)
			}
			continue
		case err != nil:
			return i.ended(number, err)
		}
		if i.read < i.skip {
			i.read++
			continue
		}
		if i.bytes+len(body) > importBytes || len(i.batch) == importDocuments {
			if err := i.send(ctx); err != nil {
				return err
			}
		}
		i.read++
		i.batch = append(i.batch, importLine{number, bytes.Clone(body)})
		i.bytes += len(body)
	}
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
	i.progress.Step(i.in.taken())
	i.batch, i.bytes = i.batch[:0], 0
	return i.note()
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
