package value

import (
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// NotFound is the error for an id or a rid that there is not.
func NotFound(what, id string) error {
	return fault.New(fault.CodeNotFound, "Resource Not Found: the "+what+" '"+id+"' does not exist.")
}

// AlreadyExists is the refusal of an id that is taken.
func AlreadyExists(what, id string) error {
	return fault.New(fault.CodeConflict,
		"Resource with specified id or name already exists: "+what+" '"+id+"'.")
}

// BadRID is the error for a malformed resource id.
func BadRID(rid string) error {
	return fault.New(fault.CodeBadRequest, "'"+rid+"' is not a valid resource id.")
}

// CheckIfMatch applies an If-Match condition to a resource that exists.
func CheckIfMatch(condition, etag string) error {
	if condition == "" || condition == "*" || layout.ETagMatches(condition, etag) {
		return nil
	}
	return PreconditionFailed()
}

// PreconditionFailed is the error for a condition of a request that does not hold.
func PreconditionFailed() error {
	return fault.New(fault.CodePreconditionFailed, "One of the specified pre-condition is not met")
}
