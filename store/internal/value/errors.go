package value

import (
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// NotFound returns the error for an id or a rid that does not exist.
func NotFound(what, id string) error {
	return fault.New(fault.CodeNotFound, "Resource Not Found: the "+what+" '"+id+"' does not exist.")
}

// AlreadyExists returns the error for an id that is taken.
func AlreadyExists(what, id string) error {
	return fault.New(fault.CodeConflict,
		"Resource with specified id or name already exists: "+what+" '"+id+"'.")
}

// BadRID returns the error for a malformed resource id.
func BadRID(rid string) error {
	return fault.New(fault.CodeBadRequest, "'"+rid+"' is not a valid resource id.")
}

// CheckIfMatch checks an If-Match condition against the etag of an existing resource.
func CheckIfMatch(condition, etag string) error {
	if condition == "" || condition == "*" || layout.ETagMatches(condition, etag) {
		return nil
	}
	return PreconditionFailed()
}

// PreconditionFailed returns the error for a precondition of a request that does not hold.
func PreconditionFailed() error {
	return fault.New(fault.CodePreconditionFailed, "One of the specified pre-condition is not met")
}
