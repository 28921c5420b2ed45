package naive

import "fmt"

// Error says why a query was not answered: it is invalid, or it uses something unsupported.
type Error struct {
	Reason  string
	Unknown bool // this package does not support something in the query
}

func (e *Error) Error() string { return e.Reason }

// failf ends the evaluation; Run returns the error.
func failf(format string, args ...any) { panic(&Error{Reason: fmt.Sprintf(format, args...)}) }

// unknown ends the evaluation because of something unsupported.
func unknown(what string) { panic(&Error{Reason: what + " is not known", Unknown: true}) }
