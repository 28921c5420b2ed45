package laboratory

import (
	"net/http"
	"strconv"
)

// Error is a failure of a request that the store does not know of: what was asked for is malformed, missing
// or not to be had now.
type Error struct {
	Status  int // of HTTP
	Message string
}

func (e *Error) Error() string { return e.Message }

func badRequest(message string) error { return &Error{http.StatusBadRequest, message} }

func notFound(message string) error { return &Error{http.StatusNotFound, message} }

// notWhole refuses a number.
func notWhole(name string, least, most int64) error {
	return badRequest("'" + name + "' must be a whole number between " + strconv.FormatInt(least, 10) +
		" and " + strconv.FormatInt(most, 10) + ".")
}
