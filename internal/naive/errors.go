package naive

import "fmt"

// Error says why a query was not answered: it cannot be, or it uses what is not known here.
type Error struct {
	Reason  string
	Unknown bool // the reason lies in this package: something is missing in it
}

func (e *Error) Error() string { return e.Reason }

// failf ends the evaluation; Run returns the error.
func failf(format string, args ...any) { panic(&Error{Reason: fmt.Sprintf(format, args...)}) }

// unknown ends the evaluation at something that is missing here.
func unknown(what string) { panic(&Error{Reason: what + " is not known", Unknown: true}) }
