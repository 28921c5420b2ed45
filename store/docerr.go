package store

// patchError gives a patch that is malformed, or that does not fit its document, the Code of the service.
func patchError(err error) error {
	return &Error{Code: CodeBadRequest, Message: err.Error(), Err: err}
}
