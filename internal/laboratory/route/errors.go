package route

import (
	"net/http"
	"strconv"
)

// Error reports that a request is malformed, or that it asks for something that does not exist or is not
// available now.
type Error struct {
	Status  int // HTTP status
	Message string
}

func (e *Error) Error() string { return e.Message }

// BadRequest returns an *Error with status 400.
func BadRequest(message string) error { return &Error{http.StatusBadRequest, message} }

// NotFound returns an *Error with status 404.
func NotFound(message string) error { return &Error{http.StatusNotFound, message} }

// Unavailable returns an *Error with status 503.
func Unavailable(message string) error { return &Error{http.StatusServiceUnavailable, message} }

// notInteger returns the error for a number that is not an integer or is out of its range.
func notInteger(name string, least, most int64) error {
	return BadRequest("'" + name + "' must be a whole number between " + strconv.FormatInt(least, 10) +
		" and " + strconv.FormatInt(most, 10) + ".")
}
