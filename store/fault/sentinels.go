package fault

// sentinelError is the type of ErrNotFound and the other error values with which errors.Is compares an
// Error by its code.
type sentinelError Code

func (s sentinelError) Error() string { return Code(s).String() }

// Sentinel errors for errors.Is, one for each kind of failure. Each matches every Error with its Code;
// message and hint do not matter.
var (
	ErrNotFound           error = sentinelError(CodeNotFound)           // no such resource, or it has expired
	ErrConflict           error = sentinelError(CodeConflict)           // the id or a unique key is taken
	ErrForbidden          error = sentinelError(CodeForbidden)          // the operation is not allowed
	ErrPreconditionFailed error = sentinelError(CodePreconditionFailed) // If-Match or If-None-Match failed
	// ErrNotModified: If-None-Match holds, so the caller's version is the current one.
	ErrNotModified error = sentinelError(CodeNotModified)
	ErrBadRequest  error = sentinelError(CodeBadRequest) // malformed or refused input
	// ErrTooLarge: a document or a request exceeds its limit.
	ErrTooLarge error = sentinelError(CodeTooLarge)
	// ErrCanceled: the context or the time limit ended first.
	ErrCanceled  error = sentinelError(CodeCanceled)
	ErrThrottled error = sentinelError(CodeThrottled) // the throughput is used up: retry later
	ErrDiskFull  error = sentinelError(CodeDiskFull)  // no space on disk; reads still work
	// ErrUnavailable: the store is closed, a restore has replaced its data, or it cannot write any more.
	ErrUnavailable error = sentinelError(CodeUnavailable)
)

// Is makes errors.Is match an Error with the sentinel of its code. In addition, a missing owner matches
// ErrNotFound, and a partition key mismatch matches ErrBadRequest.
func (e *Error) Is(target error) bool {
	s, ok := target.(sentinelError)
	if !ok {
		return false
	}
	switch e.Code {
	case CodeOwnerNotFound:
		return Code(s) == CodeNotFound
	case CodePartitionKeyMismatch:
		return Code(s) == CodeBadRequest
	}
	return Code(s) == e.Code
}
