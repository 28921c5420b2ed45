package jsondoc

import "fmt"

// SyntaxError reports where text is not valid JSON in UTF-8.
type SyntaxError struct {
	Offset int    // in bytes, from 0
	Line   int    // from 1
	Col    int    // in characters, from 1
	Reason string // description of the error
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at line %d, column %d: %s", e.Line, e.Col, e.Reason)
}

// DuplicateNameError reports an object in which a name occurs twice. Names are compared unescaped: "a" and
// "\u0061" are the same name. Different JSON readers may read different values from such an object. Only
// Valid returns this error.
type DuplicateNameError struct {
	Name   string // unescaped
	Offset int    // offset in bytes of the second occurrence, from 0
}

func (e *DuplicateNameError) Error() string {
	return fmt.Sprintf("the name %.100q occurs twice in one object (again at offset %d)", e.Name, e.Offset)
}

// DepthError reports arrays and objects that are nested too deeply.
type DepthError struct {
	Max int // levels allowed
}

func (e *DepthError) Error() string {
	return fmt.Sprintf("arrays and objects are nested more than %d levels deep", e.Max)
}

// SizeError reports text that is too long.
type SizeError struct {
	// Size is the size in bytes of the text as it would be stored. If the input exceeds twice the limit, it
	// is refused without being read, and Size is the size of the input.
	Size int
	Max  int // bytes allowed
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%d bytes of JSON are more than the %d allowed", e.Size, e.Max)
}

// NotObjectError reports valid JSON that is not an object in a place where an object is required.
type NotObjectError struct {
	Kind Kind // the actual kind
}

func (e *NotObjectError) Error() string {
	return fmt.Sprintf("a document must be a JSON object, not %s", e.Kind.article())
}

// PathError reports an invalid property path.
type PathError struct {
	Path   string
	Offset int    // in bytes, from 0
	Reason string // description of the error
}

func (e *PathError) Error() string {
	return fmt.Sprintf("invalid path %.200q at offset %d: %s", e.Path, e.Offset, e.Reason)
}

// OrderedEncodingError reports bytes that are not a result of AppendOrdered or AppendEscaped.
type OrderedEncodingError struct {
	Left   int    // number of bytes from the error to the end of the input
	Reason string // description of the error
}

func (e *OrderedEncodingError) Error() string {
	return fmt.Sprintf("invalid ordered encoding, %d bytes before its end: %s", e.Left, e.Reason)
}
