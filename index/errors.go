package index

import (
	"errors"
	"fmt"
)

// PolicyError reports an error in an indexing policy or in unique keys.
type PolicyError struct {
	Path   string // the position in the JSON text, such as includedPaths[0].path; empty for the whole text
	Reason string // for people; in the service's own words if clients check for them
}

func (e *PolicyError) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Reason + " (at " + e.Path + ")"
}

// refuse returns a PolicyError with the given reason. Its Path, the position in the JSON text such as
// includedPaths[0].path, is formatted from format and args.
func refuse(reason, format string, args ...any) error {
	return &PolicyError{Path: fmt.Sprintf(format, args...), Reason: reason}
}

// at returns a PolicyError with the reason of err. Its Path, the position in the JSON text, is formatted
// from format and args and replaces the Path of err, if err has one.
func at(err error, format string, args ...any) error {
	var e *PolicyError
	if !errors.As(err, &e) {
		return refuse(err.Error(), format, args...)
	}
	return refuse(e.Reason, format, args...)
}
