package jsondoc

import "fmt"

// SyntaxError reports where text stops being JSON, encoded in UTF-8.
type SyntaxError struct {
	Offset int    // in bytes, from 0
	Line   int    // from 1
	Col    int    // in characters, from 1
	Reason string // what is wrong there, for people
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at line %d, column %d: %s", e.Line, e.Col, e.Reason)
}

// DuplicateError reports an object in which one name occurs twice. Names are compared by what they mean: "a"
// and "\u0061" are the same name. Readers of such an object would not agree on its value. Only Valid refuses
// it.
type DuplicateError struct {
	Name   string // unescaped
	Offset int    // in bytes from 0, of the second occurrence
}

func (e *DuplicateError) Error() string {
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
	// Size is in bytes: of the text as it would be stored or, where the input is refused without a look at it
	// because it is over twice the limit, of the input.
	Size int
	Max  int // bytes allowed
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%d bytes of JSON are more than the %d allowed", e.Size, e.Max)
}

// NotObjectError reports valid JSON that is not an object where only an object can be stored.
type NotObjectError struct {
	Kind Kind // what it is instead
}

func (e *NotObjectError) Error() string {
	return fmt.Sprintf("a document must be a JSON object, not %s", e.Kind.article())
}

// PathError reports a property path that cannot be understood.
type PathError struct {
	Path   string
	Offset int    // in bytes, from 0
	Reason string // what is wrong there, for people
}

func (e *PathError) Error() string {
	return fmt.Sprintf("invalid path %.200q at offset %d: %s", e.Path, e.Offset, e.Reason)
}

// EncodingError reports bytes that AppendOrdered or AppendEscaped cannot have written.
type EncodingError struct {
	Left   int    // bytes from where it is wrong to the end of the input
	Reason string // what is wrong there, for people
}

func (e *EncodingError) Error() string {
	return fmt.Sprintf("invalid ordered encoding, %d bytes before its end: %s", e.Left, e.Reason)
}
