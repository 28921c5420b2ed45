package transfer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// The first row of a CSV file has the columns of all documents, which are not known before the last document
// has been read. So the documents are first written to a file as JSON lines: to FILE.part, which a later run
// can continue, or to a temporary file if the output is the standard output. That file is read twice: for the
// columns, and for the rows. Only one document is in memory at a time, besides the columns.
//
// A cell is written so that the import of CSV reads the same value: see csvRowSource. A text is written
// unchanged if it is read back as a text, otherwise as JSON. Each member of an object gets its own column
// (address.city), unless a member name contains a dot or the object is empty: then the object is one cell of
// JSON.

// maxColumns is the maximum number of columns of an export.
const maxColumns = 4096

// csvExportError reports a document that CSV cannot express.
type csvExportError struct {
	Line int // number of the document, from 1
	Id   string
	why  string
}

func (e *csvExportError) Error() string {
	return fmt.Sprintf("the document %d, '%s', cannot be a row of CSV: %s; the format ndjson has all", e.Line,
		e.Id, e.why)
}

// eachCell calls fn for each cell of a document, with the cell's column.
func eachCell(document jsondoc.Value, fn func(column string, v jsondoc.Value)) {
	document.Each(func(name string, v jsondoc.Value) bool {
		cellsBelow(name, v, fn)
		return true
	})
}

func cellsBelow(column string, v jsondoc.Value, fn func(column string, v jsondoc.Value)) {
	apart := v.Kind() == jsondoc.Object && v.Len() > 0
	if apart {
		v.Each(func(name string, _ jsondoc.Value) bool {
			apart = isColumn(name)
			return apart
		})
	}
	if !apart {
		fn(column, v)
		return
	}
	v.Each(func(name string, below jsondoc.Value) bool {
		cellsBelow(column+"."+name, below, fn)
		return true
	})
}

// isColumn reports whether a name can be part of a column name. A CSV reader takes a dot for the separator of
// nested members, and drops a carriage return before a line feed.
func isColumn(name string) bool { return !strings.ContainsAny(name, ".\r") }

// cellOf returns the text of a CSV cell: a string as it is if an import reads it back as this string, and any
// other value as JSON. An import reads every id as a string, so an id such as 7 needs no quotes.
func cellOf(column string, v jsondoc.Value) string {
	text, ok := plainCell(v)
	if ok && (!json.Valid([]byte(text)) || column == "id" && text[0] != '"') {
		return text
	}
	return string(v.AppendJSON(nil))
}

// plainCell returns a text unchanged. ok is false if this is not possible, because the value is not a text
// or is empty, because a CSV reader would change it, or because it may contain half of a surrogate pair.
func plainCell(v jsondoc.Value) (text string, ok bool) {
	if v.Kind() != jsondoc.String {
		return "", false
	}
	text = v.Str()
	halved := bytes.Contains(v.Raw(), []byte(`\ud`)) || bytes.Contains(v.Raw(), []byte(`\uD`))
	return text, text != "" && !halved && !strings.Contains(text, "\r")
}

// eachDocument calls fn for each line of a file of documents.
func eachDocument(ctx context.Context, spool io.ReadSeeker, fn func(line int, v jsondoc.Value) error) error {
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewScanner(spool)
	lines.Buffer(nil, maxImportLine)
	for line := 1; lines.Scan(); line++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(line, jsondoc.Of(lines.Bytes())); err != nil {
			return err
		}
	}
	return lines.Err()
}

// csvColumns returns the columns of all documents: the id, then the others in the order in which they occur.
func csvColumns(ctx context.Context, spool io.ReadSeeker) (names []string, at map[string]int, err error) {
	names, at = []string{"id"}, map[string]int{"id": 0}
	err = eachDocument(ctx, spool, func(line int, v jsondoc.Value) (err error) {
		wrong := func(why string) { err = &csvExportError{line, v.Member("id").Str(), why} }
		v.Each(func(name string, _ jsondoc.Value) bool {
			if !isColumn(name) {
				wrong(fmt.Sprintf("its member %q has a dot or a carriage return in its name", name))
			}
			return err == nil
		})
		eachCell(v, func(column string, _ jsondoc.Value) {
			if _, known := at[column]; known {
				return
			}
			if len(names) == maxColumns {
				wrong(fmt.Sprintf("there are more than %d columns", maxColumns))
				return
			}
			column = strings.Clone(column)
			at[column] = len(names)
			names = append(names, column)
		})
		return err
	})
	return names, at, err
}

