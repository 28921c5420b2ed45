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
	"github.com/mayflydb/mayfly/internal/tree"
)

// documentSource reads the documents of an import, one after the other.
type documentSource interface {
	// Next returns the next document and the position at which it begins, or an error and its position.
	// Positions have no file name. At the end the error is io.EOF. After a *badDocumentError, Next continues.
	Next() (at tree.FilePosition, body []byte, err error)
}

// badDocumentError is the error for a document that cannot be read, if later ones can be.
type badDocumentError struct{ why string }

func (b *badDocumentError) Error() string { return b.why }

// syntaxError returns the position and the reason of an error of package tree. column is the column, from
// 1, at which the parsed text begins in its first line.
func syntaxError(err error, line, column int) (tree.FilePosition, string) {
	var wrong *tree.ErrorAtFilePosition
	if !errors.As(err, &wrong) {
		return tree.FilePosition{Line: line, Column: column}, err.Error()
	}
	at := tree.FilePosition{Line: wrong.Line, Column: wrong.Column}
	if at.Line == line {
		at.Column += column - 1
	}
	return at, wrong.Reason
}

// ImportFormats are the values of --format.
var ImportFormats = []string{"auto", "ndjson", "json", "csv"}

// openDocuments detects the format of a stream: gzip and zstd by their first bytes, CSV by the name of the
// file, a JSON array by its bracket. Anything else is one JSON value per line. close releases the
// decompressor.
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
		part := &documentSizeLimitReader{in: raw}
		rows := csv.NewReader(part)
		rows.ReuseRecord = true
		return &csvRowSource{part: part, rows: rows, text: text}, close, nil
	case "json":
		part := &documentSizeLimitReader{in: raw}
		lines := &lineStartRecorder{in: part, starts: []int64{0}, first: 1}
		return &jsonArraySource{part: part, lines: lines, decoder: json.NewDecoder(lines)}, close, nil
	}
	lines := bufio.NewScanner(raw)
	lines.Buffer(nil, maxImportLine)
	return &jsonLinesSource{lines: lines}, close, nil
}

// firstByte returns the first byte that is not a blank, or 0 if there is none in the buffer.
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

// documentSizeLimitReader limits how much is read for one document, row or element. Without it, a CSV reader
// would keep the rest of a file in memory after a quote that is not closed.
type documentSizeLimitReader struct {
	in   io.Reader
	left int
}

// begins allows the bytes of one more document, row or element to be read, and some more for reading ahead.
func (p *documentSizeLimitReader) begins() { p.left = maxImportLine + 1<<16 }

func (p *documentSizeLimitReader) Read(to []byte) (int, error) {
	if p.left == 0 {
		return 0, errTooLong
	}
	n, err := p.in.Read(to[:min(len(to), p.left)])
	p.left -= n
	return n, err
}

// jsonLinesSource reads one document per line.
type jsonLinesSource struct {
	lines *bufio.Scanner
	line  int
}

func (l *jsonLinesSource) Next() (tree.FilePosition, []byte, error) {
	for l.lines.Scan() {
		l.line++
		body := bytes.TrimSpace(l.lines.Bytes())
		if len(body) == 0 {
			continue
		}
		if !json.Valid(body) {
			at, why := syntaxError(tree.CheckLine("", l.line, l.lines.Bytes()), l.line, 1)
			return at, nil, &badDocumentError{why}
		}
		return tree.FilePosition{Line: l.line}, body, nil
	}
	err := l.lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = errTooLong
	} else if err == nil {
		err = io.EOF
	}
	return tree.FilePosition{Line: l.line + 1}, nil, err
}

// lineStartRecorder records where lines begin in the text that is read through it. It keeps only those after
// the last requested position.
type lineStartRecorder struct {
	in     io.Reader
	read   int64   // bytes
	starts []int64 // offsets, at least one
	first  int     // number of the line that begins at starts[0]
}

func (l *lineStartRecorder) Read(to []byte) (int, error) {
	n, err := l.in.Read(to)
	for i, c := range to[:n] {
		if c == '\n' {
			l.starts = append(l.starts, l.read+int64(i)+1)
		}
	}
	l.read += int64(n)
	return n, err
}

// place returns the position (line and column) of an offset, which must not be before the last requested
// one.
func (l *lineStartRecorder) place(offset int64) tree.FilePosition {
	passed := 0
	for passed+1 < len(l.starts) && l.starts[passed+1] <= offset {
		passed++
	}
	l.starts = slices.Delete(l.starts, 0, passed)
	l.first += passed
	return tree.FilePosition{Line: l.first, Column: int(offset-l.starts[0]) + 1}
}

// jsonArraySource reads the elements of a JSON array. Only one of them is in memory at a time.
type jsonArraySource struct {
	part    *documentSizeLimitReader
	lines   *lineStartRecorder
	decoder *json.Decoder
	begun   bool
}

var errNoArray = errors.New("not a JSON array")

func (a *jsonArraySource) Next() (tree.FilePosition, []byte, error) {
	a.part.begins()
	if !a.begun {
		a.begun = true
		if token, err := a.decoder.Token(); err != nil || token != json.Delim('[') {
			return a.place(), nil, errors.Join(errNoArray, err)
		}
	}
	if !a.decoder.More() {
		return a.end()
	}
	var body json.RawMessage
	err := a.decoder.Decode(&body)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return a.lines.place(a.decoder.InputOffset() - int64(len(body))), body, nil
	case errors.As(err, &syntax):
		return a.wrong()
	case err == io.EOF: // after a comma
		err = fmt.Errorf("the array does not end: %w", io.ErrUnexpectedEOF)
	}
	return a.place(), nil, err
}

