package cosmos

import (
	"context"
	"errors"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// Error is an error of the protocol, for instance in an address, a header or a signature.
type Error struct {
	Status    int
	Substatus int // 0: none
	Message   string
	Detail    string // second sentence of the message; may be empty

	inner  string // JSON that the message contains in place of the list of message and detail
	prefix string // of the message, may be empty
	bare   bool   // the message begins with the plain text instead of JSON
	plan   string // the additionalErrorInfo: a plan with which the client can run the query; may be empty
}

func (e *Error) Error() string { return e.Message }

// Failure returns an *Error with a status, a substatus and a message.
func Failure(status, substatus int, message string) error {
	return &Error{Status: status, Substatus: substatus, Message: message}
}

// BadRequest returns a 400 without a substatus.
func BadRequest(message string) error { return Failure(StatusBadRequest, 0, message) }

// BadHeader returns a 400 for an invalid header value.
func BadHeader(name, value string) error {
	return BadRequest("The value '" + value + "' specified for the header '" + strings.ToLower(name) +
		"' is invalid.")
}

// statuses maps the store's error codes to the protocol: HTTP status, substatus (x-ms-substatus), and the
// text that clients look for. The store's own message follows that text, unless alone is set.
var statuses = [...]struct {
	code      fault.Code
	status    int
	substatus int
	text      string
	alone     bool
}{
	{code: fault.CodeBadRequest, status: StatusBadRequest},
	{code: fault.CodePartitionKeyMismatch, status: StatusBadRequest,
		substatus: SubstatusPartitionKeyMismatch},
	{code: fault.CodeNotModified, status: StatusNotModified},
	{code: fault.CodeForbidden, status: StatusForbidden},
	{code: fault.CodeNotFound, status: StatusNotFound, text: notFoundText},
	{code: fault.CodeOwnerNotFound, status: StatusNotFound, substatus: SubstatusOwnerNotFound,
		text: notFoundText},
	{code: fault.CodeSessionNotAvailable, status: StatusNotFound, substatus: SubstatusSessionNotAvailable,
		text: sessionText},
	{code: fault.CodeConflict, status: StatusConflict},
	{code: fault.CodeRangeGone, status: StatusGone, substatus: SubstatusRangeGone},
	{code: fault.CodePreconditionFailed, status: StatusPreconditionFailed, text: preconditionText,
		alone: true},
	{code: fault.CodeTooLarge, status: StatusTooLarge, text: tooLargeText, alone: true},
	{code: fault.CodeCanceled, status: StatusRequestTimeout},
	// 507 rather than 503: clients retry a 503 for minutes, which does not free disk space.
	{code: fault.CodeDiskFull, status: StatusInsufficientStorage},
	{code: fault.CodeUnavailable, status: StatusUnavailable},
	{code: fault.CodeCrossPartition, status: StatusBadRequest, substatus: SubstatusCrossPartition},
	{code: fault.CodeFailedDependency, status: StatusFailedDependency},
	{code: fault.CodeThrottled, status: StatusTooManyRequests, substatus: SubstatusThrottled},
}

// Texts that clients and their tests look for in messages.
const (
	notFoundText = "Resource Not Found. Learn more: https://aka.ms/cosmosdb-tsg-not-found"
	// sessionText is the beginning of the message of a read whose session token is ahead of the server.
	// The store's own message follows, with the words that older clients look for.
	sessionText      = "The read/write session is not available for the input session token."
	preconditionText = "One of the specified pre-condition is not met. Learn more: " +
		"https://aka.ms/CosmosDB/sql/errors/precondition-failed"

	tooLargeText = "Request size is too large"
	internalText = "An internal error occurred. The server's log tells more under this activity id."
)

// NotFound returns a 404 for a path or an operation that does not exist.
func NotFound(detail string) error {
	return &Error{Status: StatusNotFound, Message: notFoundText, Detail: detail}
}

// TooLarge returns the error for a request body above the limit.
func TooLarge() error { return Failure(StatusTooLarge, 0, tooLargeText) }

// Internal returns the error that a client receives after a bug in the server. The details are only in the
// log.
func Internal() error { return Failure(StatusInternalError, 0, internalText) }

// Classify converts any error to an Error of the protocol. internal reports that the error is a bug, which
// the caller must log.
func Classify(err error) (w Error, internal bool) {
	var wire *Error
	if errors.As(err, &wire) {
		w = *wire
		w.Message, w.Detail = Excerpt(w.Message, maxSentence), Excerpt(w.Detail, maxSentence)
		return w, false
	}
	var failed *fault.Error
	ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if !errors.As(err, &failed) && ended { // the request has ended while it was not in the store
		failed = &fault.Error{Code: fault.CodeCanceled, Message: "The request was cancelled.", Err: err}
	}
	if failed != nil {
		for _, s := range statuses {
			if s.code != failed.Code {
				continue
			}
			w = Error{Status: s.status, Substatus: s.substatus, Message: failed.Message}
			if s.text != "" {
				w.Message, w.Detail = s.text, failed.Message
			}
			if s.alone {
				w.Detail = ""
			}
			var wrong *query.Error
			if errors.As(err, &wrong) {
				w.inner = wrong.JSON()
			}
			var thrown *script.Error
			if errors.As(err, &thrown) {
				w.Substatus = thrown.Number
			} else {
				w.Message, w.Detail = Excerpt(w.Message, maxSentence), Excerpt(w.Detail, maxSentence)
			}
			var unsupported *query.MissingClientFeaturesError
			w.bare = errors.As(err, &unsupported)
			var cross *store.ClientMergeRequiredError
			if errors.As(err, &cross) {
				w.plan = string(cross.Plan)
			}
			return w, false
		}
	}
	return Error{Status: StatusInternalError, Message: internalText}, true
}

// queryError converts an error of package query as the store does, for queries that do not go through the
// store.
func queryError(err error) error {
	var wrong *query.Error
	var memory *query.MemoryError
	var match *query.RegexTimeoutError
	var cursor *query.CursorError
	var late *query.TimeLimitError
	failed := &fault.Error{Code: fault.CodeBadRequest, Message: err.Error(), Err: err}
	switch {
	case errors.As(err, &wrong), errors.As(err, &memory), errors.As(err, &match):
	case errors.As(err, &cursor):
		failed.Message = "Invalid Continuation Token"
	case errors.As(err, &late):
		failed.Code = fault.CodeCanceled
	default:
		return err
	}
	return failed
}

// Limits in bytes of the texts in an error. They contain parts of the request, which may be much longer.
const (
	MaxExcerpt  = 1024 // of an address
	maxSentence = 4096 // of message and detail, except for errors thrown by scripts
)

// Excerpt returns the first most bytes of a text, followed by "...", or the whole text if it is not
// longer. Invalid UTF-8 is replaced by U+FFFD.
func Excerpt(text string, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:most], "\uFFFD") + "..."
}

