package transfer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/mayflydb/mayfly/internal/cli"
)

// documentSource reads the documents of an import, one after the other.
type documentSource interface {
	// next returns the next document and its number: of its line, or, in an array, of its place in that. At
	// the end the error is io.EOF; a *badDocument does not end the source.
	Next() (number int, body []byte, err error)
}

// badDocument is one that cannot be read, while those behind it can.
type badDocument struct{ why string }

func (b *badDocument) Error() string { return b.why }

// ImportFormats are what --format can be.
var ImportFormats = []string{"auto", "ndjson", "json", "csv"}

// openDocuments finds out what a stream is: gzip and zstd by their first bytes, CSV by the name of the file,
// a JSON array by its bracket. Anything else is a JSON value a line. close ends it.
func openDocuments(in io.Reader, name, format string, text []string) (docs documentSource, close func(),
	err error) {
	raw := bufio.NewReaderSize(in, 1<<16)
	close = func() {}
	if magic, err := raw.Peek(4); err == nil && bytes.Equal(magic, []byte{0x28, 0xB5, 0x2F, 0xFD}) {
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, close, err
		}
		raw, close, name = bufio.NewReaderSize(z, 1<<16), z.Close, strings.TrimSuffix(name,
			filepath.Ext(name))
	} else if err == nil && magic[0] == 0x1F && magic[1] == 0x8B {
		z, err := gzip.NewReader(raw)
		if err != nil {
			return nil, close, err
		}
		raw, name = bufio.NewReaderSize(z, 1<<16), strings.TrimSuffix(name, filepath.Ext(name))
	}
	if mark, err := raw.Peek(3); err == nil && string(mark) == "\ufeff" {
		if _, err := raw.Discard(3); err != nil {
			return nil, close, err
		}
	}
	if format == "auto" {
		if format = "ndjson"; strings.EqualFold(filepath.Ext(name), ".csv") {
			format = "csv"
		} else if firstByte(raw) == '[' {
			format = "json"
		}
	}
	switch format {
	case "csv":
		part := &onePart{in: raw}
		rows := csv.NewReader(part)
		rows.ReuseRecord = true
		return &rowSource{part: part, rows: rows, text: text}, close, nil
	case "json":
		part := &onePart{in: raw}
		return &arraySource{part: part, decoder: json.NewDecoder(part)}, close, nil
	}
	lines := bufio.NewScanner(raw)
	lines.Buffer(nil, maxImportLine)
	return &lineDocuments{lines: lines}, close, nil
}

// firstByte is the first one that is no blank; 0 where there is none among the first.
func firstByte(r *bufio.Reader) byte {
	for n := 1; n <= 4096; n++ {
		some, err := r.Peek(n)
		if err != nil {
			return 0
		}
		if c := some[n-1]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}

// errTooLong reports a document that is longer than maxImportLine.
var errTooLong = fmt.Errorf("it is longer than %d bytes", maxImportLine)

// onePart gives a document, row or element to those who would keep all of one in memory that does not end: a
// quote that is never closed has the rest of its file behind it.
type onePart struct {
	in   io.Reader
	left int
}

// begins lets one more be read. Who reads it may read ahead.
func (p *onePart) begins() { p.left = maxImportLine + 1<<16 }

func (p *onePart) Read(to []byte) (int, error) {
	if p.left == 0 {
		return 0, errTooLong
	}
	n, err := p.in.Read(to[:min(len(to), p.left)])
	p.left -= n
	return n, err
}

// lineDocuments are documents a line each.
type lineDocuments struct {
	lines *bufio.Scanner
	line  int
}

func (l *lineDocuments) Next() (int, []byte, error) {
	for l.lines.Scan() {
		l.line++
		body := bytes.TrimSpace(l.lines.Bytes())
		if len(body) == 0 {
			continue
		}
		if !json.Valid(body) {
			return l.line, nil, &badDocument{"not JSON"}
		}
		return l.line, body, nil
	}
	err := l.lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = errTooLong
	} else if err == nil {
		err = io.EOF
	}
	return l.line + 1, nil, err
}

