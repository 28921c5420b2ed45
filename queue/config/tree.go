package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
)

// Error says what is wrong with a file.
type Error struct {
	File   string
	Line   int // from 1
	Reason string
	Err    error // what lies below; nil for none
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }

// Unwrap returns what lies below.
func (e *Error) Unwrap() error { return e.Err }

// value is a value of JSON that knows where it stands.
type value struct {
	at      int64 // offset behind its first token
	v       any   // nil, bool, string, json.Number; []*value and []member are below
	list    []*value
	members []member
	kind    kind
}

type kind uint8

const (
	scalar kind = iota
	array
	object
)

// member is one of an object.
type member struct {
	name  string
	at    int64
	value *value
}

// file is a file that is read.
type file struct {
	name  string
	lines []int64 // where each begins
}

func newFile(name string, data []byte) *file {
	f := &file{name: name, lines: []int64{0}}
	for i, b := range data {
		if b == '\n' {
			f.lines = append(f.lines, int64(i)+1)
		}
	}
	return f
}

// fail is an error at an offset.
func (f *file) fail(at int64, format string, args ...any) error {
	line := sort.Search(len(f.lines), func(i int) bool { return f.lines[i] >= at })
	return &Error{File: f.name, Line: max(line, 1), Reason: fmt.Sprintf(format, args...)}
}

// maxDepth is how deep values may lie in each other.
const maxDepth = 64

// parse reads a file of JSON. Some editors put a mark before the text, which is none of JSON.
func (f *file) parse(data []byte) (*value, error) {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := f.value(d, 0)
	if err == nil {
		if _, end := d.Token(); !errors.Is(end, io.EOF) {
			err = f.fail(d.InputOffset(), "something follows the end of the object")
		}
	}
	return v, err
}

func (f *file) token(d *json.Decoder) (json.Token, error) {
	t, err := d.Token()
	if err == nil {
		return t, nil
	}
	at := d.InputOffset()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = syntax.Offset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, f.fail(at, "the file ends in the middle of a value")
	}
	return nil, f.fail(at, "this is not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
}

func (f *file) value(d *json.Decoder, depth int) (*value, error) {
	t, err := f.token(d)
	if err != nil {
		return nil, err
	}
	v := &value{at: d.InputOffset()}
	if depth > maxDepth {
		return nil, f.fail(v.at, "values lie too deep in each other")
	}
	switch t {
	case json.Delim('['):
		v.kind = array
		for d.More() {
			e, err := f.value(d, depth+1)
			if err != nil {
				return nil, err
			}
			v.list = append(v.list, e)
		}
		_, err = f.token(d)
		return v, err
	case json.Delim('{'):
		v.kind = object
		return v, f.object(d, v, depth)
	}
	v.v = t
	return v, nil
}

func (f *file) object(d *json.Decoder, v *value, depth int) error {
	for d.More() {
		t, err := f.token(d)
		if err != nil {
			return err
		}
		name, ok := t.(string)
		m := member{name: name, at: d.InputOffset()}
		if !ok {
			return f.fail(m.at, "this is not JSON: a name is missing")
		}
		for _, other := range v.members {
			if other.name == name {
				return f.fail(m.at, "'%s' is there a second time", name)
			}
		}
		if m.value, err = f.value(d, depth+1); err != nil {
			return err
		}
		v.members = append(v.members, m)
	}
	_, err := f.token(d)
	return err
}

// is tells what a value is, for messages.
func (v *value) is() string {
	switch {
	case v.kind == array:
		return "an array"
	case v.kind == object:
		return "an object"
	}
	switch v.v.(type) {
	case nil:
		return "null"
	case bool:
		return "a bool"
	case string:
		return "a string"
	}
	return "a number"
}
