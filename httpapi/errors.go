package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/laboratory"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/script"
	"github.com/mayflydb/mayfly/store"
)

// wireError is a failure that only the wire knows: a path, a header, a signature.
type wireError struct {
	status    int
	substatus int
	message   string
	detail    string // a second sentence for people, may be empty
	inner     string // the JSON that the message embeds, where it is not the list of message and detail
	prefix    string // of the message, may be empty
	bare      bool   // the message begins with the text itself, outside of any JSON
	plan      string // additionalErrorInfo: how the client can run the query itself; may be empty
}

func (e *wireError) Error() string { return e.message }

// wireErr is a failure with the status and substatus given; the answer's body gets the protocol's shape.
func wireErr(status, substatus int, message string) error {
	return &wireError{status: status, substatus: substatus, message: message}
}

// badRequest is a 400 without a substatus.
func badRequest(message string) error { return wireErr(http.StatusBadRequest, 0, message) }

// statuses says what each of the store's codes is on the wire: HTTP status, substatus (x-ms-substatus), and
// the text that clients look for. The text comes first and the store's own message follows; alone leaves that
// out.
var statuses = [...]struct {
	code      store.Code
	status    int
	substatus int
	text      string
	alone     bool
}{
	{code: store.CodeBadRequest, status: http.StatusBadRequest},
	{code: store.CodePartitionKeyMismatch, status: http.StatusBadRequest, substatus: 1001},
	{code: store.CodeNotModified, status: http.StatusNotModified},
	{code: store.CodeForbidden, status: http.StatusForbidden},
	{code: store.CodeNotFound, status: http.StatusNotFound, text: notFoundText},
	{code: store.CodeOwnerNotFound, status: http.StatusNotFound, substatus: 1003, text: notFoundText},
	{code: store.CodeSessionNotAvailable, status: http.StatusNotFound, substatus: 1002, text: sessionText},
	{code: store.CodeConflict, status: http.StatusConflict},
	{code: store.CodeRangeGone, status: http.StatusGone, substatus: 1002},
	{code: store.CodePreconditionFailed, status: http.StatusPreconditionFailed, text: preconditionText, alone: true},
	{code: store.CodeTooLarge, status: http.StatusRequestEntityTooLarge, text: tooLargeText, alone: true},
	{code: store.CodeCanceled, status: http.StatusRequestTimeout},
	// 507 and not 503: clients retry a 503 for minutes, which frees no disk.
	{code: store.CodeDiskFull, status: http.StatusInsufficientStorage},
	{code: store.CodeUnavailable, status: http.StatusServiceUnavailable},
	{code: store.CodeCrossPartition, status: http.StatusBadRequest, substatus: 1004},
	{code: store.CodeFailedDependency, status: http.StatusFailedDependency},
	{code: store.CodeThrottled, status: http.StatusTooManyRequests, substatus: substatusThrottled},
}

// Texts that clients and their tests look for in the messages.
const (
	notFoundText = "Resource Not Found. Learn more: https://aka.ms/cosmosdb-tsg-not-found"
	// The store's own message follows, with the words that older clients look for.
	sessionText      = "The read/write session is not available for the input session token."
	preconditionText = "One of the specified pre-condition is not met. Learn more: https://aka.ms/CosmosDB/sql/errors/precondition-failed"

	tooLargeText = "Request size is too large"
	internalText = "An internal error occurred. The server's log tells more under this activity id."
)

// notFound is a 404 for something that is no resource of the store: a path, an operation.
func notFound(detail string) error {
	return &wireError{status: http.StatusNotFound, message: notFoundText, detail: detail}
}

// classify turns any error into what the wire says about it. internal is true for a defect: the caller logs
// it.
func classify(err error) (w wireError, internal bool) {
	var wire *wireError
	if errors.As(err, &wire) {
		w = *wire
		w.message, w.detail = excerpt(w.message, maxSentence), excerpt(w.detail, maxSentence)
		return w, false
	}
	var own *laboratory.Error
	if errors.As(err, &own) {
		return ofLaboratory(own), false
	}
	var failed *store.Error
	if errors.As(err, &failed) {
		for _, s := range statuses {
			if s.code != failed.Code {
				continue
			}
			w = wireError{status: s.status, substatus: s.substatus, message: failed.Message}
			if s.text != "" {
				w.message, w.detail = s.text, failed.Message
			}
			if s.alone {
				w.detail = ""
			}
			var wrong *query.Error
			if errors.As(err, &wrong) {
				w.inner = wrong.JSON()
			}
			var thrown *script.Error
			if errors.As(err, &thrown) {
				w.substatus = thrown.Number
			} else {
				w.message, w.detail = excerpt(w.message, maxSentence), excerpt(w.detail, maxSentence)
			}
			var unsupported *query.UnsupportedError
			w.bare = errors.As(err, &unsupported)
			var cross *store.CrossPartitionError
			if errors.As(err, &cross) {
				w.plan = string(cross.Plan)
			}
			return w, false
		}
	}
	return wireError{status: http.StatusInternalServerError, message: internalText}, true
}

// queryError says of an error of package query what the store would say of it: for queries that do not reach
// the store.
func queryError(err error) error {
	var wrong *query.Error
	var memory *query.MemoryError
	var cursor *query.CursorError
	var late *query.TimeError
	failed := &store.Error{Code: store.CodeBadRequest, Message: err.Error(), Err: err}
	switch {
	case errors.As(err, &wrong), errors.As(err, &memory):
	case errors.As(err, &cursor):
		failed.Message = "Invalid Continuation Token"
	case errors.As(err, &late):
		failed.Code = store.CodeCanceled
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		failed.Code, failed.Message = store.CodeCanceled, "The request was cancelled."
	default:
		return err
	}
	return failed
}

