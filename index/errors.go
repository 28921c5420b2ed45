package index

import (
	"errors"
	"fmt"
)

// PolicyError reports what is wrong with an indexing policy or with unique keys.
type PolicyError struct {
	Path   string // the place in the JSON text, such as includedPaths[0].path; empty for the whole
	Reason string // for people; the service's own words where clients look for them
}

func (e *PolicyError) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Reason + " (at " + e.Path + ")"
}

// refuse returns a PolicyError; format and args make the place.
func refuse(reason, format string, args ...any) error {
	return &PolicyError{Path: fmt.Sprintf(format, args...), Reason: reason}
}

// at returns err with the place of what it is about.
func at(err error, format string, args ...any) error {
	var e *PolicyError
	if !errors.As(err, &e) {
		return refuse(err.Error(), format, args...)
	}
	return refuse(e.Reason, format, args...)
}