// arraySource are the elements of a JSON array. No more than one of them is in memory.
type arraySource struct {
	part    *onePart
	decoder *json.Decoder
	element int
	begun   bool
}

func (a *arraySource) Next() (int, []byte, error) {
	a.part.begins()
	if !a.begun {
		a.begun = true
		if token, err := a.decoder.Token(); err != nil || token != json.Delim('[') {
			return 1, nil, errors.Join(errors.New("not a JSON array"), err)
		}
	}
	a.element++
	if !a.decoder.More() {
		if _, err := a.decoder.Token(); err != nil {
			return a.element, nil, fmt.Errorf("the array does not end: %w", err)
		}
		if _, err := a.decoder.Token(); err != io.EOF {
			return a.element, nil, errors.New("something follows the end of the array")
		}
		return a.element, nil, io.EOF
	}
	var body json.RawMessage
	err := a.decoder.Decode(&body)
	if err == io.EOF { // behind a comma
		err = fmt.Errorf("the array does not end: %w", io.ErrUnexpectedEOF)
	}
	return a.element, body, err
}

// rowSource are the rows of a CSV file whose first row names the members: a.b is a member of a member. A cell
// that is JSON is that value, unless its column is text or the id; anything else is a string, and an empty
// cell no member.
type rowSource struct {
	part    *onePart
	rows    *csv.Reader
	text    []string // columns that are strings whatever they hold
	columns []string
}

func (s *rowSource) Next() (int, []byte, error) {
	s.part.begins()
	if s.columns == nil {
		head, err := s.rows.Read()
		if err != nil {
			return 1, nil, err
		}
		if len(head) == 1 && strings.ContainsAny(head[0], ";\t") {
			return 1, nil, fmt.Errorf("the first row is one cell, %q: cells are divided by commas", head[0])
		}
		s.columns = slices.Clone(head)
		for i, name := range s.columns {
			if slices.Contains(s.columns[:i], name) {
				return 1, nil, errors.New("two columns have the name '" + name + "'")
			}
		}
		for _, name := range s.text {
			if !slices.Contains(s.columns, name) {
				return 1, nil, cli.Misuse("--text names no column: " + name)
			}
		}
	}
	cells, err := s.rows.Read()
	line := 0
	if len(cells) > 0 {
		line, _ = s.rows.FieldPos(0)
	}
	var wrong *csv.ParseError
	if errors.As(err, &wrong) {
		line = wrong.StartLine
		if errors.Is(err, csv.ErrFieldCount) {
			return line, nil, &badDocument{fmt.Sprintf("%d cells, but the first row has %d", len(cells),
				len(s.columns))}
		}
	}
	if err != nil {
		return line, nil, err
	}
	document := map[string]any{}
	for i, name := range s.columns {
		if cells[i] == "" {
			continue
		}
		if err := setMember(document, strings.Split(name, "."), s.value(name, cells[i])); err != nil {
			return line, nil, err
		}
	}
	body, err := json.Marshal(document)
	return line, body, err
}

// value is what a cell stands for. An id is nothing but a string, so that one of digits needs no --text.
func (s *rowSource) value(column, cell string) any {
	isText := slices.Contains(s.text, column) || column == "id" && cell[0] != '"'
	if !isText && json.Valid([]byte(cell)) {
		return json.RawMessage(strings.Clone(cell))
	}
	return strings.Clone(cell)
}

func setMember(in map[string]any, path []string, value any) error {
	if len(path) == 1 {
		in[path[0]] = value
		return nil
	}
	below, ok := in[path[0]].(map[string]any)
	if in[path[0]] != nil && !ok {
		return &badDocument{"the column " + path[0] + " is both a value and an object"}
	}
	if below == nil {
		below = map[string]any{}
		in[path[0]] = below
	}
	return setMember(below, path[1:], value)
}

// counted counts the bytes that are read, for the progress. Who decompresses may read in another goroutine.
type counted struct {
	in io.Reader
	n  atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// taken returns what has been read since it was called last.
func (c *counted) taken() int { return int(c.n.Swap(0)) }
