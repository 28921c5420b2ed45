package naivequery

import "fmt"

// Error reports why a query was not answered: the query is invalid, or it uses something that is not
// supported.
type Error struct {
	Reason  string
	Unknown bool // the query uses something that this package does not support
}

func (e *Error) Error() string { return e.Reason }

// failf ends the evaluation with an error, which Run returns.
func failf(format string, args ...any) { panic(&Error{Reason: fmt.Sprintf(format, args...)}) }

// unknown ends the evaluation, because the query uses something that is not supported.
func unknown(what string) { panic(&Error{Reason: what + " is not known", Unknown: true}) }
