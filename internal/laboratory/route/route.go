package route

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
)

// Route is one route of a table: its method, path, types and handler. On and Raw make a Route; its methods
// return modified copies.
type Route[L HandlerMethodReceiver] struct {
	Method  string
	Path    string       // "/_mayfly/dbs/{db}/clock"
	Summary string       // one line, without a full stop
	Request reflect.Type // the request struct

	public  bool  // needs no key
	status  int   // status on success
	other   []int // alternative statuses on success
	fails   []int // failure statuses, in addition to those that all similar routes have
	answers []ResponseFormat
	decoder *requestDecoder[L]
	serve   func(l L, r *Route[L], ec echo.Context) error
}

// ResponseFormat is one format in which a route can respond: its content type, and its Go type or
// description.
type ResponseFormat struct {
	Kind        string // the content type
	Answer      any    // a value of the response's type; nil: text without a schema
	Description string // of text without a schema
}

// JSONKind is the content type of JSON.
const JSONKind = "application/json"

// NoBody is a request without input, or a response without a body.
type NoBody struct{}

// On returns a route with a handler that is independent of HTTP: a function from a request struct to a
// response struct.
func On[L HandlerMethodReceiver, Request, Answer any](method, path, summary string,
	run func(L, context.Context, *Request) (Answer, error),
) Route[L] {
	r := newRoute[L](method, path, summary, reflect.TypeFor[Request]())
	var answer Answer
	switch any(answer).(type) {
	case NoBody:
		r.status = http.StatusNoContent
	default:
		r.answers = []ResponseFormat{{Kind: JSONKind, Answer: answer}}
	}
	r.serve = func(l L, r *Route[L], ec echo.Context) error {
		in := new(Request)
		if err := r.decoder.decode(l, ec, in); err != nil {
			return err
		}
		out, err := run(l, ec.Request().Context(), in)
		if c, ok := any(&out).(ResponseWithCharge); ok {
			l.Wire().Charge(ec, c.Receipt())
		}
		if err != nil {
			return err
		}
		return Send(l.Wire(), ec, r.status, &out)
	}
	return r
}

// Raw returns a route with a handler that sends its response itself, for example as a stream. Route.As
// declares the formats of the response.
func Raw[L HandlerMethodReceiver, Request any](method, path, summary string,
	run func(L, echo.Context, *Request) error,
) Route[L] {
	r := newRoute[L](method, path, summary, reflect.TypeFor[Request]())
	r.serve = func(l L, r *Route[L], ec echo.Context) error {
		in := new(Request)
		if err := r.decoder.decode(l, ec, in); err != nil {
			return err
		}
		return run(l, ec, in)
	}
	return r
}

func newRoute[L HandlerMethodReceiver](method, path, summary string, request reflect.Type) Route[L] {
	return Route[L]{Method: method, Path: path, Summary: summary, Request: request, status: http.StatusOK,
		decoder: decoderOf[L](request)}
}

// Public makes the route accessible without the master key.
func (r Route[L]) Public() Route[L] {
	r.public = true
	return r
}

// Answering sets the HTTP status that the route responds with on success, and lists other statuses that a
// success may have.
func (r Route[L]) Answering(status int, other ...int) Route[L] {
	r.status, r.other = status, other
	return r
}

// Failing lists the HTTP error statuses with which the route may respond, for the OpenAPI document.
func (r Route[L]) Failing(statuses ...int) Route[L] {
	r.fails = statuses
	return r
}

// As declares the formats of the route's response, if they are not just JSON.
func (r Route[L]) As(answers ...ResponseFormat) Route[L] {
	r.answers = answers
	return r
}

// ResponseWithCharge is implemented by a response with a receipt, which says what the request has done and
// what it costs. The receipt is used after a failure as well.
type ResponseWithCharge interface {
	Receipt() store.OperationReceipt
}

// ResponseWithStatus is implemented by a response that sets its own HTTP status.
type ResponseWithStatus interface {
	StatusCode() int
}

// ResponseWithHeaders is implemented by a response that sets headers.
type ResponseWithHeaders interface {
	SetHeaders(http.Header)
}

// VerbatimResponse is implemented by a response that contains text of clients, which is sent unchanged:
// characters that HTML reserves are not escaped.
type VerbatimResponse interface {
	Verbatim()
}

// TextResponse is a response that is not JSON.
type TextResponse struct {
	Kind string // the content type
	Body []byte
}

// Send sends a response. out is a pointer to it.
func Send(w RequestIO, ec echo.Context, status int, out any) error {
	if g, ok := out.(ResponseWithStatus); ok {
		status = g.StatusCode()
	}
	if h, ok := out.(ResponseWithHeaders); ok {
		h.SetHeaders(ec.Response().Header())
	}
	switch t := out.(type) {
	case *NoBody:
		return w.Answer(ec, status, nil)
	case *TextResponse:
		ec.Response().Header()["Content-Type"] = []string{t.Kind}
		return w.Answer(ec, status, t.Body)
	}
	marshal := json.Marshal
	if _, ok := out.(VerbatimResponse); ok {
		marshal = jsondoc.Marshal
	}
	body, err := marshal(out)
	if err != nil {
		return err
	}
	return w.Answer(ec, status, body)
}

// Register adds the route to a group. A public route gets the middleware open, any other route keyed. A GET
// route responds to HEAD as well.
func (r Route[L]) Register(g *echo.Group, l L, open, keyed echo.MiddlewareFunc) {
	around := keyed
	if r.public {
		around = open
	}
	path := strings.NewReplacer("{", ":", "}", "").Replace(r.Path)
	handle := func(ec echo.Context) error { return r.serve(l, &r, ec) }
	g.Add(r.Method, path, handle, around)
	if r.Method == http.MethodGet {
		g.Add(http.MethodHead, path, handle, around)
	}
}