// writeCSV writes the documents of a file of JSON lines as CSV. Texts in the columns text are written
// unchanged, even if an import without --text would read them as another value.
func writeCSV(ctx context.Context, spool io.ReadSeeker, out io.Writer, text []string) error {
	names, at, err := csvColumns(ctx, spool)
	if err != nil {
		return err
	}
	for _, name := range text {
		if _, there := at[name]; !there {
			return cli.Misuse("--text names no column: " + name)
		}
	}
	w := csv.NewWriter(out)
	if err := w.Write(names); err != nil {
		return err
	}
	row := make([]string, len(names))
	err = eachDocument(ctx, spool, func(line int, document jsondoc.Value) error {
		clear(row)
		var wrong error
		eachCell(document, func(column string, v jsondoc.Value) {
			cell := cellOf(column, v)
			if slices.Contains(text, column) {
				plain, ok := plainCell(v)
				if cell = plain; !ok {
					wrong = &csvExportError{line, document.Member("id").Str(),
						"--text has the column " + column + ", and here it is no text that a cell can have"}
				}
			}
			row[at[column]] = cell
		})
		if wrong != nil {
			return wrong
		}
		return w.Write(row)
	})
	if err != nil {
		return err
	}
	w.Flush()
	return w.Error()
}

// csvToOutput exports the container as CSV to an output that cannot be read again, such as a pipe.
func (e *exporter) csvToOutput(ctx context.Context, out io.Writer) (err error) {
	spool, err := os.CreateTemp("", "mayfly-export-*.ndjson")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, spool.Close(), os.Remove(spool.Name())) }()
	buffered := bufio.NewWriter(spool)
	err = e.items(ctx, buffered, new(exportFileProgress), func() error { return nil })
	if err := errors.Join(err, buffered.Flush()); err != nil {
		return err
	}
	return writeCSV(ctx, spool, out, e.text)
}

// nameCSV makes the CSV file at path. The export has written all documents to a temporary file
// (partOf(path)) first, because the columns are known only when all documents are. nameCSV converts this
// file and removes it. In the columns text, strings are written unchanged: see writeCSV.
func nameCSV(ctx context.Context, path string, text []string) error {
	spool, err := os.Open(partOf(path))
	if errors.Is(err, os.ErrNotExist) {
		return name(path) // the CSV file is complete
	}
	if err != nil {
		return err
	}
	defer spool.Close()
	next, err := os.OpenFile(nextOf(path), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	packed, err := packing(path)
	if err == nil {
		out := &compressor{out: next, packed: packed}
		err = errors.Join(writeCSV(ctx, spool, out, text), out.flush())
	}
	if err := errors.Join(err, next.Sync(), next.Close()); err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	if err := os.Rename(next.Name(), path); err != nil {
		return err
	}
	if err := spool.Close(); err != nil { // some systems cannot remove an open file
		return err
	}
	return os.Remove(partOf(path))
}

// compressor is an io.Writer that compresses its input in blocks.
type compressor struct {
	out    io.Writer
	packed func([]byte) ([]byte, error)
	some   bytes.Buffer
}

// packedBytes is the size of a block of the compressor, before compression.
const packedBytes = 1 << 20

func (p *compressor) Write(text []byte) (int, error) {
	n, err := p.some.Write(text)
	if err == nil && p.some.Len() >= packedBytes {
		err = p.flush()
	}
	return n, err
}

func (p *compressor) flush() error {
	text, err := p.packed(p.some.Bytes())
	if err == nil {
		_, err = p.out.Write(text)
	}
	p.some.Reset()
	return err
}
