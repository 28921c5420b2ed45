package tree

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Place is where something stands in a file.
type Place struct {
	File   string
	Line   int // from 1; 0: the file as a whole
	Column int // from 1, in bytes; 0: the line as a whole
}

// String is the place as compilers write it, which editors and terminals can follow.
func (p Place) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Fail is an error at a place.
func (p Place) Fail(format string, args ...any) error {
	return &Error{Place: p, Reason: fmt.Sprintf(format, args...)}
}

// Wrap gives an error a place; path names the part that it is about, and may be empty.
func (p Place) Wrap(path string, err error) error {
	if err == nil {
		return nil
	}
	reason := err.Error()
	if path != "" {
		reason = path + ": " + reason
	}
	return &Error{Place: p, Reason: reason, Err: err}
}

// Error says what is wrong with a file, and where.
type Error struct {
	Place
	Reason string
	Err    error // what lies below; nil for none
}

func (e *Error) Error() string { return e.Place.String() + ": " + e.Reason }

// Unwrap returns what lies below.
func (e *Error) Unwrap() error { return e.Err }

// Kind is the kind of a value.
type Kind uint8

// The kinds of JSON.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String reports what a value of the kind is, for messages.
func (k Kind) String() string {
	return [...]string{"null", "a bool", "a number", "a string", "an array", "an object"}[k]
}

// Value is a value of a file. It must not be changed once it has been read.
type Value struct {
	Kind    Kind
	Text    string // of a string; of a number and a bool its JSON
	List    []*Value
	Members []Member
	Place   Place

	raw []byte // the JSON that it was read from; nil: it was none
}

// Member is one of an object's.
type Member struct {
	Name  string
	Place Place
	Value *Value
}

// Member is the value of a name; nil where there is none.
func (v *Value) Member(name string) *Value {
	for i := range v.Members {
		if v.Members[i].Name == name {
			return v.Members[i].Value
		}
	}
	return nil
}

func (v *Value) setBool(b bool) { v.Kind, v.Text = Bool, strconv.FormatBool(b) }

// Filter is an object of those members that keep takes.
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

// Parse reads a file by the ending of its name: .yaml and .yml are YAML, all others JSON. It has one value.
func Parse(name string, data []byte) (*Value, error) {
	if !IsYAML(name) {
		return ParseJSON(name, data)
	}
	list, err := ParseYAML(name, data)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, Place{File: name}.Fail("one document of YAML is expected here, not %d", len(list))
	}
	return list[0], nil
}

// IsYAML tells by its ending whether a file is YAML.
func IsYAML(name string) bool {
	ending := strings.ToLower(path.Ext(name))
	return ending == ".yaml" || ending == ".yml"
}