// Bounds of an error's parts, in bytes. What a client has sent may be much longer, and texts quote it.
const (
	maxExcerpt  = 1024 // of an address
	maxSentence = 4096 // of the message and of the detail, but for what a script has thrown
)

// excerpt is the beginning of a text that is longer than most bytes, and valid UTF-8 in any case.
func excerpt(text string, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:most], "\uFFFD") + "..."
}

// appendErrorBody renders the body of an error as Cosmos DB's back end does: a JSON object whose message
// holds a second JSON object, a line break and the activity id. Clients take it apart. stats is what
// requestStats says.
func appendErrorBody(dst []byte, w wireError, activity, requestURI, stats string) []byte {
	message := append(make([]byte, 0, 256), w.prefix...)
	if !w.bare {
		message = append(message, "Message: "...)
	}
	switch {
	case w.bare:
		message = append(message, w.message...)
	case w.inner != "":
		message = append(message, w.inner...)
	default:
		message = append(message, `{"Errors":[`...)
		message = doc.AppendString(message, strings.ToValidUTF8(w.message, "\uFFFD"))
		if w.detail != "" {
			message = append(message, ',')
			message = doc.AppendString(message, strings.ToValidUTF8(w.detail, "\uFFFD"))
		}
		message = append(message, "]}"...)
	}
	message = append(message, "\r\nActivityId: "...)
	message = append(message, activity...)
	message = append(message, ", Request URI: "...)
	message = append(message, excerpt(requestURI, maxExcerpt)...)
	message = append(message, ", RequestStats: "...)
	message = append(message, stats...)
	message = append(message, ", SDK: mayfly"...)

	dst = append(dst, `{"code":"`...)
	dst = append(dst, strings.ReplaceAll(http.StatusText(w.status), " ", "")...)
	dst = append(dst, `","message":`...)
	dst = doc.AppendString(dst, string(message))
	if w.plan != "" {
		dst = doc.AppendString(append(dst, `,"additionalErrorInfo":`...), w.plan)
	}
	return append(dst, '}')
}

// fail answers the request with err. Headers that the handler has set (charge, session token, etag) stay.
func (c *call) fail(err error) {
	w, internal := classify(err)
	var failed *store.Error
	switch {
	case internal:
		c.srv.log.Error("internal error", "activity", c.activity, "method", c.Request().Method, "uri", c.Request().RequestURI, "error", err)
	case w.status >= http.StatusInternalServerError && errors.As(err, &failed):
		c.srv.log.Warn(failed.Message, "activity", c.activity, "hint", failed.Hint, "error", failed.Err)
	}
	if c.Response().Committed {
		return // the head is out already: there is nothing left to say
	}
	if w.substatus != 0 {
		c.set("x-ms-substatus", strconv.Itoa(w.substatus))
	}
	if w.status == http.StatusNotModified {
		if !c.has("etag") && c.in.ifNoneMatch != "*" {
			c.setETag(c.in.ifNoneMatch)
		}
		c.deliver(w.status, nil)
		return
	}
	c.setRetryAfter(err)
	if w.status == http.StatusNotFound {
		c.forgetOwner()
	}
	more := c.takeBody()
	c.deliver(w.status, appendErrorBody(make([]byte, 0, 512), w, c.activity, c.Request().RequestURI, c.requestStats(err)))
	if more {
		c.linger()
	}
}

// typeNames are the kinds of paths as the service's texts call them.
var typeNames = [kindCount]string{
	kindAccount: "DatabaseAccount", kindDatabase: "Database", kindContainer: "Collection", kindItem: "Document", kindAttachment: "Attachment",
	kindSproc: "StoredProcedure", kindTrigger: "Trigger", kindUDF: "UserDefinedFunction", kindConflict: "Conflict", kindRange: "PartitionKeyRange",
	kindPartitionDelete: "PartitionKey", kindUser: "User", kindPermission: "Permission", kindEncryptionKey: "ClientEncryptionKey",
	kindOffer: "Offer", kindAddresses: "Address",
}

// verbNames are the operations as the service's texts call them. A read of a feed and the call of a procedure
// have their own names.
var verbNames = [opCount]string{
	opRead: "Read", opCreate: "Create", opUpsert: "Upsert", opReplace: "Replace", opDelete: "Delete", opQuery: "Query", opQueryPlan: "QueryPlan",
	opBatch: "Batch", opPatch: "Patch", opChangeFeed: "ReadFeed", opOther: "Invalid",
}

// requestStats says what the request was after, in the words by which clients tell what it is that is
// missing: of something in a container or a database that does not exist, that is the owner, which was to be
// read.
func (c *call) requestStats(err error) string {
	t := &c.target
	if t.kind == kindOwn {
		return ""
	}
	what, op := t.kind, c.operation()
	verb := verbNames[op]
	switch {
	case op == opRead && t.feed:
		verb = "ReadFeed"
	case op == opCreate && t.kind == kindSproc && !t.feed:
		verb = "ExecuteJavaScript"
	}
	if store.ErrorCode(err) == store.CodeOwnerNotFound {
		what, verb = ownerOf(t), verbNames[opRead]
	}
	return "\r\n ResourceType: " + typeNames[what] + ", OperationType: " + verb + "\r\n"
}

// ownerOf is the kind of what is missing where the owner of a path is.
func ownerOf(t *target) kind {
	switch t.kind {
	case kindContainer, kindUser, kindEncryptionKey:
		return kindDatabase
	case kindPermission:
		return kindUser
	}
	return kindContainer
}
