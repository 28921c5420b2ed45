package route

import (
	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/store"
)

// Server is the receiver of the handlers of routes.
type Server interface {
	Wire() Wire
}

// Wire is the protocol around the routes: how bodies are read and answers are written.
type Wire interface {
	// Body returns the whole body of the request; it is empty where there is none.
	Body(ec echo.Context) []byte
	// Charge reports what the request did and cost, before its answer or its failure is sent.
	Charge(ec echo.Context, r store.Receipt)
	// Answer sends a body with the headers that are set; nil: there is none.
	Answer(ec echo.Context, status int, body []byte) error
}
