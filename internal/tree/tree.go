package tree

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// FilePosition names a place in a file by line and column, for error messages.
type FilePosition struct {
	File   string
	Line   int // from 1; 0: the position is the file as a whole
	Column int // from 1, in bytes; 0: the position is the line as a whole
}

// String returns the position in the format that compilers use and that editors and terminals recognize.
func (p FilePosition) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Fail returns an error at the position.
func (p FilePosition) Fail(format string, args ...any) error {
	return &ErrorAtFilePosition{FilePosition: p, Reason: fmt.Sprintf(format, args...)}
}

// Wrap adds the position to an error. path names the part of the value that has the error, and may be empty.
func (p FilePosition) Wrap(path string, err error) error {
	if err == nil {
		return nil
	}
	reason := err.Error()
	if path != "" {
		reason = path + ": " + reason
	}
	return &ErrorAtFilePosition{FilePosition: p, Reason: reason, Err: err}
}

// ErrorAtFilePosition is an error in a file, with its position.
type ErrorAtFilePosition struct {
	FilePosition
	Reason string
	Err    error // the underlying error; nil: none
}

func (e *ErrorAtFilePosition) Error() string { return e.FilePosition.String() + ": " + e.Reason }

// Unwrap returns the underlying error.
func (e *ErrorAtFilePosition) Unwrap() error { return e.Err }

// JSONValueKind is the type of a JSON value.
type JSONValueKind uint8

// The types of JSON values.
const (
	Null JSONValueKind = iota
	Bool
	Number
	String
	Array
	Object
)

// String returns a description of the kind for messages.
func (k JSONValueKind) String() string {
	return [...]string{"null", "a bool", "a number", "a string", "an array", "an object"}[k]
}

// Value is a value of a file. It must not be modified.
type Value struct {
	Kind    JSONValueKind
	Text    string // the text of a string; for a number or a bool its JSON text
	List    []*Value
	Members []Member
	Place   FilePosition

	raw []byte // the JSON text from which it was read; nil: it was not read from JSON
}

// Member is a member of a JSON object: its name, the position of the name, and its value.
type Member struct {
	Name  string
	Place FilePosition
	Value *Value
}

// Member returns the value of a member, or nil if there is none.
func (v *Value) Member(name string) *Value {
	for i := range v.Members {
		if v.Members[i].Name == name {
			return v.Members[i].Value
		}
	}
	return nil
}

func (v *Value) setBool(b bool) { v.Kind, v.Text = Bool, strconv.FormatBool(b) }

// Filter returns an object with the members that keep accepts.
func (v *Value) Filter(keep func(name string) bool) *Value {
	out := &Value{Kind: v.Kind, Text: v.Text, List: v.List, Place: v.Place}
	for _, m := range v.Members {
		if keep(m.Name) {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// AppendJSON appends the value as JSON.
func (v *Value) AppendJSON(dst []byte) []byte {
	if v.raw != nil {
		return append(dst, v.raw...)
	}
	switch v.Kind {
	case Null:
		return append(dst, "null"...)
	case String:
		return jsondoc.AppendString(dst, v.Text)
	case Array:
		dst = append(dst, '[')
		for i, e := range v.List {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.AppendJSON(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, m := range v.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = m.Value.AppendJSON(append(jsondoc.AppendString(dst, m.Name), ':'))
		}
		return append(dst, '}')
	}
	return append(dst, v.Text...)
}

// Parse parses a file with one value. Files named .yaml and .yml are YAML, all others are JSON.
func Parse(name string, data []byte) (*Value, error) {
	if !IsYAML(name) {
		return ParseJSON(name, data)
	}
	list, err := ParseYAML(name, data)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, FilePosition{File: name}.Fail("one document of YAML is expected here, not %d", len(list))
	}
	return list[0], nil
}

// IsYAML reports whether a file is YAML according to its extension.
func IsYAML(name string) bool {
	ending := strings.ToLower(path.Ext(name))
	return ending == ".yaml" || ending == ".yml"
}