// end reads the end of the array. It returns io.EOF, or another error if something follows the array.
func (a *jsonArraySource) end() (tree.FilePosition, []byte, error) {
	if _, err := a.decoder.Token(); err != nil {
		return a.place(), nil, fmt.Errorf("the array does not end: %w", err)
	}
	if _, err := a.decoder.Token(); err != io.EOF {
		return a.place(), nil, errors.New("something follows the end of the array")
	}
	return a.place(), nil, io.EOF
}

// place returns the current position of the decoder.
func (a *jsonArraySource) place() tree.FilePosition { return a.lines.place(a.decoder.InputOffset()) }

// wrong returns the position and the text of the error for the element at which the decoder has stopped.
func (a *jsonArraySource) wrong() (tree.FilePosition, []byte, error) {
	rest, err := io.ReadAll(a.decoder.Buffered())
	if err != nil {
		return a.place(), nil, err
	}
	text := bytes.TrimLeft(rest, " \t\r\n")
	at := a.lines.place(a.decoder.InputOffset() + int64(len(rest)-len(text)))
	if json.NewDecoder(bytes.NewReader(text)).Decode(new(json.RawMessage)) == nil {
		return at, nil, errors.New("a comma or the end of the array is expected here")
	}
	at, why := syntaxError(tree.CheckLine("", at.Line, text), at.Line, at.Column)
	return at, nil, errors.New(why)
}

// maxColumnLevels is the maximum number of levels in the name of a CSV column: a.b has two.
const maxColumnLevels = 128

// csvRowSource reads the rows of a CSV file whose first row names the members: a.b is a member of a member. A
// cell that is valid JSON has that value, unless its column is the id or in text. Any other cell is a
// string; an empty cell is no member.
type csvRowSource struct {
	part    *documentSizeLimitReader
	rows    *csv.Reader
	text    []string // columns whose cells are always strings
	columns []string
}

func (s *csvRowSource) Next() (tree.FilePosition, []byte, error) {
	s.part.begins()
	if s.columns == nil {
		if at, err := s.head(); err != nil {
			return at, nil, err
		}
	}
	cells, err := s.rows.Read()
	at := tree.FilePosition{}
	if len(cells) > 0 {
		at.Line, _ = s.rows.FieldPos(0)
	}
	if place, wrong := csvError(err); wrong != nil {
		at = place
		if errors.Is(wrong, csv.ErrFieldCount) {
			return at, nil, &badDocumentError{fmt.Sprintf("%d cells, but the first row has %d", len(cells),
				len(s.columns))}
		}
		err = wrong
	}
	if err != nil {
		return at, nil, err
	}
	document := map[string]any{}
	for i, name := range s.columns {
		if cells[i] == "" {
			continue
		}
		if err := setMember(document, strings.Split(name, "."), s.value(name, cells[i])); err != nil {
			at.Line, at.Column = s.rows.FieldPos(i)
			return at, nil, err
		}
	}
	body, err := json.Marshal(document)
	return at, body, err
}

// head reads the first row.
func (s *csvRowSource) head() (tree.FilePosition, error) {
	at := tree.FilePosition{Line: 1}
	head, err := s.rows.Read()
	if place, wrong := csvError(err); wrong != nil {
		return place, wrong
	}
	if err != nil {
		return at, err
	}
	if len(head) == 1 && strings.ContainsAny(head[0], ";\t") {
		return at, fmt.Errorf("the first row is one cell, %q: cells are divided by commas", head[0])
	}
	s.columns = slices.Clone(head)
	columns := make(map[string]bool, len(s.columns))
	for i, name := range s.columns {
		wrong := ""
		switch {
		case columns[name]:
			wrong = "two columns have the name '" + name + "'"
		case strings.Count(name, ".") >= maxColumnLevels:
			wrong = fmt.Sprintf("a column names a member below %d others: a document has up to %d levels",
				strings.Count(name, "."), maxColumnLevels)
		}
		if wrong != "" {
			at.Line, at.Column = s.rows.FieldPos(i)
			return at, errors.New(wrong)
		}
		columns[name] = true
	}
	for _, name := range s.text {
		if !columns[name] {
			return at, cli.Misuse("--text names no column: " + name)
		}
	}
	return at, nil
}

// csvError returns the position and the reason of a CSV error, or nil for any other error.
func csvError(err error) (tree.FilePosition, error) {
	var wrong *csv.ParseError
	switch {
	case !errors.As(err, &wrong):
		return tree.FilePosition{}, nil
	case errors.Is(err, csv.ErrFieldCount): // the error concerns the whole row
		return tree.FilePosition{Line: wrong.StartLine}, wrong.Err
	}
	return tree.FilePosition{Line: wrong.Line, Column: wrong.Column}, wrong.Err
}

// value returns the value of a cell. An id is always a string, so that ids of digits do not need --text.
func (s *csvRowSource) value(column, cell string) any {
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
		return &badDocumentError{"the column " + path[0] + " is both a value and an object"}
	}
	if below == nil {
		below = map[string]any{}
		in[path[0]] = below
	}
	return setMember(below, path[1:], value)
}

// countingReader counts the bytes that are read, for the progress display. A decompressor may read in another
// goroutine.
type countingReader struct {
	in io.Reader
	n  atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// taken returns the number of bytes read since the last call.
func (c *countingReader) taken() int { return int(c.n.Swap(0)) }
