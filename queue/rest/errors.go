package rest

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/entity"
)

// contentError is the content type of errors.
const contentError = "application/xml; charset=utf-8"

// statusError is an error with an HTTP status.
type statusError struct {
	status int
	detail string
}

func (e *statusError) Error() string { return e.detail }

func badRequest(detail string) error { return &statusError{http.StatusBadRequest, detail} }

// messageOperationError is an error of an operation on messages. If the entity does not exist, the status is
// 410 instead of 404.
type messageOperationError struct{ err error }

func (e *messageOperationError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *messageOperationError) Unwrap() error { return e.err }

// statusOf returns the HTTP status of an error code.
func statusOf(code entity.ErrorCode) int {
	switch code {
	case entity.CodeEntityNotFound,
		entity.CodeRuleNotFound,
		entity.CodeMessageNotFound,
		entity.CodeMessageLockLost,
		entity.CodeSessionLockLost:
		return http.StatusNotFound
	case entity.CodeEntityExists, entity.CodeRuleExists, entity.CodeSessionCannotBeLocked:
		return http.StatusConflict
	case entity.CodeEntityDisabled, entity.CodeQuotaExceeded, entity.CodeMessageTooLarge:
		return http.StatusForbidden
	case entity.CodeUnauthorized:
		return http.StatusUnauthorized
	case entity.CodeArgument, entity.CodeArgumentOutOfRange, entity.CodeNotAllowed:
		return http.StatusBadRequest
	case entity.CodeNotImplemented:
		return http.StatusNotImplemented
	case entity.CodeTimeout:
		return http.StatusRequestTimeout
	case entity.CodeServerBusy, entity.CodeCancelled:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// requestAddress returns the address of the request for error texts. Of the query it contains only
// api-version, since the query may contain tokens.
func (c *activeRequest) requestAddress() string {
	text := c.r.Host + c.r.URL.EscapedPath()
	if v := c.query.Get("api-version"); v != "" {
		text += "?api-version=" + url.QueryEscape(v)
	}
	return text
}

// fail responds with an error.
func (c *activeRequest) fail(err error) {
	status, detail := http.StatusInternalServerError, "The server was unable to process the request."
	var own *entity.Error
	var denied *access.Error
	var plain *statusError
	var tooLarge *http.MaxBytesError
	var runtime *messageOperationError
	var reason *reasonPhraseError
	var name *entity.NameError
	isOwn := errors.As(err, &own)
	switch {
	case errors.As(err, &reason):
		status, detail = http.StatusUnauthorized, reason.text
	case errors.As(err, &plain):
		status, detail = plain.status, plain.detail
	case errors.As(err, &denied):
		status, detail = http.StatusUnauthorized, denied.Detail
	case errors.As(err, &name):
		status, detail = http.StatusBadRequest, "SubCode=40000. '"+c.scheme()+c.requestAddress()+"'"+
			name.Reason()
	case errors.As(err, &tooLarge):
		status, detail = http.StatusForbidden, "The body of the request is too large."
	case isOwn:
		status = statusOf(own.Code)
		if status < http.StatusInternalServerError || own.Code.Retryable() &&
			status != http.StatusInternalServerError {
			detail = own.Message
		}
		if own.Code == entity.CodeEntityNotFound && errors.As(err, &runtime) {
			status = http.StatusGone
		}
	case c.r.Context().Err() != nil:
		return // the client has gone
	}
	tracking := uuid.NewString()
	if status == http.StatusInternalServerError {
		c.o.Logger.Error("a request of Service Bus failed", "activity", tracking,
			"path", c.r.URL.Path, "error", err)
	}
	if c.code, c.detail = strconv.Itoa(status), detail; isOwn {
		c.code = own.Code.String()
	}
	b := []byte("<Error><Code>" + strconv.Itoa(status) + "</Code><Detail>")
	b = appendText(b, detail+" TrackingId:"+tracking+"_G0, SystemTracker:"+c.r.Host+":"+c.r.URL.Path+
		", Timestamp:"+c.o.Queues.Now().UTC().Format("2006-01-02T15:04:05"))
	b = append(b, "</Detail></Error>"...)
	if reason != nil {
		c.answerReason(status, detail+". Tracking Id: "+tracking+"_G0", b)
		return
	}
	_ = c.answer(status, contentError, b)
}
