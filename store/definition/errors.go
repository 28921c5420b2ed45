package definition

import (
	"errors"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/fault"
)

// DocumentError returns the fault for a document that cannot be stored, with Cosmos DB's code and text.
func DocumentError(err error) error {
	var size *jsondoc.SizeError
	if errors.As(err, &size) {
		return &fault.Error{Code: fault.CodeTooLarge, Message: "Request size is too large", Err: err}
	}
	return &fault.Error{Code: fault.CodeBadRequest, Message: "The input content is invalid: " + err.Error(),
		Err: err}
}
