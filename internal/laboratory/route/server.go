package route

import (
	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/store"
)

// HandlerMethodReceiver is implemented by the type whose methods are the handlers of routes. Handlers receive
// it as their first argument.
type HandlerMethodReceiver interface {
	Wire() RequestIO
}

// RequestIO is the part of the server that routes use to read bodies and to send responses.
type RequestIO interface {
	// Body returns the whole body of the request, or an empty slice if it has none.
	Body(ec echo.Context) []byte
	// Charge records the receipt of the request (its cost in request units and its LSN), from which
	// headers of the response are made. It is called before the response or the failure is sent.
	Charge(ec echo.Context, r store.OperationReceipt)
	// Answer sends a status, the headers set so far, and a body; nil means no body.
	Answer(ec echo.Context, status int, body []byte) error
}
