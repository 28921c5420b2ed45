package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mayflydb/mayfly/queue/access"
)

// Errors of requests that manage entities with a token that lacks the right Manage. Clients compare these
// texts.

// reasonPhraseError is an error that Service Bus reports in the reason phrase of the status line.
type reasonPhraseError struct{ text string }

func (e *reasonPhraseError) Error() string { return e.text }

// refused converts err to the error that Service Bus reports if a valid token lacks the right Manage; other
// errors it returns unchanged. As in Service Bus, a GET of a queue or topic that does not exist succeeds with
// any valid token: refused then sends the response.
func (c *activeRequest) refused(err error) error {
	var denied *access.Error
	if !errors.As(err, &denied) || denied.Reason != access.Lacking {
		return err
	}
	method := c.r.Method
	switch part := c.partOperation(); {
	case part != "":
		return &reasonPhraseError{"SubCode=40100: Unauthorized : Unauthorized access for '" + part +
			"' operation on endpoint 'sb://" + c.requestAddress() + "'"}
	case method == http.MethodPut:
		return &statusError{http.StatusUnauthorized, "Authorization failed for specified action: " +
			"Manage,EntityWrite."}
	case method == http.MethodDelete:
		return &statusError{http.StatusUnauthorized, "Authorization failed for specified action: " +
			"Manage,EntityDelete."}
	case method == http.MethodGet && !strings.HasPrefix(c.path[0], "$") && c.isAbsent(c.pathWithoutLast(0)):
		return c.answerNothing()
	}
	return &statusError{http.StatusUnauthorized, "Manage,EntityRead claims required for this operation."}
}

// partOperation returns Service Bus's name for an operation on subscriptions or rules, such as
// "EnumerateRules", and "" for other operations.
func (c *activeRequest) partOperation() string {
	n := len(c.path)
	what := ""
	switch {
	case n > 4 && c.segmentIs(-2, "Rules") && c.segmentIs(-4, "Subscriptions"):
		what = "Rule"
	case n > 3 && c.segmentIs(-1, "Rules") && c.segmentIs(-3, "Subscriptions"):
		if what = "Rule"; c.r.Method == http.MethodGet {
			return "EnumerateRules"
		}
	case n > 2 && c.segmentIs(-2, "Subscriptions"):
		what = "Subscription"
	case n > 1 && c.segmentIs(-1, "Subscriptions"):
		return "EnumerateSubscriptions"
	default:
		return ""
	}
	switch c.r.Method {
	case http.MethodPut:
		return "CreateOrUpdate" + what
	case http.MethodDelete:
		return "Delete" + what
	}
	return "Get" + what
}

// answerReason responds with an error that has a reason phrase. net/http cannot set one, so answerReason
// hijacks the connection, writes the response and closes it. HTTP/2 has no reason phrase; the text is then
// only in the body.
func (c *activeRequest) answerReason(status int, reason string, body []byte) {
	conn, buffer, err := http.NewResponseController(c.w).Hijack()
	if err != nil {
		_ = c.answer(status, contentError, body)
		return
	}
	defer conn.Close()
	c.status = status
	_, _ = fmt.Fprintf(buffer, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: "+
		"close\r\n\r\n%s",
		status, reason, contentError, len(body), body) // the client may have disconnected
	_ = buffer.Flush()
}
