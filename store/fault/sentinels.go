package fault

// sentinel is an error that stands for a code: see ErrNotFound.
type sentinel Code

func (s sentinel) Error() string { return Code(s).String() }

// The errors by what they mean, for errors.Is. Each stands for all of its Code; what Error
// adds to that, the message and the hint, differs from case to case.
var (
	ErrNotFound           error = sentinel(CodeNotFound)           // it does not exist, or has expired
	ErrConflict           error = sentinel(CodeConflict)           // the id or a unique key is taken
	ErrForbidden          error = sentinel(CodeForbidden)          // the operation is not allowed here
	ErrPreconditionFailed error = sentinel(CodePreconditionFailed) // If-Match or If-None-Match does not hold
	// If-None-Match holds: what the caller has is right
	ErrNotModified error = sentinel(CodeNotModified)
	ErrBadRequest  error = sentinel(CodeBadRequest) // malformed or refused input
	// a document or a request is over its limit
	ErrTooLarge error = sentinel(CodeTooLarge)
	// the context ended first, or the time was up
	ErrCanceled  error = sentinel(CodeCanceled)
	ErrThrottled error = sentinel(CodeThrottled) // the throughput is used up: retry later
	ErrDiskFull  error = sentinel(CodeDiskFull)  // no room on disk; reads go on
	// closed, restored meanwhile, or no more writes
	ErrUnavailable error = sentinel(CodeUnavailable)
)

// Is tells errors.Is that an error stands for its code. What lies in something that does not exist does not
// exist either, and a partition key that does not fit is a bad request.
func (e *Error) Is(target error) bool {
	s, ok := target.(sentinel)
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