// appendBareError appends the body of an error in the form in which a replica sends it: a JSON object with
// the texts, or the JSON of a query's error.
func appendBareError(dst []byte, w *Error) []byte {
	if w.inner != "" {
		return append(dst, w.inner...)
	}
	dst = append(dst, `{"Errors":[`...)
	dst = jsondoc.AppendString(dst, strings.ToValidUTF8(w.Message, "\uFFFD"))
	if w.Detail != "" {
		dst = append(dst, ',')
		dst = jsondoc.AppendString(dst, strings.ToValidUTF8(w.Detail, "\uFFFD"))
	}
	return append(dst, "]}"...)
}

// appendErrorBody appends the body of an error in the form in which a gateway sends it: a JSON object whose
// message contains a second JSON object, a line break and the activity id. Clients parse it. stats is the
// RequestStats part of the message.
func appendErrorBody(dst []byte, w *Error, activity, requestURI, stats string) []byte {
	message := append(make([]byte, 0, 256), w.prefix...)
	if !w.bare {
		message = append(message, "Message: "...)
	}
	if w.bare {
		message = append(message, w.Message...)
	} else {
		message = appendBareError(message, w)
	}
	message = append(message, "\r\nActivityId: "...)
	message = append(message, activity...)
	message = append(message, ", Request URI: "...)
	message = append(message, Excerpt(requestURI, MaxExcerpt)...)
	message = append(message, ", RequestStats: "...)
	message = append(message, stats...)
	message = append(message, ", SDK: mayfly"...)

	dst = append(dst, `{"code":"`...)
	dst = append(dst, codeNames[w.Status]...)
	dst = append(dst, `","message":`...)
	dst = jsondoc.AppendString(dst, string(message))
	if w.plan != "" {
		dst = jsondoc.AppendString(append(dst, `,"additionalErrorInfo":`...), w.plan)
	}
	return append(dst, '}')
}
