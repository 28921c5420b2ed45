package store

import "github.com/mayflydb/mayfly/store/fault"

// patchError gives a patch that is malformed, or that does not fit its document, the Code of the service.
func patchError(err error) error {
	return &fault.Error{Code: fault.CodeBadRequest, Message: err.Error(), Err: err}
}
