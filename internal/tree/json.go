package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sort"
)

// maxDepth is the maximum nesting depth of values.
const maxDepth = 128

// byteOrderMark is written by some editors before a text. It is ignored.
const byteOrderMark = "\xEF\xBB\xBF"

// jsonReader reads a text that is valid JSON.
type jsonReader struct {
	file  string
	data  []byte
	dec   *json.Decoder
	lines []int // where each begins
	first int   // the number of the first
}

func newJSONReader(file string, data []byte, first int) *jsonReader {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	r := &jsonReader{file: file, data: data, dec: json.NewDecoder(bytes.NewReader(data)), lines: []int{0},
		first: first}
	r.dec.UseNumber()
	for i, b := range data {
		if b == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	return r
}

// ParseJSON parses a JSON file. file is the name of the file in errors.
func ParseJSON(file string, data []byte) (*Value, error) {
	return newJSONReader(file, data, 1).whole()
}

// ParseLine parses one line of a file that has one JSON value per line. number is the number of the line,
// from 1.
func ParseLine(file string, number int, line []byte) (*Value, error) {
	return newJSONReader(file, line, number).whole()
}

// CheckJSON returns nil if data is one JSON value. Otherwise it returns an *Error with the position of the
// first syntax error. file is the name of the file in the error.
func CheckJSON(file string, data []byte) error {
	return newJSONReader(file, data, 1).check()
}

// CheckLine returns nil if a line is one JSON value. Otherwise it returns an *Error with the position of the
// first syntax error. file is the name of the file in the error, and number is the number of the line, from
// 1.
func CheckLine(file string, number int, line []byte) error {
	return newJSONReader(file, line, number).check()
}

// whole reads a text that consists of one value.
func (r *jsonReader) whole() (*Value, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return r.value(0)
}

// check fails unless the text consists of exactly one value. If it succeeds, it has not advanced the
// decoder.
func (r *jsonReader) check() error {
	var whole json.RawMessage
	err := json.Unmarshal(r.data, &whole)
	if err == nil {
		return nil
	}
	at := len(r.data)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = int(syntax.Offset) - 1
	}
	switch first := r.dec.Decode(&whole); {
	case first == nil:
		return r.place(r.next()).Fail("something follows the end of the value")
	case errors.Is(first, io.EOF), errors.Is(first, io.ErrUnexpectedEOF):
		return r.place(len(r.data)).Fail("the text ends in the middle of a value")
	}
	return r.place(at).Fail("this is not JSON: %s", err)
}

// place returns the position in the file of an offset in the text.
func (r *jsonReader) place(at int) FilePosition {
	line := max(0, sort.SearchInts(r.lines, at+1)-1)
	return FilePosition{r.file, r.first + line, 1 + at - r.lines[line]}
}

// next returns the offset of the next token.
func (r *jsonReader) next() int {
	at := int(r.dec.InputOffset())
	for at < len(r.data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.data[at]) >= 0 {
		at++
	}
	return at
}

func (r *jsonReader) value(depth int) (*Value, error) {
	at := r.next()
	v := &Value{Place: r.place(at)}
	t, err := r.dec.Token()
	if err != nil {
		return nil, v.Place.Wrap("", err)
	}
	if depth > maxDepth {
		return nil, v.Place.Fail("values lie too deep in each other")
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			err = r.array(v, depth)
		} else {
			err = r.object(v, depth)
		}
	case string:
		v.Kind, v.Text = String, t
	case json.Number:
		v.Kind, v.Text = Number, string(t)
	case bool:
		v.setBool(t)
	}
	v.raw = r.data[at:r.dec.InputOffset()]
	return v, err
}

func (r *jsonReader) array(v *Value, depth int) error {
	v.Kind = Array
	for r.dec.More() {
		e, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		v.List = append(v.List, e)
	}
	_, err := r.dec.Token()
	return err
}

func (r *jsonReader) object(v *Value, depth int) error {
	v.Kind = Object
	names := newNames(v)
	for r.dec.More() {
		place := r.place(r.next())
		t, err := r.dec.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		value, err := r.value(depth + 1)
		if err == nil {
			err = names.add(name, place, value)
		}
		if err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return err
}
