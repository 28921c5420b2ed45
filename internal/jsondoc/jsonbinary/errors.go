package jsonbinary

import "fmt"

// Error reports where bytes stop being binary JSON.
type Error struct {
	Offset int    // in bytes, from 0
	Reason string // what is wrong there, for people
}

func (e *Error) Error() string {
	return fmt.Sprintf("invalid binary JSON at offset %d: %s", e.Offset, e.Reason)
}
