package jsonbinary

import "fmt"

// Error reports where bytes are not valid binary JSON.
type Error struct {
	Offset int    // in bytes, from 0
	Reason string // description of the error
}

func (e *Error) Error() string {
	return fmt.Sprintf("invalid binary JSON at offset %d: %s", e.Offset, e.Reason)
}
