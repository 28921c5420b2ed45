package store

import (
	"errors"

	"github.com/mayflydb/mayfly/doc"
)

// patchError gives a patch that is malformed, or that does not fit its document, the Code of the service.
func patchError(err error) error {
	return &Error{Code: CodeBadRequest, Message: err.Error(), Err: err}
}

// documentError gives a document that cannot be stored the Code and the text that the service answers with.
func documentError(err error) error {
	var size *doc.SizeError
	if errors.As(err, &size) {
		return &Error{Code: CodeTooLarge, Message: "Request size is too large", Err: err}
	}
	return &Error{Code: CodeBadRequest, Message: "The input content is invalid: " + err.Error(), Err: err}
}
