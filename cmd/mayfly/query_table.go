package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
)

// systemColumns are members of items that a table omits, since they are not of interest to users.
var systemColumns = []string{"_rid", "_self", "_etag", "_attachments"}

// tableWriter prints rows as a table. Each page is aligned separately, so that only one page is in memory.
// If the columns of a page differ from those of the previous page, a new header is printed.
type tableWriter struct {
	out     io.Writer
	list    []string // columns in the query's select list; nil: they are taken from the rows
	columns []string // of the previous page
	rows    int
	charge  float64
}

// valueColumn is the name of the only column if rows are not objects.
const valueColumn = "VALUE"

func (t *tableWriter) page(rows []json.RawMessage, charge float64) error {
	t.rows += len(rows)
	t.charge += charge
	if len(rows) == 0 {
		return nil
	}
	columns := columnsOf(t.list, rows)
	var lines textTable
	if !slices.Equal(columns, t.columns) {
		names := make([]string, len(columns))
		for i, name := range columns {
			names[i] = plain(name)
		}
		lines.add(names...)
		t.columns = columns
	}
	for _, row := range rows {
		value := jsondoc.Of(row)
		cells := make([]string, len(columns))
		for i, name := range columns {
			switch {
			case value.Kind() == jsondoc.Object:
				cells[i] = cell(value.Member(name))
			case name == valueColumn:
				cells[i] = cell(value)
			}
		}
		lines.add(cells...)
	}
	return lines.print(t.out)
}

func (t *tableWriter) end() error {
	_, err := fmt.Fprintf(t.out, "\n%s, %.2f RU\n", cli.Plural(t.rows, "row", "rows"), t.charge)
	return err
}

// newTableWriter returns a writer that prints the rows of the query text as a table on out.
func newTableWriter(text string, out io.Writer) *tableWriter {
	return &tableWriter{out: out, list: query.Columns(text)}
}

// columnsOf returns the columns of the query's select list, and then the other names of members in the rows,
// each once, in the order of their first occurrence. System columns are included only if the query lists
// them.
func columnsOf(listed []string, rows []json.RawMessage) []string {
	columns := slices.Clone(listed)
	seen := map[string]bool{}
	for _, name := range slices.Concat(systemColumns, listed) {
		seen[name] = true
	}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			columns = append(columns, name)
		}
	}
	for _, row := range rows {
		value := jsondoc.Of(row)
		if value.Kind() != jsondoc.Object {
			add(valueColumn)
			continue
		}
		value.Each(func(name string, _ jsondoc.Value) bool {
			add(strings.Clone(name))
			return true
		})
	}
	return columns
}

// cell formats a value on one line, without the control characters that a terminal would interpret.
func cell(v jsondoc.Value) string {
	if v.Kind() == jsondoc.String {
		return plain(v.Str())
	}
	return short(escaped(string(v.Raw())))
}
