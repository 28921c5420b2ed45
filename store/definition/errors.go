package definition

import (
	"errors"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/fault"
)

// DocumentError converts err, the reason why a document cannot be stored, to a *fault.Error with Cosmos
// DB's text: CodeTooLarge for a *jsondoc.SizeError, CodeBadRequest for all others.
func DocumentError(err error) error {
	var size *jsondoc.SizeError
	if errors.As(err, &size) {
		return &fault.Error{Code: fault.CodeTooLarge, Message: "Request size is too large", Err: err}
	}
	return &fault.Error{Code: fault.CodeBadRequest, Message: "The input content is invalid: " + err.Error(),
		Err: err}
}
