package transfer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/progress"
	"github.com/mayflydb/mayfly/ttl"
)

// exportPage is the maximum number of items that an export requests at once. A page may have fewer because
// of its size.
const exportPage = "1000"

// exporter runs one export command.
type exporter struct {
	cli.ClientCommandFlags
	to       string
	format   string
	resume   bool
	text     []string  // CSV columns whose texts are written unquoted
	warnings io.Writer // output for warnings about items that an import would change
	owners   int       // number of items with such a warning
	// written is the number of items that this command has written of the container that it exports at the
	// moment or has exported last.
	written int
}

// exportedFileReport is the JSON that the export command prints for one written file, or for the standard
// output: the container and the number of its items.
type exportedFileReport struct {
	Database  string `json:"database"`
	Container string `json:"container"`
	File      string `json:"file"`
	Items     int    `json:"items"`
}

const exportLong = "Write the items of a container to the standard output, or to the file --to: as JSON " +
	"lines, as one\n" +
	"JSON array, or as CSV, according to --format or the extension of the file (.json, .csv). Without\n" +
	"--container, each container of the database is written to a file CONTAINER.ndjson in the folder\n" +
	"--to. Files whose names end with .gz or .zst are compressed.\n\n" +
	"Without --db, everything is written to a new folder --to: databases, containers with policies and\n" +
	"settings, throughput, scripts, users, queues and topics, documents. The folder is a seed, which\n" +
	"`mayfly serve --seed` loads at its start and `mayfly import` imports. At the end, export lists what\n" +
	"it could not include, such as messages.\n\n" +
	"The first row of CSV has the properties of all items; a.b is the property b of the object a. An\n" +
	"import restores equal items. Items with a dot in the name of a top-level property are refused.\n\n" +
	"Items are written with their _ts, so that an import keeps their age. Other system properties (_rid,\n" +
	"_self, _etag) are omitted. Exporting imported items again gives the same bytes, if the partition\n" +
	"ranges are the same.\n\n" +
	"An item that exists during the whole export is written once. Items that are written or deleted\n" +
	"meanwhile may be included or not.\n\n" +
	"A file gets its name when it is complete; until then it is FILE.part, and FILE.state stores the\n" +
	"progress. An export that was stopped or killed resumes with --continue. An item that has existed\n" +
	"since the first start is still written once."

// ExportCommand returns the export command.
func ExportCommand() *cobra.Command {
	var e exporter
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write documents to files: of a container, a database or the whole server",
		Args:  cobra.NoArgs,
		Long:  exportLong,
		Example: "  mayfly export --db shop --container carts --to carts.ndjson.zst\n" +
			"  mayfly export --db shop --to backup\n" +
			"  mayfly export --to everything",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	e.Register(flags)
	flags.StringVar(&e.to, "to", "", "file; or a folder, for a database or the whole server")
	flags.StringVar(&e.format, "format", "auto",
		"ndjson, json (an array), csv, or auto: by the name of the file --to, else ndjson")
	flags.StringSliceVar(&e.text, "text", nil,
		"columns of CSV whose strings are written without quotes; an import then needs the same --text")
	flags.BoolVar(&e.resume, "continue", false,
		"resume an interrupted export to the same --to")
	flags.BoolVar(&e.JSON, "json", false, "with --to: print the content of the files as JSON, for programs")
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		e.warnings = cmd.ErrOrStderr()
		if err := e.chooseFormat(); err != nil {
			return err
		}
		if len(e.text) > 0 && e.format != "csv" {
			return cli.Misuse("--text goes with --format csv")
		}
		if e.to != "" {
			return e.files(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		}
		switch {
		case e.resume:
			return cli.Misuse("--continue needs --to: an export to the standard output cannot be resumed")
		case e.Container == "":
			return errExport
		}
		if e.format == "csv" {
			return e.csvToOutput(cmd.Context(), cmd.OutOrStdout())
		}
		buffered := bufio.NewWriter(cmd.OutOrStdout())
		err := e.items(cmd.Context(), buffered, new(exportFileProgress), func() error { return nil })
		return errors.Join(err, buffered.Flush())
	})
	return cmd
}

// chooseFormat sets the format by --format. Without this flag, the name of the file determines the format.
func (e *exporter) chooseFormat() error {
	switch e.format {
	case "ndjson", "json", "csv":
		return nil
	case "auto":
	default:
		return cli.Misuse("--format is auto, ndjson, json or csv")
	}
	name := strings.ToLower(e.to)
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	e.format = "ndjson"
	if ext := filepath.Ext(name); e.Container != "" && (ext == ".csv" || ext == ".json") {
		e.format = ext[1:]
	}
	return nil
}

var errExport = cli.Misuse(
	"give --db and --container, or --db and a folder --to for all containers, or a folder " +
		"--to for all databases")

