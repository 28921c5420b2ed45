package route

import (
	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/store"
)

// Server is the receiver of the handlers of routes.
type Server interface {
	Wire() Wire
}

// Wire is the part of the server that routes use to read bodies and to send answers.
type Wire interface {
	// Body returns the whole body of the request, or an empty slice if it has none.
	Body(ec echo.Context) []byte
	// Charge reports the request's receipt. It is called before the answer or the failure is sent.
	Charge(ec echo.Context, r store.Receipt)
	// Answer sends a status, the headers set so far, and a body; nil means no body.
	Answer(ec echo.Context, status int, body []byte) error
}
