package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mayflydb/mayfly/queue/access"
)

// Refusals of the management of entities where a token has not the right to it. Clients compare these texts.

// reasonError is a refusal that the service tells in the reason behind the status of its answer.
type reasonError struct{ text string }

func (e *reasonError) Error() string { return e.text }

// refused is how a request is refused whose token is good, and has not the right to manage. That there is no
// such queue or topic is told to anybody with a token.
func (c *call) refused(err error) error {
	var denied *access.Error
	if !errors.As(err, &denied) || denied.Reason != access.Lacking {
		return err
	}
	method := c.r.Method
	switch part := c.managedPart(); {
	case part != "":
		return &reasonError{"SubCode=40100: Unauthorized : Unauthorized access for '" + part +
			"' operation on endpoint 'sb://" + c.requested() + "'"}
	case method == http.MethodPut:
		return &statusError{http.StatusUnauthorized, "Authorization failed for specified action: " +
			"Manage,EntityWrite."}
	case method == http.MethodDelete:
		return &statusError{http.StatusUnauthorized, "Authorization failed for specified action: " +
			"Manage,EntityDelete."}
	case method == http.MethodGet && !strings.HasPrefix(c.path[0], "$") && c.isAbsent(c.before(0)):
		return c.answerNothing()
	}
	return &statusError{http.StatusUnauthorized, "Manage,EntityRead claims required for this operation."}
}

// managedPart is what the service calls an operation on a subscription or a rule, or on all of them; "" for
// another one.
func (c *call) managedPart() string {
	n := len(c.path)
	what := ""
	switch {
	case n > 4 && c.at(-2, "Rules") && c.at(-4, "Subscriptions"):
		what = "Rule"
	case n > 3 && c.at(-1, "Rules") && c.at(-3, "Subscriptions"):
		if what = "Rule"; c.r.Method == http.MethodGet {
			return "EnumerateRules"
		}
	case n > 2 && c.at(-2, "Subscriptions"):
		what = "Subscription"
	case n > 1 && c.at(-1, "Subscriptions"):
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

// answerReason answers with a reason behind the status, which net/http cannot set: so it takes the connection
// over, and closes it. HTTP/2 has no reasons.
func (c *call) answerReason(status int, reason string, body []byte) {
	conn, buffer, err := http.NewResponseController(c.w).Hijack()
	if err != nil {
		_ = c.answer(status, contentError, body)
		return
	}
	defer conn.Close()
	c.status = status
	_, _ = fmt.Fprintf(buffer, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: "+
		"close\r\n\r\n%s",
		status, reason, contentError, len(body), body) // a client that is gone is told by nobody
	_ = buffer.Flush()
}