// files exports the container to the file, or each container of the database to its own file in the
// folder. Data for the standard output goes to out, and messages about finished files go to told.
func (e *exporter) files(ctx context.Context, out, told io.Writer) error {
	names, paths := []string{e.Container}, []string{e.to}
	if e.Database == "" {
		if e.Container != "" || e.format != "ndjson" {
			return errExport
		}
		return e.store(ctx, out, told)
	}
	if e.Container == "" {
		var err error
		if names, err = e.containers(ctx); err != nil {
			return err
		}
		if err := os.MkdirAll(e.to, 0o700); err != nil {
			return err
		}
		paths = paths[:0]
		for _, name := range fileNames(names) {
			paths = append(paths, filepath.Join(e.to, name+"."+e.format))
		}
	}
	if !e.resume { // the state of an earlier export does not apply
		for _, path := range paths {
			if err := forget(path); err != nil {
				return err
			}
		}
	}
	all := []exportedFileReport{}
	for i, path := range paths {
		e.Container = names[i]
		began := ttl.SystemClock{}.Now()
		state, err := e.file(ctx, path)
		if err != nil {
			return err
		}
		all = append(all, exportedFileReport{e.Database, e.Container, path, state.Items})
		if !e.JSON {
			fmt.Fprintf(told, "%s of %s in %s%s\n", cli.Plural(state.Items, "item", "items"), e.Container,
				path,
				e.speed(began))
		}
	}
	for _, path := range paths {
		if err := forget(path); err != nil {
			return err
		}
	}
	if !e.JSON {
		return nil
	}
	return cli.PrintResult(out, true, "", map[string]any{"files": all})
}

// containers returns the names of the database's containers.
func (e *exporter) containers(ctx context.Context) (names []string, err error) {
	page := func() (*http.Request, error) { return e.Call(ctx, http.MethodGet, cli.ContainersPath, nil) }
	err = cli.EachPage("", page, "DocumentCollections",
		func(rows []json.RawMessage, _ cli.PageHeaders) error {
			for _, row := range rows {
				var a cli.ContainerDefinition
				if err := json.Unmarshal(row, &a); err != nil {
					return err
				}
				names = append(names, a.ID)
			}
			return nil
		})
	return names, err
}

// items writes the items of the container after the position in state, and advances state. It calls paged
// after each page.
func (e *exporter) items(ctx context.Context, out io.Writer, state *exportFileProgress,
	paged func() error) error {
	var line []byte
	earlier := state.Items
	defer func() { e.written = state.Items - earlier }()
	bar := progress.New(e.warnings, ttl.SystemClock{})
	defer bar.Stop()
	count, err := e.DocumentCount(ctx)
	if err != nil {
		return err
	}
	bar.StartTask(progress.Task{Name: "exporting " + e.Database + "/" + e.Container, Total: count,
		Done: int64(state.Items), Unit: "items"})
	return cli.EachPage(state.Continuation, func() (*http.Request, error) {
		req, err := e.Call(ctx, http.MethodGet, cli.ItemsPath, nil)
		if err == nil {
			req.Header.Set("X-Ms-Max-Item-Count", exportPage)
		}
		return req, err
	}, "Documents", func(rows []json.RawMessage, a cli.PageHeaders) error {
		for i, row := range rows {
			e.warnAge(row)
			line = e.appendItem(line[:0], row, state.Items+i == 0)
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		state.Items += len(rows)
		bar.Step(len(rows))
		if state.Continuation = a.Continuation; state.Continuation == "" && e.format == "json" {
			end := "\n]\n"
			if state.Items == 0 {
				end = "[]\n"
			}
			if _, err := io.WriteString(out, end); err != nil {
				return err
			}
		}
		return paged()
	})
}

// speed describes how long the export of a container took.
func (e *exporter) speed(began time.Time) string {
	return progress.Speed(e.written, "items", ttl.SystemClock{}.Now().Sub(began))
}

// appendItem appends an item as a line, or as the next element of a JSON array. first says that it is the
// first element.
func (e *exporter) appendItem(dst []byte, row json.RawMessage, first bool) []byte {
	switch {
	case e.format != "json":
		return append(appendExported(dst, row), '\n')
	case first:
		dst = append(dst, "[\n"...)
	default:
		dst = append(dst, ",\n"...)
	}
	return appendExported(dst, row)
}

// warnAge prints a warning if an item has a member _mayfly of its own. An import reads that member as the
// time at which the item was written.
func (e *exporter) warnAge(row json.RawMessage) {
	own := jsondoc.Of(row).Member("_mayfly")
	if own.Kind() == jsondoc.Undefined || own.Member("deadLetterReason").Kind() != jsondoc.Undefined {
		return // an archive has added the member, and it belongs to the document
	}
	switch e.owners++; {
	case e.owners <= maxComplaints:
		fmt.Fprintf(e.warnings, "the item '%s' has a member _mayfly, which an import takes for its age\n",
			jsondoc.Of(row).Member("id").Str())
	case e.owners == maxComplaints+1:
		fmt.Fprintln(e.warnings, "more items have one")
	}
}

// appendExported appends the members of an item that the client has written, and _ts.
func appendExported(dst []byte, row json.RawMessage) []byte {
	dst = append(dst, '{')
	first := true
	jsondoc.Of(row).Each(func(name string, value jsondoc.Value) bool {
		if jsondoc.IsSystem(name) && name != "_ts" {
			return true
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = value.AppendJSON(append(jsondoc.AppendString(dst, name), ':'))
		return true
	})
	return append(dst, '}')
}
